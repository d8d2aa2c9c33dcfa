"""Some of PostgreSQL's own regression tests that need none of the others; `check.py` runs all of them."""

import subprocess
import sys
from pathlib import Path

import pytest
from build_cache import Built
from patience import PATIENCE_SECONDS

CHECK = Path(__file__).parents[2] / "targets/postgres/check.py"
TESTS = "test_setup,boolean,int4,text,strings,numeric,errors,plpgsql,transactions,prepare,copy2"


@pytest.mark.parametrize("mode", ["dormant", "off", "100"])
def test_they_pass(postgres: Built, mode: str) -> None:
    done = subprocess.run(
        [sys.executable, CHECK, mode, "--tests", TESTS], capture_output=True, timeout=PATIENCE_SECONDS, **postgres.how()
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "All 11 tests passed" in done.stdout
