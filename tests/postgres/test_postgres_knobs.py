"""Knobs of PostgreSQL's descriptor, as its server has them."""

import subprocess

from build_cache import Built

from vprof.target.server import Server


def test_the_server_has_by_itself_what_the_knobs_say(postgres: Built) -> None:
    server = Server.of(postgres.target)
    knobs = [knob for knob in postgres.target.descriptor.knobs.values() if knob.default]
    shows = [word for knob in knobs for word in ("-c", f"SHOW {knob.name}")]
    psql = [*server.target.filled("{install}/bin/psql -X -q -A -t"), *shows]
    with server.running():
        done = subprocess.run(psql, capture_output=True, text=True, check=True, **server.how())
    assert done.stdout.split("\n")[:-1] == [knob.default for knob in knobs] != []
