"""Traces where they lie: read by ranges from a server of http and from one of S3, both on the loopback interface.

What breaks on the way gives one line.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from apart import Apart
from click.testing import CliRunner
from history import History
from test_windows import in_small_chunks

import vprof
from vprof.commands.analyze import command
from vprof.errors import TraceError
from vprof.report.json import analysis_json
from vprof.trace import remote
from vprof.trace.remote import Remote, RemotePath, matching, path_of
from vprof.variance.analysis import AnalysisOptions
from vprof.variance.stream import analyze_traces

IN_BLOCKS = 128


class Served:
    """What a server has, how it fails, and which ranges it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[tuple[int, int]] = []
        self.has_ranges = True
        self.breaks_after = 1 << 60
        """So many bytes of content go out in all; then the connection breaks."""
        self.status = 0
        """Instead of any content."""


class Handler(BaseHTTPRequestHandler):
    def __init__(self, served: Served, *args: Any) -> None:
        self.served = served
        super().__init__(*args)

    def do_HEAD(self) -> None:
        self.do_GET(head=True)

    def do_GET(self, head: bool = False) -> None:
        served, content = self.served, self.served.files.get(self.path)
        if served.status or content is None:
            self.send_error(served.status or 404)
            return
        begin, end, status = 0, len(content), 200
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if wanted and served.has_ranges and not head:
            begin, end, status = int(wanted[1]), min(int(wanted[2]) + 1, len(content)), 206
            served.asked.append((begin, end))
        self.send_response(status)
        self.send_header("Content-Length", str(end - begin))
        if served.has_ranges:
            self.send_header("Accept-Ranges", "bytes")
        if status == 206:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        self.end_headers()
        if not head:
            part = content[begin:end][: served.breaks_after]
            served.breaks_after -= len(part)
            self.wfile.write(part)
            if len(part) < end - begin:
                self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(served: Served) -> Iterator[str]:
    """Its address. Blocks are small: so a small trace has many, and they do not all stay."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, served))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    sizes = {"BLOCK_BYTES": IN_BLOCKS, "_AHEAD_BYTES": 4 * IN_BLOCKS, "KEPT_BYTES": 8 * IN_BLOCKS}
    try:
        with mock.patch.multiple(remote, **sizes):
            yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_small_chunks(History(5, 2, 80).writer, 5).save(tmp_path_factory.mktemp("here") / "run.trace")


def report(*paths: Path, jobs: Apart | None = None, records: int = 40) -> dict[str, Any]:
    return analysis_json(analyze_traces(paths, None, AnalysisOptions(by_type=True), records, jobs=jobs))


def test_a_trace_of_a_server_gives_the_report_of_the_file_and_is_read_by_ranges(file: Path) -> None:
    served = Served()
    served.files["/db1/run.trace"] = file.read_bytes()
    with serving(served) as url:
        path = path_of(f"{url}/db1/run.trace")
        assert str(path) == f"{url}/db1/run.trace"
        assert report(path) == report(file)
        assert len(served.asked) > 10
        assert max(end - begin for begin, end in served.asked) <= 5 * IN_BLOCKS, "no whole download"
        assert report(path, jobs=Apart(3)) == report(file)
        run = vprof.load(f"{url}/db1/run.trace")
        assert len(run.intervals) == report(file)["intervals"]["count"]
        done = CliRunner().invoke(command, [f"{url}/db1/run.trace", "--by", "host"])
        assert done.exit_code == 0, done.output


def test_what_is_kept_is_bounded(file: Path) -> None:
    served = Served()
    served.files["/run"] = bytes(100 * IN_BLOCKS)
    with serving(served) as url:
        found = Remote(RemotePath(f"{url}/run"))
        for at in range(100):
            found.need(at * IN_BLOCKS, (at + 1) * IN_BLOCKS)
            found.release()
            assert found._there.sum() <= 9
        assert not found._there.all()


def test_a_server_without_ranges_sends_all_once(file: Path) -> None:
    served = Served()
    served.has_ranges = False
    served.files["/run.trace"] = file.read_bytes()
    with serving(served) as url:
        assert report(path_of(f"{url}/run.trace")) == report(file)


def test_a_trace_that_is_cut_off_gives_what_is_before(file: Path, tmp_path: Path) -> None:
    served = Served()
    part = tmp_path / "part.trace"
    part.write_bytes(file.read_bytes()[:-300])
    served.files["/run.trace"] = part.read_bytes()
    with serving(served) as url:
        assert report(path_of(f"{url}/run.trace")) == report(part)


def line_of(url: str) -> str:
    """The error that `vprof analyze` ends with."""
    done = CliRunner().invoke(command, [url])
    assert isinstance(done.exception, TraceError), done.output
    text = str(done.exception)
    assert "\n" not in text
    assert url in text
    return text


def test_what_goes_wrong_is_one_line(file: Path) -> None:
    served = Served()
    served.files["/run.trace"] = file.read_bytes()
    with serving(served) as url:
        assert "there is no such file" in line_of(f"{url}/other.trace")
        served.status = 403
        assert "403" in line_of(f"{url}/run.trace")
        served.status, served.breaks_after = 0, 600
        assert "the transfer" in line_of(f"{url}/run.trace")
    assert "the transfer failed" in line_of(f"{url}/run.trace"), "the server is gone"
    assert "Protocol not known" in line_of("nothing://x/run.trace")


def test_paths_that_are_none_elsewhere() -> None:
    assert path_of("file:///tmp/run.trace") == Path("/tmp/run.trace")
    assert type(path_of("run.trace")) is type(Path())
    for text in ("s3://", "hdfs:///run.trace", "://x"):
        with pytest.raises(TraceError, match="names a host or a bucket"):
            path_of(text)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec.core", None)
    assert "pip install 'vprof[remote]'" in line_of("s3://bucket/run.trace")


def test_a_local_path_imports_nothing_of_it(file: Path) -> None:
    import subprocess
    import sys

    code = f"import sys, vprof; vprof.load({str(file)!r}); print('fsspec' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@contextmanager
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A client of a server of its own."""
    pytest.importorskip("s3fs")
    server_of = pytest.importorskip("moto.server")
    import fsspec

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    try:
        yield fsspec.filesystem("s3", skip_instance_cache=True)
    finally:
        server.stop()


def test_a_bucket_and_a_pattern(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with s3(monkeypatch) as store:
        store.mkdir("fleet")
        for name in ("db1", "db2"):
            store.pipe(f"fleet/{name}/run.trace", file.read_bytes())
        assert report(path_of("s3://fleet/db1/run.trace")) == report(file)
        found = matching(path_of("s3://fleet/*/run.trace"))
        assert list(map(str, found)) == ["s3://fleet/db1/run.trace", "s3://fleet/db2/run.trace"]
        assert report(*found)["intervals"]["count"] == 2 * report(file)["intervals"]["count"]
        assert "no file has such a name" in line_of("s3://fleet/*/other.trace")
        assert "there is no such file" in line_of("s3://fleet/db1/other.trace")
