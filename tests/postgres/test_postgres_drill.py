"""The drill-down on a real server: what it says has to hold together, whatever this machine makes vary."""

import json

from build_cache import Built

from vprof.tables.kinds import PSEUDO


def test_a_short_drill_down_confirms_findings_or_says_why_not(postgres: Built) -> None:
    done = postgres.vprof("drill", "--auto", "--target", "postgres", "--max-steps", 3, "--format", "json")
    assert done.returncode == 0, done.stderr
    drill = json.loads(done.stdout)
    steps, confirmation, findings = drill["steps"], drill["confirmation"], drill["findings"]
    assert steps[0]["on"] == sorted(postgres.target.descriptor.roots)
    assert all(step["intervals"] > 0 for step in steps)
    if confirmation["no_ranking"]:
        assert findings == []
        return
    assert len(steps) > 1, "the root alone holds all of the variance, so it is expanded"
    assert set(steps[0]["on"]) < set(steps[1]["on"])
    assert findings[0]["share"] > 0
    known = {*steps[-1]["on"], "<interval>", *PSEUDO}
    for finding in findings:
        of = {name.removeprefix("rest(").removeprefix("body(").rstrip(")") for name in finding["functions"]}
        assert of <= known
        assert not finding["confirmed"] or finding["explored_share"] > 0
