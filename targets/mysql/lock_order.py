#!/usr/bin/env python3
"""Forces transactions of known ages onto one row and shows in which order they get it, with the cure vats off and on.

    orders     three that want to write the row ask for it in each of the six orders; one after another gets it
    readers    two old ones that want to read and a young one that wants to write: readers get it together
    deadlock   the two eldest wait for each other while a younger one waits for the row, too: one of them is given up

Off, the order is that of asking; on, that of age. Run it where `vprof instrument --target mysql --cure vats` was run.
Exit code 1 if an order is another.

    python targets/mysql/lock_order.py
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import permutations

from vprof.target.server import Server
from vprof.target.target import Target

AGES = ("eldest", "middle", "youngest")
SWITCH = "innodb_vprof_vats"
_PATIENCE_SECONDS = 20
_APART_SECONDS = 0.01
"""Between the begins of two transactions, whose age the server counts in microseconds."""
_WAITING = "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT';"
WRITE = "SELECT n FROM test.rows_ WHERE id = {} FOR UPDATE;"
READ = "SELECT n FROM test.rows_ WHERE id = {} LOCK IN SHARE MODE;"


@dataclass(frozen=True)
class Connection:
    """A client of the server that is told statements and answers in lines."""

    name: str
    client: subprocess.Popen[bytes]

    def tell(self, statement: str) -> None:
        """Without waiting for the answer. What is told next is done after it."""
        assert self.client.stdin
        self.client.stdin.write(f"{statement}\n".encode())
        self.client.stdin.flush()

    def line(self) -> str:
        assert self.client.stdout
        if not self.answers(_PATIENCE_SECONDS):
            raise RuntimeError(f"{self.name} got no answer within {_PATIENCE_SECONDS} s")
        return self.client.stdout.readline().decode().strip()

    def answers(self, seconds: float = 0.0) -> bool:
        return bool(select.select([self.client.stdout], [], [], seconds)[0])

    def ask(self, statement: str) -> list[str]:
        """The lines of the answer."""
        self.tell(f"{statement}\nSELECT 'told';")
        lines: list[str] = []
        while (line := self.line()) != "told":
            lines.append(line)
        return lines


@contextmanager
def connected(server: Server, name: str) -> Iterator[Connection]:
    options = "--no-defaults --socket={server}/mysql.sock --user=root -N -B -n --force"
    command = server.target.filled(f"{{build}}/client/mariadb {options}")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "bufsize": 0}
    client = subprocess.Popen(command, **pipes, **server.account.popen())
    try:
        yield Connection(name, client)
    finally:
        client.kill()
        client.wait()


class Scene:
    """A transaction that holds row 0, others of known ages, and one that looks on."""

    def __init__(self, server: Server, stack: ExitStack) -> None:
        self.onlooker, self.holder, *self.others = (
            stack.enter_context(connected(server, name)) for name in ("onlooker", "holder", *AGES)
        )

    def begin(self, vats: bool) -> None:
        """All have begun, the eldest first, each with a row of its own."""
        self.onlooker.ask(f"SET GLOBAL {SWITCH} = {'ON' if vats else 'OFF'};")
        for row, connection in enumerate((self.holder, *self.others)):
            connection.ask("ROLLBACK; BEGIN;")
            connection.ask(WRITE.format(row))
            time.sleep(_APART_SECONDS)

    def wait_for(self, name: str, statement: str, waiting: int) -> None:
        """The transaction asks for the row and is seen to wait, as one of so many."""
        self.named(name).tell(statement)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while self.onlooker.ask(_WAITING) != [str(waiting)]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{name} does not wait")
            time.sleep(0.1)  # the server refreshes what it says as often

    def granted(self, count: int) -> list[set[str]]:
        """Who has the row, one after another and those at once together, from when the holder gives it back."""
        self.holder.ask("COMMIT;")
        order: list[set[str]] = []
        while sum(map(len, order)) < count:
            together = self.answered()
            order.append({connection.name for connection in together})
            for connection in together:
                connection.line()
                connection.ask("COMMIT;")
        return order

    def named(self, name: str) -> Connection:
        return next(connection for connection in self.others if connection.name == name)

    def answered(self) -> list[Connection]:
        """Those that have an answer, from when one of them has it."""
        outputs = [connection.client.stdout for connection in self.others]
        if not select.select(outputs, [], [], _PATIENCE_SECONDS)[0]:
            raise RuntimeError(f"nobody got the row within {_PATIENCE_SECONDS} s")
        time.sleep(0.2)  # those that get it at once answer at once
        return [connection for connection in self.others if connection.answers()]


def orders(scene: Scene, vats: bool) -> Iterator[tuple[str, str, bool]]:
    for asked in permutations(AGES):
        scene.begin(vats)
        for waiting, name in enumerate(asked, 1):
            scene.wait_for(name, WRITE.format(0), waiting)
        yield _row(asked, scene.granted(3), [{name} for name in (AGES if vats else asked)])


def readers(scene: Scene, vats: bool) -> Iterator[tuple[str, str, bool]]:
    scene.begin(vats)
    scene.wait_for("youngest", WRITE.format(0), 1)
    scene.wait_for("middle", READ.format(0), 2)
    scene.wait_for("eldest", READ.format(0), 3)
    both, young = {"eldest", "middle"}, {"youngest"}
    asked = ("youngest writes", "middle reads", "eldest reads")
    yield _row(asked, scene.granted(3), [both, young] if vats else [young, both])


def deadlock(scene: Scene, vats: bool) -> Iterator[tuple[str, str, bool]]:
    """The eldest has row 1 and asks for the middle one's, row 2, which the youngest waits for."""
    scene.begin(vats)
    scene.wait_for("youngest", WRITE.format(2), 1)
    scene.wait_for("middle", WRITE.format(1), 2)
    scene.named("eldest").tell(WRITE.format(2))
    said = {connection.name: " ".join(connection.ask("")) for connection in scene.answered()}
    for connection in scene.others:
        connection.tell("ROLLBACK;")
    victims = [name for name, line in said.items() if "ERROR 1213" in line]
    yield "youngest, middle, eldest in a circle", f"given up: {', '.join(victims) or 'nobody'}", len(victims) == 1


