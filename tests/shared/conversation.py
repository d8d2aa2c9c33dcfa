"""One client of a recorded server, who sends bytes and waits for the answer: whose requests are known one by one."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from patience import PATIENCE_SECONDS, wait_for

import vprof
from vprof.api import Run
from vprof.session.owned import Session
from vprof.session.plan import Plan
from vprof.target.server import Server
from vprof.target.target import Target

Turn = tuple[list[bytes], bytes]
"""What is sent, in parts, and the answer."""


@contextmanager
def recording(target: Target, trace: Path) -> Iterator[Session]:
    """The server runs and is recorded inside, with the target's roots on."""
    server = Server.of(target)
    plan = Plan.of(target.descriptor.roots)
    with Session.start(None, server.account.name) as session, server.running(session, plan):
        session.rotate(trace)
        yield session
        session.rotate(None)


def converse(
    target: Target, address: tuple[str, int], trace: Path, turns: Sequence[Turn], pause_seconds: float = 0
) -> Run:
    """One client: in each turn it sends the parts, with pauses between, and reads the answer. Then it closes."""
    with recording(target, trace) as session:
        with socket.create_connection(address, timeout=PATIENCE_SECONDS) as connection:
            for parts, answer in turns:
                for number, part in enumerate(parts):
                    if number:
                        time.sleep(pause_seconds)
                    connection.sendall(part)
                received = b""
                while len(received) < len(answer):
                    received += connection.recv(1 << 20)
                assert received == answer
        wait_for(lambda: session.stats()["intervals"] >= len(turns), "the last request has ended")
    return vprof.load(trace)
