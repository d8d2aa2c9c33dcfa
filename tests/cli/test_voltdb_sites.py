"""targets/voltdb-ee/sites.py: its front end in Java compiles, and what that prints is read. There is no VoltDB here."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "targets/voltdb-ee"))

import sites


def test_the_front_end_compiles(tmp_path: Path) -> None:
    sites.compiled(tmp_path)
    assert (tmp_path / "Sites.class").exists()
    assert (tmp_path / "org/voltdb/jni/ExecutionEngine.class").exists()


def test_what_the_front_end_prints_is_read() -> None:
    said = """\
round 0 transaction 3 last 412 lowest 411
round 1 transaction 4 last 411 lowest 411
fragment   count  queue ms  by id ms  took ms   variance
all         1650     1.069     1.571    0.922      1.090
300           50     0.900     1.402    1.100      2.000
"""
    assert sites.MP_ROUND.findall(said) == [("3", "412", "411"), ("4", "411", "411")]
    assert sites.said_rows(said) == {
        "all": (1650, 1.069, 1.571, 0.922, 1.09),
        "300": (50, 0.9, 1.402, 1.1, 2.0),
    }
