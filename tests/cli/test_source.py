"""Which version of a source package is taken; and a package that cannot be had is told apart from a broken one."""

import io
from pathlib import Path

import pytest

from vprof.errors import VprofError
from vprof.target.fetch import Fetched, SourceUnavailableError, fetch, fetched

LISTS_A_SUITE = 'if [ "$1" = indextargets ]; then echo "Debian|http://mirror.invalid/debian|bookworm|main"; exit; fi\n'
TAKES = """case "$*" in
  *download-only*) for last; do :; done; echo "$last" >> asked
    case "$last" in *=$GONE) echo "E: 404 Not Found"; exit 100;; esac
    : > "${last#*=}.dsc";;
esac"""
UNPACKS = 'for last; do :; done; /bin/mkdir -p "$last"'
COMPARES = 'exec /usr/bin/dpkg "$@"'


class Machine:
    """A machine with these programs and no others, each the body of a shell script; the mirror lists `versions`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._programs = folder / "bin"
        self._programs.mkdir()
        self.tree, self.work = folder / "tree", folder / "work"
        self._set = monkeypatch.setenv
        monkeypatch.setenv("PATH", str(self._programs))

    def has(self, **programs: str) -> None:
        for name, body in programs.items():
            file = self._programs / name.replace("_", "-")
            file.write_text(f"#!/bin/sh\n{body}")
            file.chmod(0o755)

    def lists(self, *versions: str, gone: str = "none") -> None:
        """`gone`: it is listed and cannot be downloaded."""
        self._set("GONE", gone)
        lines = "".join(f"echo 'Package: package'; echo 'Version: {version}'\n" for version in versions)
        missing = "" if versions else "echo 'E: Unable to locate package package'; exit 100"
        self.has(apt_get=LISTS_A_SUITE + TAKES, apt_cache=lines + missing, dpkg_source=UNPACKS, dpkg=COMPARES)

    def fetch(self, wanted: str) -> Fetched:
        return fetch("package", wanted, self.tree, self.work, io.StringIO())

    def asked(self) -> list[str]:
        return [line.partition("=")[2] for line in (self.work / "asked").read_text().splitlines()]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_the_newest_version_of_a_range_is_taken(machine: Machine) -> None:
    machine.lists("1:15.9-1", "1:15.10-1~deb12u1", "1:15.10-1", "1:16.0-1", "1:14.2-1")
    assert machine.fetch(">=15,<16") == Fetched("package", "1:15.10-1") == fetched(machine.tree)
    assert machine.asked() == ["1:15.10-1"]


def test_a_version_that_is_listed_and_gone_is_passed_over(machine: Machine) -> None:
    machine.lists("15.9-1", "15.10-1", gone="15.10-1")
    assert machine.fetch(">=15,<16").version == "15.9-1"
    assert machine.asked() == ["15.10-1", "15.9-1"]


def test_what_is_there_stays_while_it_is_in_the_range(machine: Machine) -> None:
    machine.lists("15.9-1")
    machine.fetch(">=15,<16")
    machine.lists("15.9-1", "15.10-1")
    assert machine.fetch(">=15,<16").version == "15.9-1"
    assert machine.fetch(">=15.10,<16").version == "15.10-1"


@pytest.mark.parametrize("wanted", [">=16,<17", "15.8-1"])
def test_a_version_that_does_not_exist_names_those_that_do(machine: Machine, wanted: str) -> None:
    machine.lists("15.9-1", "15.10-1")
    with pytest.raises(SourceUnavailableError) as error:
        machine.fetch(wanted)
    assert str(error.value) == f"the mirror has no source package package {wanted}: it has 15.10-1, 15.9-1"


def test_a_package_that_does_not_exist_is_said(machine: Machine) -> None:
    machine.lists()
    with pytest.raises(SourceUnavailableError, match="it has none of that name"):
        machine.fetch(">=1")


def test_all_that_are_listed_may_be_gone(machine: Machine) -> None:
    machine.lists("15.9-1", gone="15.9-1")
    with pytest.raises(SourceUnavailableError, match="E: 404 Not Found"):
        machine.fetch(">=15,<16")


def test_no_debian(machine: Machine) -> None:
    with pytest.raises(SourceUnavailableError, match="needs a Debian system"):
        machine.fetch("1.0-1")


def test_no_suite(machine: Machine) -> None:
    machine.has(apt_get="")
    with pytest.raises(SourceUnavailableError, match="apt knows no Debian suite"):
        machine.fetch("1.0-1")


def test_no_network(machine: Machine) -> None:
    machine.has(apt_get=LISTS_A_SUITE + "echo 'E: Failed to fetch http://mirror.invalid'; exit 100")
    with pytest.raises(SourceUnavailableError, match="E: Failed to fetch"):
        machine.fetch("1.0-1")


def test_a_package_that_does_not_unpack_is_a_failure(machine: Machine) -> None:
    machine.lists("1.0-1")
    machine.has(dpkg_source="echo 'dpkg-source: error: no such format'; exit 25")
    with pytest.raises(VprofError, match="no such format") as caught:
        machine.fetch("1.0-1")
    assert not isinstance(caught.value, SourceUnavailableError)
