"""A source package that this machine cannot get is told apart from a package that is broken."""

import io
from pathlib import Path

import pytest

from vprof.errors import VprofError
from vprof.source import SourceUnavailableError, fetch

LISTS_A_SUITE = 'if [ "$1" = indextargets ]; then echo "Debian|http://mirror.invalid/debian|bookworm|main"; exit; fi\n'


def fetched_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **programs: str) -> None:
    """Fetches a package where these are all the programs there are, each the body of a shell script."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, body in programs.items():
        (folder / name.replace("_", "-")).write_text(f"#!/bin/sh\n{body}")
        (folder / name.replace("_", "-")).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    fetch("package", "1.0-1", tmp_path / "tree", tmp_path / "work", io.StringIO())


def test_no_debian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceUnavailableError, match="needs a Debian system"):
        fetched_with(tmp_path, monkeypatch)


def test_no_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceUnavailableError, match="apt knows no Debian suite"):
        fetched_with(tmp_path, monkeypatch, apt_get="")


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt = LISTS_A_SUITE + "echo 'E: Failed to fetch http://mirror.invalid'; exit 100"
    with pytest.raises(SourceUnavailableError, match="E: Failed to fetch"):
        fetched_with(tmp_path, monkeypatch, apt_get=apt)


def test_a_package_that_does_not_unpack_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    apt = LISTS_A_SUITE + 'case "$*" in *download-only*) : > package_1.0-1.dsc;; esac'
    source = "echo 'dpkg-source: error: no such format'; exit 25"
    with pytest.raises(VprofError, match="no such format") as caught:
        fetched_with(tmp_path, monkeypatch, apt_get=apt, dpkg_source=source)
    assert not isinstance(caught.value, SourceUnavailableError)
