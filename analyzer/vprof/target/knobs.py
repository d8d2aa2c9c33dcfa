"""`[[knob]]` of a descriptor: what a user may set, how, what values it takes, what it trades and what it governs.

    [[knob]] -> Knob -> Knob.setting("100") -> Assignment: options of the server or the load, or environment

The schema is annotations/README.md. Mistakes are UsageErrors of one line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vprof.errors import UsageError
from vprof.target.versions import parse_range

SERVER, LOAD, ENVIRONMENT = "server_option", "load_option", "environment"
_HOW = (SERVER, LOAD, ENVIRONMENT)
NOTHING = "nothing"
"""What a knob trades that may be set at no cost in durability or memory."""
DURABILITY = "durability"
"""How the text of one begins with which a crash may lose what clients were told is kept."""
_CHOICE = "choice"
_KINDS = {
    "whole": (re.compile(r"-?\d+"), "a whole number"),
    "number": (re.compile(r"-?\d+(\.\d+)?"), "a number"),
    "size": (re.compile(r"\d+ ?([kKMGT]i?B?|B)?"), "a size such as 512MB"),
    "time": (re.compile(r"\d+(\.\d+)? ?(us|ms|s|min|h|d)?"), "a time such as 30s or 5min"),
}
_TEXTS = ("name", "kind", "trades")
_MAY = ("unit", "line", "default", "versions")
_VALUE = "{value}"


@dataclass(frozen=True)
class Assignment:
    """A knob and the value that it gets, as text. Ordered and hashable, so that a setting is a tuple of them."""

    knob: Knob
    value: str

    @property
    def text(self) -> str:
        """ "commit_delay=100" """
        return f"{self.knob.name}={self.value}"

    @property
    def option(self) -> str:
        return self.knob.option.replace(_VALUE, self.value)

    @property
    def line(self) -> str:
        """For the configuration of the user's own server."""
        return (self.knob.line or self.knob.option).replace(_VALUE, self.value)


@dataclass(frozen=True)
class Knob:
    """As the keys of the table, `how` and `option` being its server_option, load_option or environment.

    `values`: those to try; of a choice, all that there are. `default`: the one that the target has by itself, "" where
    that is not known. `unit`: of numbers, "". `restart`: it takes effect when the
    server is started only. `trades`: what is lost for what it gains. `governs`: functions and pseudo-nodes whose
    variance it changes."""

    name: str
    how: str
    option: str
    kind: str
    values: tuple[str, ...]
    restart: bool
    trades: str
    governs: tuple[str, ...]
    unit: str = ""
    line: str = ""
    default: str = ""

    def others(self, options: str) -> list[str]:
        """Values that differ from what the target has with these options."""
        is_set = self.option.partition(_VALUE)[0].strip() in options
        return [value for value in self.values if is_set or value != self.default]

    def assigned(self, value: str) -> Assignment:
        """Raises UsageError if it is not of the knob's kind."""
        if wrong := self._wrong(value):
            raise UsageError(f"--knob {self.name}: '{value}' is not {wrong}")
        return Assignment(self, value)

    def _wrong(self, value: str) -> str:
        """What it should be, or ""."""
        if self.kind == _CHOICE:
            return "" if value in self.values else f"one of {', '.join(self.values)}"
        pattern, what = _KINDS[self.kind]
        return "" if pattern.fullmatch(value) else what


def server_options(assignments: Sequence[Assignment]) -> str:
    """As `--server-options` takes them."""
    return " ".join(one.option for one in assignments if one.knob.how == SERVER)


def load_words(assignments: Sequence[Assignment]) -> list[str]:
    return [word for one in assignments if one.knob.how == LOAD for word in shlex.split(one.option)]


def environment(assignments: Sequence[Assignment]) -> dict[str, str]:
    pairs = [one.option.partition("=") for one in assignments if one.knob.how == ENVIRONMENT]
    return {name: value for name, _, value in pairs}


