"""`--load NAME`: a workload of `vprof load` in place of a target's own load."""

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner
from latencies import MS, lateness, records, run_json, write
from test_server import make

from vprof.commands import drill, record
from vprof.drill.settings import DrillSettings
from vprof.errors import UsageError, VprofError
from vprof.installed import target_file, target_names
from vprof.target.chosen_load import ChosenLoad
from vprof.target.descriptor import load
from vprof.target.server import Server
from vprof.target.target import Target
from vprof.workload.driver import check_name, run_in_log

WORKLOADS = """
[workloads]
on = "toydb"
socket = "{server}/socket"
user = "root user"
setup = ["sh -c 'echo database >> ../setups'"]
"""
DRIVER = """#!/bin/sh
[ "$1" = list ] && echo 'tpcc  orders' && exit 0
printf '[%s]' "$@" >> ../calls
echo >> ../calls
case "$*" in *--mix=pay=1*--dry-run) echo "vprof-load-driver: --mix pay=1: names another type" >&2; exit 2;; esac
case "$*" in *--dry-run) exit 0;; esac
echo begun
[ "$1" = run ] && echo '{"no": "report"}'
exit 0
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    """A toy, and a driver that writes down how it is called."""
    native = tmp_path / "prefix/lib/vprof"
    native.mkdir(parents=True)
    (native / "vprof-load-driver").write_text(DRIVER)
    (native / "vprof-load-driver").chmod(0o755)
    (tmp_path / "prefix/bin").mkdir()
    for name in ("vprof-cc", "vprof-c++"):
        (tmp_path / "prefix/bin" / name).touch()
    monkeypatch.setenv("VPROF_PREFIX", str(tmp_path / "prefix"))
    return make(tmp_path, "[load]", f"{WORKLOADS}[load]")


def test_the_drivers_load_replaces_the_targets_own_one(target: Target, tmp_path: Path) -> None:
    chosen = ChosenLoad.of("tpcc", 3, 250.0, None, target)
    server = Server.of(replace(target, chosen_load=chosen))
    work = target.folder
    assert (work / "setups").read_text() == "made\ndatabase\n"
    socket = f"[--on=toydb][--socket={work}/server-tpcc/socket][--user=root user]"
    with server.running():
        assert server.load(7, ["--mix", "a=1"], keep=True).wait() == 0
        assert server.load(8, []).wait() == 0
    setup, run, lasting = (work / "calls").read_text().splitlines()
    assert setup == f"[setup][tpcc]{socket}[--scale=3]"
    rest = f"[--latencies={work}/server-tpcc/latencies][--rate=250.0][--mix][a=1]"
    assert run == f"[run][tpcc]{socket}[--scale=3][--clients=3][--seconds=7]{rest}"
    assert "[--latencies=/dev/null]" in lasting
    assert not (work / "loads").exists()


def test_the_targets_own_load_stays_with_its_own_data(target: Target) -> None:
    chosen = replace(target, chosen_load=ChosenLoad("tpcc"))
    assert (target.server_dir.name, chosen.server_dir.name) == ("server", "server-tpcc")
    for one in (target, chosen, target, chosen):
        Server.of(one)
    assert (target.folder / "setups").read_text() == "made\nmade\ndatabase\n"
    assert target.command(7, [])[-2:] == ["7", "3"]
    Server.of(replace(target, chosen_load=ChosenLoad("tpcc", scale=2)))
    assert (target.folder / "setups").read_text() == "made\nmade\ndatabase\nmade\ndatabase\n"


def test_the_clients_of_the_target_unless_others_are_given(target: Target) -> None:
    assert ChosenLoad("tpcc").table(target.descriptor)["clients"] == 3
    assert ChosenLoad("tpcc", clients=9).table(target.descriptor)["clients"] == 9


def test_a_setup_that_fails_is_one_line_with_its_last_word(target: Target, tmp_path: Path) -> None:
    driver = tmp_path / "prefix/lib/vprof/vprof-load-driver"
    driver.write_text("#!/bin/sh\necho 'vprof-load-driver: no room' >&2; exit 1\n")
    with pytest.raises(VprofError, match="the setup failed: vprof-load-driver: no room"):
        Server.of(replace(target, chosen_load=ChosenLoad("tpcc")))


def test_options_that_do_not_fit_are_one_line(target: Target, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--load is for a --target"):
        ChosenLoad.of("tpcc", None, None, None, None)
    with pytest.raises(UsageError, match="are for a --load"):
        ChosenLoad.of(None, None, 3.0, None, target)
    assert ChosenLoad.of(None, None, None, None, target) is None
    with pytest.raises(UsageError, match=r"there is no \[workloads\]"):
        ChosenLoad.of("tpcc", None, None, None, make(tmp_path))
    with pytest.raises(UsageError, match="there is no workload 'tpcd': give one of tpcc"):
        check_name("tpcd")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('on = "toydb"\n', ""), r"\[workloads\] 'on' is missing"),
        (("[workloads]\n", "[workloads]\nrate = 3\n"), r"\[workloads\] has no key 'rate'"),
        (("echo database >> ../setups'\"", 'x\'", "a | b"'), "needs a shell"),
    ],
)
def test_a_mistake_in_the_descriptor_is_one_line(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make(tmp_path, "[load]", WORKLOADS.replace(*change) + "[load]")


def test_workloads_need_a_server(tmp_path: Path) -> None:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "target.toml").write_text(f'name = "toy"\n[build]\nprograms = []\n{WORKLOADS}')
    with pytest.raises(UsageError, match=r"\[workloads\] is for a \[server\]"):
        load(folder / "target.toml")


@pytest.mark.parametrize("name", target_names())
def test_the_loads_of_known_targets_are_commands(name: str, target: Target) -> None:
    """Of each target that has workloads: its commands can be filled in, and name no option that the driver lacks."""
    descriptor = load(target_file(name))
    if not descriptor.workloads:
        assert name not in ("postgres", "mysql")
        return
    one = Target(descriptor, target.folder, target.choices, ChosenLoad("tpcc", 2, 100.0, 5))
    for step in one.load_table["setup"]:
        assert one.filled(step)
    words = one.command(3, [])
    assert words[1:3] == ["run", "tpcc"] and f"--on={name}" in words and "--clients=5" in words
    assert any(word.startswith(f"--socket={target.folder}/server-tpcc") for word in words)


def test_a_drill_down_keeps_its_load() -> None:
    settings = DrillSettings(name="postgres", load="tpcc", scale=4, rate=10.0, clients=2)
    assert DrillSettings.read(settings.__dict__) == settings
    with pytest.raises(UsageError, match="with --session nothing is started"):
        DrillSettings(name="postgres", load="tpcc", directory="/s").check()


@pytest.mark.parametrize("verb", [record, drill])
def test_options_that_the_driver_refuses_are_refused_before_the_setup(
    verb: ModuleType, target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(target.folder)
    folder = target.descriptor.file.parent
    words = ["--target", str(folder), "--dir", str(target.folder), "--load", "tpcc", "--rate", "5", "--", "--mix=pay=1"]
    done = CliRunner().invoke(verb.command, words)
    assert isinstance(done.exception, UsageError) and str(done.exception) == "--mix pay=1: names another type"
    assert not (target.folder / "setups").exists()
    last = (tmp_path / "calls").read_text().splitlines()[-1]
    assert last.startswith("[run][tpcc]") and last.endswith("[--rate=5.0][--mix=pay=1][--dry-run]")


@pytest.mark.parametrize("verb", [record, drill])
def test_the_verbs_take_it(verb: object, tmp_path: Path) -> None:
    done = CliRunner().invoke(verb.command, ["--load", "tpcc", "--dir", str(tmp_path), "--", "true"])  # type: ignore[attr-defined]
    assert isinstance(done.exception, UsageError)


def test_what_a_run_measured_is_found_in_its_log(tmp_path: Path) -> None:
    import json

    from vprof.report.load import sentence
    from vprof.workload.result import result_of

    log = tmp_path / "load.log"
    log.write_text(f"1 400 0 0 0.0\n{json.dumps(run_json())}\n")
    run = run_in_log(log)
    assert run
    result = result_of(run, write(tmp_path / "x", records([0], [MS]), lateness([0], [0])), [])
    assert sentence(result).startswith("ycsb: 0.1 transactions a second")
    log.write_text("nothing\n")
    assert run_in_log(log) is None