def _row(asked: Sequence[str], granted: list[set[str]], wanted: list[set[str]]) -> tuple[str, str, bool]:
    return ", ".join(asked), ", ".join(" and ".join(sorted(names)) for names in granted), granted == wanted


SCENES: tuple[Callable[[Scene, bool], Iterator[tuple[str, str, bool]]], ...] = (orders, readers, deadlock)


def main() -> int:
    server = Server.of(Target.load("mysql"), "--innodb-lock-wait-timeout=60")
    right = True
    print(f"{SWITCH:18} {'asked in this order':46} got it in this order")
    with server.running(), connected(server, "setup") as setup:
        setup.ask("CREATE DATABASE IF NOT EXISTS test; DROP TABLE IF EXISTS test.rows_;")
        setup.ask("CREATE TABLE test.rows_ (id INT PRIMARY KEY, n INT) ENGINE = InnoDB;")
        setup.ask("INSERT INTO test.rows_ VALUES (0, 0), (1, 0), (2, 0), (3, 0);")
        if not setup.ask(f"SHOW VARIABLES LIKE '{SWITCH}';"):
            raise SystemExit(f"the server has no {SWITCH}: run `vprof instrument --target mysql --cure vats` first")
        for vats in (False, True):
            for scene in SCENES:
                with ExitStack() as stack:
                    for asked, granted, as_wanted in scene(Scene(server, stack), vats):
                        right &= as_wanted
                        mark = "" if as_wanted else "   WRONG"
                        print(f"{'ON' if vats else 'OFF':18} {asked:46} {granted}{mark}", flush=True)
        setup.ask("DROP TABLE test.rows_;")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
