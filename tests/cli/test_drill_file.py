"""The file of a drill-down: a crash costs the running step only, and a foreign file is said."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner
from replay import ALL, STEPWISE, Replay

from vprof.cli import root
from vprof.commands.drill import work_folder
from vprof.drill.file import SCHEMA, DrillFile
from vprof.drill.loop import Drill, Enough
from vprof.drill.settings import DrillSettings
from vprof.errors import VprofError
from vprof.variance.analysis import Analysis


def test_each_program_has_a_work_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    of_all = tmp_path / ".vprof" / "program"
    assert work_folder(None, None, ("./bin/server", "--port", "1"), False) == of_all / "server"
    assert work_folder(None, None, (), False) == of_all / "session"
    assert work_folder(None, Path("mine"), ("server",), True) == tmp_path / "mine"
    for age, name in ((10, "server"), (1000, "other")):
        (of_all / name / "drill").mkdir(parents=True)
        file = of_all / name / "drill" / "session.json"
        file.touch()
        os.utime(file, (1e9 - age, 1e9 - age))
    # To go on, or to show: the latest.
    assert work_folder(None, None, (), True) == of_all / "server"


def explore(file: DrillFile, measure: Replay) -> Drill:
    drill = Drill(frozenset({"txn"}), measure, STEPWISE, done=file.steps)
    for _ in drill.steps():
        file.save()
    return drill


def test_a_drill_that_died_in_a_step_goes_on_behind_the_last_finished_one(tmp_path: Path) -> None:
    class Dying(Replay):
        def __call__(
            self, functions: frozenset[str], seconds: float, enough: Enough | None = None, compared: bool = False
        ) -> Analysis:
            if functions == ALL:
                raise VprofError("the server ended")
            return super().__call__(functions, seconds, enough, compared)

    whole = explore(DrillFile(tmp_path / "whole.json", DrillSettings()), Replay())

    path = tmp_path / "session.json"
    with pytest.raises(VprofError, match="the server ended"):
        explore(DrillFile(path, DrillSettings(k=3)), Dying())
    resumed = DrillFile.load(path)
    assert resumed.settings == DrillSettings(k=3)
    assert [step.number for step in resumed.steps] == [1, 2]
    replay = Replay()
    drill = explore(resumed, replay)
    assert replay.plans == [ALL]
    assert drill.done == whole.done
    assert DrillFile.load(path).steps == whole.done


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    DrillFile(path, DrillSettings(k=3)).save()
    (tmp_path / "session.json.new").mkdir()
    with pytest.raises(VprofError, match="cannot write"):
        DrillFile(path, DrillSettings(k=4)).save()
    assert DrillFile.load(path).settings == DrillSettings(k=3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not the file of a drill-down"),
        ("[1, 2]", "not the file of a drill-down"),
        ('{"schema": "vprof-drill/1", "settings": {}, "steps": [{"number": 1}], "ended": ""}', "not the file"),
        ('{"schema": "vprof-drill/9"}', "written as vprof-drill/9, this vprof reads vprof-drill/1"),
        ("\0\1", "not the file of a drill-down"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "session.json"
    path.write_text(text)
    with pytest.raises(VprofError, match=said) as refused:
        DrillFile.load(path)
    assert "\n" not in str(refused.value)


def test_every_cut_of_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    explore(DrillFile(path, DrillSettings()), Replay())
    whole = path.read_bytes()
    json.loads(whole)
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(VprofError):
            DrillFile.load(path)


def test_a_file_of_a_vprof_that_knew_fewer_settings_goes_on_with_the_usual_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drill").mkdir()
    settings = {"name": None, "root": "serve", "k": 5, "program": ["./server"]}
    kept = {"schema": SCHEMA, "settings": settings, "steps": [], "ended": ""}
    (tmp_path / "drill/session.json").write_text(json.dumps(kept))
    seen: list[DrillFile] = []
    monkeypatch.setattr("vprof.commands.drill._drill", lambda file, *_: seen.append(file))
    done = CliRunner().invoke(root, ["drill", "--resume", "--dir", str(tmp_path), "--max-steps", "7"])
    assert done.exit_code == 0, done.output
    assert seen[0].settings == DrillSettings(roots=["serve"], k=5, max_steps=7, program=["./server"])