def check(rows: Any, file: str, has_server: bool) -> None:
    """Raises UsageError for the first mistake. Knobs of one name must be for versions, each for others (`knobs_of`)."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(f"{file}: write [[knob]], with two brackets")
    always: dict[str, bool] = {}  # whether the knob of this name is for all versions
    for number, row in enumerate(rows, 1):
        where = f"{file}: [[knob]] number {number}"
        knob = checked(row, where, has_server)
        if knob.name in always and (always[knob.name] or "versions" not in row):
            raise UsageError(f"{where}: there is another knob '{knob.name}'")
        always[knob.name] = "versions" not in row


def checked(row: Mapping[str, Any], where: str, has_server: bool) -> Knob:
    """Of one row. Raises UsageError for the first mistake."""
    _check_keys(row, where)
    _check_how(row, where, has_server)
    knob = _knob(row)
    for value in knob.values:
        if wrong := knob._wrong(value):
            raise UsageError(f"{where}: values: '{value}' is not {wrong}")
    if knob.default and (wrong := knob._wrong(knob.default)):
        raise UsageError(f"{where}: default: '{knob.default}' is not {wrong}")
    if not knob.others(""):
        raise UsageError(f"{where}: values must hold one that is not the default")
    return knob


def knobs_of(rows: Sequence[Mapping[str, Any]], file: str) -> dict[str, Knob]:
    """By name, of rows that were checked, for one version. Raises UsageError if two of them have one name."""
    known: dict[str, Knob] = {}
    for knob in map(_knob, rows):
        if knob.name in known:
            raise UsageError(f"{file}: [[knob]] {knob.name}: two are for one version: mend their 'versions'")
        known[knob.name] = knob
    return known


def _knob(row: Mapping[str, Any]) -> Knob:
    how = next(key for key in _HOW if key in row)
    return Knob(
        name=row["name"],
        how=how,
        option=row[how],
        kind=row["kind"],
        values=tuple(map(str, row["values"])),
        restart=row["restart"],
        trades=row["trades"],
        governs=tuple(row["governs"]),
        unit=row.get("unit", ""),
        line=row.get("line", ""),
        default=row.get("default", ""),
    )


def _check_keys(row: Mapping[str, Any], where: str) -> None:
    known = (*_TEXTS, "values", "restart", "governs", *_HOW, *_MAY)
    for key in row:
        if key not in known:
            raise UsageError(f"{where} has no key '{key}'; known: {', '.join(known)}")
    for key in (*_TEXTS, "values", "restart", "governs"):
        if key not in row:
            raise UsageError(f"{where}: '{key}' is missing")
    for key in (*_TEXTS, *_HOW, *_MAY):
        if key in row and not (isinstance(row[key], str) and row[key].strip()):
            raise UsageError(f"{where}: {key} must be a text")
    if not isinstance(row["restart"], bool):
        raise UsageError(f"{where}: restart must be true or false")
    if row["kind"] not in (*_KINDS, _CHOICE):
        raise UsageError(f"{where}: kind = '{row['kind']}' must be one of {', '.join((*_KINDS, _CHOICE))}")
    if "versions" in row:
        parse_range(row["versions"], f"{where}: versions")
    check_list(row, "values", (str, int, float), "texts or numbers", where)
    check_list(row, "governs", (str,), "texts", where)


def check_list(row: Mapping[str, Any], key: str, kinds: tuple[type, ...], what: str, where: str) -> None:
    """Raises UsageError unless it has items of these kinds, and no others."""
    value = row[key]
    if not (isinstance(value, list) and value and all(type(item) in kinds for item in value)):
        raise UsageError(f"{where}: {key} must be a list of {what}, with one at least")


def _check_how(row: Mapping[str, Any], where: str, has_server: bool) -> None:
    given = [key for key in _HOW if key in row]
    if len(given) != 1:
        raise UsageError(f"{where}: give one of {', '.join(_HOW)}, which says how it is set")
    how, option = given[0], row[given[0]]
    if how == SERVER and not has_server:
        raise UsageError(f"{where}: server_option is for a [server]: give load_option")
    if _VALUE not in option or (how == ENVIRONMENT and "=" not in option):
        example = "NAME={value}" if how == ENVIRONMENT else "--option={value}"
        raise UsageError(f"{where}: {how} must hold {{value}}, as in '{example}'")
