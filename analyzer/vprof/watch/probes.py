"""Keeps a plan on in the programs of a session, ours or somebody else's, also in those that join later.

plan, functions that cost too much -> Switched -> the session's note, its switch bytes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vprof.session.control import Control, Note
from vprof.session.owned import Session
from vprof.session.plan import Plan, Switched
from vprof.tables.naming import without_place
from vprof.watch.plan import too_dear

OWNER = "vprof watch"


class Probes:
    """`off`: functions of the plan that are off because they cost too much. `root`: stays on."""

    def __init__(self, session: Control, plan: Plan, root: str | None, most: float) -> None:
        """`most`: the part of the intervals' time that probes may take."""
        self.off: list[str] = []
        self._session, self._root, self._most = session, root, most
        self._plan = self._with_root(plan)

    def begin(self) -> None:
        """In what has joined already."""
        if not isinstance(self._session, Session):
            self._session.join()
        self._switch()

    def change(self, plan: Plan) -> None:
        """Another plan, all of it on."""
        self._plan, self.off = self._with_root(plan), []
        self._switch()

    def follow(self) -> bool:
        """Whether something joined, which has the plan on now."""
        known = len(self._session.modules)
        if isinstance(self._session, Session):
            self._session.follow(self._plan)
        elif self._session.join():
            self._switch()
        return len(self._session.modules) > known

    def unmatched(self) -> list[str]:
        return self._session.sites.unmatched(self._plan)

    @property
    def roots(self) -> list[int]:
        """Numbers of the root's sites."""
        return self._session.sites.numbers(Plan.of([self._root])) if self._root else []

    def check(self, calls: Mapping[int, int], probe_ns: float, intervals_ns: int) -> dict[str, float]:
        """Switches off what makes the probes cost too much, and returns it: by function its part of the intervals'
        time. `calls`: by site; all count, also those that worked for no interval."""
        if intervals_ns <= 0:
            return {}
        costs: dict[str, float] = {}
        for name, _, numbers in self._session.sites.sites():
            count = sum(calls.get(number, 0) for number in numbers)
            if count:
                costs[name] = costs.get(name, 0.0) + count * probe_ns / intervals_ns
        on = {name: cost for name, cost in costs.items() if name not in self.off}
        dear = too_dear(on, self._most, {without_place(self._root)} if self._root else set())
        if dear:
            self.off += dear
            self._switch()
        return {name: on[name] for name in dear}

    def _with_root(self, plan: Plan) -> Plan:
        return Plan.of({*plan.patterns, self._root}) if self._root else plan

    def _switch(self) -> None:
        session = self._session
        switched = Switched({"*": False}).then(Switched.of(self._plan)).then(Switched(dict.fromkeys(self.off, False)))
        with session.alone():
            session.write_note(Note(OWNER, switched, session.note().retry))
            mapped = [module for module in session.modules if module["state"] == "mapped"]
            after = {n for module in mapped for n in session.sites.switched(switched, module["index"])}
            before = session.sites_on()
            session.flip("on", sorted(after - before))
            session.flip("off", sorted(before - after))

    def leave(self, note: Note, on: set[int]) -> None:
        """Puts back what somebody else's session had before."""
        session = self._session
        with session.alone():
            now = session.sites_on()
            session.flip("on", sorted(on - now))
            session.flip("off", sorted(now - on))
            session.write_note(replace(note, retry=session.note().retry))
