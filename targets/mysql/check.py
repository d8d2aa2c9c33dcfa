#!/usr/bin/env python3
"""Tests of the main suite (mysql-test-run) of MariaDB or MySQL on the instrumented build, and on a plain one.

    plain     a build without vprof, below .vprof/mysql/plain
    dormant   no session
    cured     no session, with the cures that the build has switched on (`vprof instrument --cure`); asked for by name
    off       a session attached, no function probe on; intervals and waits are recorded
    100       100 functions of the server on
    all       every site on

Run it where `vprof instrument --target mysql` was run; what the tests print is kept in .vprof/mysql/check/MODE, with
one line for each test in `results`. Exit code 1 if a test failed.

    python targets/mysql/check.py
    python targets/mysql/check.py plain dormant off
    python targets/mysql/check.py 100 --tests main.xa,main.trigger
    python targets/mysql/check.py cured --tests innodb.deadlock_detect,main.deadlock_innodb
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import own_tests
from own_tests import Result
from plain_build import built_plain

from vprof.session.plan import Plan
from vprof.target.knobs import Assignment, environment, server_options
from vprof.target.server import Account
from vprof.target.target import Target

MODES = ("plain", "dormant", "off", "100", "all")
BY_NAME = ("cured",)
"""Modes that are not for every build."""
TESTS = """
alias ansi auto_increment bigint bool case cast commit commit_1innodb compare consistent_snapshot constraints
count_distinct create cte_recursive date_formats deadlock_innodb delete derived distinct drop flush
func_concat func_group func_if func_in func_json func_like func_math func_op func_regexp func_set func_str
func_test group_by having innodb_mysql_lock insert insert_select insert_update join join_nested join_outer key
limit lock lock_multi mdl_sync multi_update null olap order_by outfile parser partition_innodb ps replace
rollback row select show_check sp subselect subselect_innodb temp_table trigger truncate type_blob type_date
type_decimal type_float union update user_var variables view win xa
"""
"""Those that the tree has: all of MariaDB's, 70 of MySQL's."""
MYSQL_NEEDS = """
ibd2sdi innochecksum my_print_defaults myisam_ftdump myisamchk myisamlog myisampack mysql mysql_client_test
mysql_config_editor mysql_keyring_encryption_test mysql_migrate_keyring mysql_secure_installation mysql_ssl_rsa_setup
mysql_tzinfo_to_sql mysql_upgrade mysqladmin mysqlbinlog mysqlcheck mysqld mysqldump mysqlimport mysqlpump mysqlshow
mysqlslap mysqltest mysqltest_safe_process perror zlib_decompress lz4_decompress
"""
"""What mysql-test-run of some version of MySQL looks for: made are those that the tree has."""
_RESULT = re.compile(
    r"^(?:\[ *\d+%\] )?(\w+\.\S+(?: '[^']*')?) .*\[ (pass|fail|skipped|disabled|retry-pass|retry-fail) \]", re.MULTILINE
)


def plan_of(target: Target, mode: str) -> Plan:
    """100 functions: evenly spaced among the server's names, so that every part of it has some."""
    if mode != "100":
        return Plan.of(["*"] if mode == "all" else [])
    names = sorted({f.name for unit in target.units() for f in unit.functions if f.site is not None})
    return Plan.of(names[:: len(names) // 100][:100])


def mysql_tests(target: Target) -> Path | None:
    """Where MySQL's tree has its main suite; None: it is MariaDB's."""
    folder = target.source_dir / "mysql-test/t"
    return folder if folder.is_dir() else None


def tests_of(target: Target) -> list[str]:
    folder = mysql_tests(target) or target.source_dir / "mysql-test/main"
    return [f"main.{name}" for name in TESTS.split() if (folder / f"{name}.test").exists()]


def complete(target: Target, build: Target, account: Account) -> None:
    """Makes in `build` what only mysql-test-run needs: the other clients, plugins. MySQL's writes beside the server."""
    inherited = {key: value for key, value in os.environ.items() if key != "VPROF_DESCRIPTOR"}
    ninja = build.filled("ninja -j{jobs}")
    if mysql_tests(target):
        known = subprocess.run(
            ["ninja", "-t", "targets", "all"], cwd=build.build_dir, capture_output=True, text=True, check=True
        )
        names = {line.split(":")[0] for line in known.stdout.splitlines()}
        beside = build.build_dir / "runtime_output_directory"
        if beside.is_dir() and account.uid is not None and account.gid is not None:
            os.chown(beside, account.uid, account.gid)
        ninja += [name for name in MYSQL_NEEDS.split() if name in names]
    with (build.folder / "check.log").open("wb") as log:
        subprocess.run(ninja, cwd=build.build_dir, env=inherited, stdout=log, stderr=subprocess.STDOUT, check=True)


def run(target: Target, mode: str, tests: list[str]) -> Result:
    switches = switched_on(target) if mode == "cured" else []
    account = Account.of(target)
    output = own_tests.folder_for(target, mode, account)
    build = built_plain(target) if mode == "plain" else target
    complete(target, build, account)
    mtr = build.filled("perl {build}/mysql-test/mtr --parallel={jobs} --force --max-test-fail=0 --retry=0 --suite=main")
    options = [f"--mysqld={option}" for option in server_options(switches).split()]
    command = [*mtr, f"--vardir={output}/var", *options, *(tests or tests_of(target))]

    def suite(inherited: dict[str, str]) -> subprocess.Popen[bytes]:
        return own_tests.start(command, output, account, inherited | environment(switches))

    summary = partial(said, output)
    if mode in ("plain", "dormant", "cured"):
        return own_tests.dormant(suite, summary)
    return own_tests.recorded(suite, summary, plan_of(target, mode), output.with_suffix(".trace"), account.name)


def switched_on(target: Target) -> list[Assignment]:
    """What switches on the cures of the build. Ends the script if it has none."""
    switches = [cure.switch for cure in target.descriptor.chosen_cures if cure.switch]
    if not switches:
        raise SystemExit("the build has no cure: run `vprof instrument --target mysql --cure vats` first")
    return [switch.assigned(switch.values[-1]) for switch in switches]


def said(output: Path, status: int) -> str:
    """Counts of results, which are kept for comparison."""
    text = (output / "output.log").read_text(encoding="utf-8", errors="replace")
    results = sorted(f"{name} {result}" for name, result in _RESULT.findall(text))
    (output / "results").write_text("\n".join(results) + "\n", encoding="utf-8")
    counts = {result: sum(line.endswith(f" {result}") for line in results) for result in ("pass", "fail", "skipped")}
    if not results:
        return (text.strip().splitlines() or [f"no output, status {status}"])[-1]
    return ", ".join(f"{count} {result}" for result, count in counts.items())


if __name__ == "__main__":
    sys.exit(own_tests.main(__doc__, MODES, partial(run, Target.load("mysql")), BY_NAME))
