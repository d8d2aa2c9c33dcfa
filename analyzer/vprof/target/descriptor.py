"""Target descriptors: TOML -> a checked `Descriptor`, and the JSON that the rewriter reads.

The schema is annotations/README.md. Every mistake is a one-line UsageError that names the file, the table and the mend.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vprof.errors import UsageError
from vprof.installed import annotation_file
from vprof.tables.kinds import MEANINGS
from vprof.target import cures, entries, knobs, repeats, shell, variants
from vprof.target.build_choices import BuildChoices
from vprof.target.cures import Cure
from vprof.target.entries import Entry
from vprof.target.fetch import Fetched
from vprof.target.knobs import Knob
from vprof.target.versions import admits, floor, is_range
from vprof.trace.marks import Retry

_LISTS = ("roots", "include", "probe", "exclude", "ignore_for_height")
_TABLES: dict[str, dict[str, type]] = {
    "source": {"kind": str, "path": str, "package": str, "version": str},
    "build": {"needs": list, "steps": list, "programs": list},
    "run": {"command": str},
    "server": {"user": str, "environment": dict, "setup": list, "start": str, "ready": str, "stop": str},
    "load": {"setup": list, "command": str, "clients": int},
    "workloads": {"on": str, "socket": str, "user": str, "database": str, "setup": list},
}
_REQUIRED = {
    "build": ("programs",),
    "run": ("command",),
    "server": ("start", "ready"),
    "load": ("command",),
    "workloads": ("on", "socket"),
}
_SOURCES = {"tree": ("path",), "debian": ("package", "version")}
"""Kinds of source, each with the keys it must have."""
_SOURCES_MAY = {"tree": ("version",), "debian": ()}
"""Kinds of source, each with further keys."""
_COMMANDS = ("steps", "command", "setup", "start", "ready", "stop")
"""Keys of these tables that hold commands, or lists of them."""
_FREE = ("demo",)
"""Tables for other readers (the demo and its tests); kept as they are."""
_OTHERS = ("name", "summary", "primitive", "external", "knob", "cure", "variant")


@dataclass(frozen=True)
class Descriptor:
    """A checked descriptor. `entries[table]` are the rewriting entries, shared annotations first.

    Entries for other versions of the program than `[source] version`, and intervals of other kinds than the chosen one,
    are in `left_out[table]` and nowhere else. `knobs`: what may be set, by name, the switches of chosen cures included.
    `cures`: those that there are, by name; `chosen_cures`: those that the source gets. `wanted` is what the descriptor
    says of the version of a Debian package; `[source] version` is the one that was fetched, and until then the lowest
    that is wanted.
    """

    name: str
    file: Path
    summary: str
    roots: list[str]
    probe: list[str]
    exclude: list[str]
    ignore_for_height: list[str]
    source: dict[str, Any]
    build: dict[str, Any]
    run: dict[str, Any]
    server: dict[str, Any]
    load: dict[str, Any]
    workloads: dict[str, Any]
    entries: dict[str, list[Entry]]
    left_out: dict[str, list[Entry]]
    knobs: dict[str, Knob] = field(default_factory=dict)
    cures: dict[str, Cure] = field(default_factory=dict)
    chosen_cures: list[Cure] = field(default_factory=list)
    free: dict[str, Any] = field(default_factory=dict)
    wanted: str = ""

    def rewriter_json(self, only: frozenset[str] | None = None) -> str:
        """The text of VPROF_DESCRIPTOR: entries and name lists, no expressions touched. `only`: no other functions get
        probes.

        Positions in the metadata's `matched` are those in `entries`.
        """
        lists = {
            "probe": [*self.probe, *self.roots],  # a drill-down starts at the roots, however small they are
            "exclude": self.exclude,
            "ignore_for_height": self.ignore_for_height,
        }
        planned = {} if only is None else {"only": sorted(only)}
        repeated = self.retry is not None
        tables = {
            table: [repeats.for_rewriter(entry, repeated) for entry in rows] for table, rows in self.entries.items()
        }
        return json.dumps({**tables, **lists, **planned}, indent=1)

    @property
    def absent_cures(self) -> list[Cure]:
        """Those that the source does not get."""
        return [cure for cure in self.cures.values() if cure not in self.chosen_cures]

    @property
    def retry(self) -> Retry | None:
        """How clients repeat what was aborted, if they do. Raises UsageError if entries differ."""
        return repeats.retry_of(self.entries["interval"], str(self.file))


def load(file: Path, choices: BuildChoices | None = None, fetched: Fetched | None = None) -> Descriptor:
    """Reads and checks a descriptor with its includes, for the user's tree and kind of interval, or for the source
    package that was fetched. Raises UsageError."""
    choices = choices or BuildChoices()
    raw = _read(file)
    _check_tables(raw, file)
    source = _resolved(choices.user.source if choices.user else raw.get("source", {}), fetched, file)
    version = source.get("version")
    raw = variants.applied(raw, version, file)
    name = raw.get("name")
    if name != file.resolve().parent.name:
        raise UsageError(f"{file}: name = {name!r} is not the folder's name '{file.resolve().parent.name}'")
    parts = [_included(include, file) for include in raw.get("include", [])] + [raw]
    chosen, left_out = _chosen(parts, version, choices.interval, file)
    lists = {key: [item for part in parts for item in part.get(key, [])] for key in _LISTS}
    repeats.retry_of(chosen["interval"], str(file))
    known_cures = cures.load(raw.get("cure", []), file, "server" in raw)
    chosen_cures = cures.chosen(choices.cures, known_cures, file)
    for cure in chosen_cures:
        if not for_version(cure, version, file):
            raise UsageError(f"cure {cure.name} is not for {version}: versions {cure.versions}")
    return Descriptor(
        name=str(name),
        file=file,
        summary=str(raw.get("summary", "")),
        roots=lists["roots"],
        probe=lists["probe"],
        exclude=lists["exclude"],
        ignore_for_height=lists["ignore_for_height"],
        source=source,
        build=raw.get("build", {}) | (choices.user.steps if choices.user else {}),
        run=raw.get("run", {}),
        server=raw.get("server", {}),
        load=raw.get("load", {}),
        workloads=raw.get("workloads", {}),
        entries=chosen,
        left_out=left_out,
        knobs=_knobs(raw, chosen_cures, version, file),
        cures=known_cures,
        chosen_cures=chosen_cures,
        free={key: raw[key] for key in _FREE if key in raw},
        wanted="" if choices.user else raw.get("source", {}).get("version", ""),
    )


def for_version(cure: Cure, version: str | None, file: Path) -> bool:
    """Raises UsageError if that depends on the version, and nobody said it."""
    return not cure.versions or entries.applies({"versions": cure.versions}, version, f"{file}: [[cure]] {cure.name}")


def _knobs(raw: dict[str, Any], chosen_cures: list[Cure], version: str | None, file: Path) -> dict[str, Knob]:
    """Those of the descriptor that the version has, and what switches the cures."""
    rows = [row for row in raw.get("knob", []) if entries.applies(row, version, f"{file}: [[knob]] {row['name']}")]
    known = knobs.knobs_of(rows, str(file))
    for cure in chosen_cures:
        if cure.switch:
            if cure.switch.name in known:
                raise UsageError(f"{file}: [[cure]] {cure.name}: switch: there is another knob '{cure.switch.name}'")
            known[cure.switch.name] = cure.switch
    return known


def _resolved(source: dict[str, Any], fetched: Fetched | None, file: Path) -> dict[str, Any]:
    """[source] with one version in place of a range: that which was fetched, else the lowest."""
    wanted = source.get("version", "")
    if source.get("kind") != "debian" or not is_range(wanted):
        return source
    lowest = floor(wanted, f"{file}: [source] version")
    known = fetched and fetched.package == source["package"] and admits(wanted, fetched.version)
    return {**source, "version": fetched.version if fetched and known else lowest}


def unmatched(descriptor: Descriptor, matched: set[str], callees: Mapping[str, set[str]]) -> list[str]:
    """One line for each entry that no unit of the program applied, with near misses, and for each root that is none.

    `matched` holds "table/position" as in the unit metadata, `callees` the program's functions and what each calls.
    """
    lines = [
        f"{descriptor.file}: [[{table}]] {entries.complaint(entry, callees)}"
        for table, rows in descriptor.entries.items()
        for position, entry in enumerate(rows)
        if f"{table}/{position}" not in matched
    ]
    for root in descriptor.roots:
        if root not in callees:
            near = entries.near_misses([root], callees)
            lines.append(f"{descriptor.file}: roots: no function '{root}' is defined{near}")
    return lines


def ungoverned(descriptor: Descriptor, callees: Mapping[str, set[str]]) -> list[str]:
    """One line, with near misses, for each name in `governs` of a knob or cure that the program neither defines nor
    calls, and that is no node of reports."""
    called = set[str]().union(*callees.values())
    known = {*callees, *called, *MEANINGS}
    return [
        f"{descriptor.file}: [[{table}]] {one}: no function or node '{name}'{entries.near_misses([name], known)}"
        for table, one, governs in governing(descriptor)
        for name in governs
        if name not in known
    ]


def governing(descriptor: Descriptor) -> list[tuple[str, str, tuple[str, ...]]]:
    """The table and name of each knob, and of each cure for this version, with what it governs. A switch's is its
    cure's."""
    version = descriptor.source.get("version")
    switches = [cure.switch for cure in descriptor.chosen_cures]
    own = [knob for knob in descriptor.knobs.values() if knob not in switches]
    applicable = [cure for cure in descriptor.cures.values() if for_version(cure, version, descriptor.file)]
    return [
        *(("knob", knob.name, knob.governs) for knob in own),
        *(("cure", cure.name, cure.governs) for cure in applicable),
    ]


def _chosen(
    parts: list[dict[str, Any]], version: str | None, interval: str | None, file: Path
) -> tuple[dict[str, list[Entry]], dict[str, list[Entry]]]:
    """The entries of each table that are for the version and of the kind of interval, and those that are not."""
    kinds = {entry["kind"] for part in parts for entry in part.get("interval", []) if "kind" in entry}
    if interval is not None and interval not in kinds:
        known = f"known: {', '.join(sorted(kinds))}" if kinds else "there is only the usual one"
        raise UsageError(f"{file}: no [[interval]] has kind = '{interval}'; {known}")
    chosen: dict[str, list[Entry]] = {table: [] for table in entries.TABLES}
    left_out: dict[str, list[Entry]] = {table: [] for table in entries.TABLES}
    for table in entries.TABLES:
        for entry in (entry for part in parts for entry in part.get(table, [])):
            usable = entries.of_kind(table, entry, interval) and entries.applies(entry, version, f"{file}: [[{table}]]")
            side = chosen if usable else left_out
            side[table].append(entry)
    return chosen, left_out


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file}: not valid TOML: {error}") from None
    except RecursionError:
        raise UsageError(f"{file}: not a descriptor: nested too deeply") from None
    except UnicodeDecodeError:
        raise UsageError(f"{file}: not UTF-8 text") from None


def _included(name: str, user: Path) -> dict[str, Any]:
    file = annotation_file(name)
    if not file.is_file():
        raise UsageError(f"{user}: include = ['{name}']: there is no {file.name} in annotations/")
    raw = _read(file)
    _check_tables(raw, file)
    return raw


def _check_tables(raw: dict[str, Any], file: Path) -> None:
    known = [*entries.TABLES, *_LISTS, *_TABLES, *_FREE, *_OTHERS]
    for key, value in raw.items():
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f", did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"{file}: unknown key '{key}'{hint}")
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            raise UsageError(f"{file}: {key} must be a list of strings")
        if key in entries.TABLES:
            entries.check(key, value, str(file))
        if key in _TABLES:
            _check_table(key, value, file)
    if "knob" in raw:
        knobs.check(raw["knob"], str(file), "server" in raw)
    if "variant" in raw:
        variants.check(raw["variant"], raw, file, lambda table, value: _check_table(table, value, file))
    if ("server" in raw) != ("load" in raw) or ("server" in raw and "run" in raw):
        raise UsageError(f"{file}: give either [run], or [server] and [load]")
    if "workloads" in raw and "server" not in raw:
        raise UsageError(f"{file}: [workloads] is for a [server]")


def _check_table(table: str, value: Any, file: Path) -> None:
    if not isinstance(value, dict):
        raise UsageError(f"{file}: write [{table}], with one bracket")
    for key, item in value.items():
        kind = _TABLES[table].get(key)
        if kind is None:
            raise UsageError(f"{file}: [{table}] has no key '{key}'; known: {', '.join(_TABLES[table])}")
        where = f"{file}: [{table}] {key}"
        _check_value(where, item, kind)
        if key in _COMMANDS:
            _check_commands(where, item)
    for key in _required(table, value, file):
        if key not in value:
            raise UsageError(f"{file}: [{table}] '{key}' is missing")


def _check_commands(where: str, item: str | list[str]) -> None:
    """No shell reads them: none may need one."""
    if isinstance(item, str):
        shell.check(item, where)
        return
    for number, step in enumerate(item, 1):
        shell.check(step, f"{where} number {number}")


def _required(table: str, value: dict[str, Any], file: Path) -> tuple[str, ...]:
    if table != "source":
        return _REQUIRED[table]
    kind = value.get("kind")
    if kind not in _SOURCES:
        raise UsageError(f"{file}: [source] kind = {kind!r} must be one of {', '.join(_SOURCES)}")
    for key in value.keys() - {"kind", *_SOURCES[kind], *_SOURCES_MAY[kind]}:
        raise UsageError(f"{file}: [source] {key} is not for kind = '{kind}'")
    return _SOURCES[kind]


def _check_value(where: str, item: Any, kind: type) -> None:
    """Lists and tables hold strings."""
    inside = item if isinstance(item, list) else item.values() if isinstance(item, dict) else ()
    if not isinstance(item, kind) or not all(isinstance(part, str) for part in inside):
        names = {str: "a string", int: "a number", list: "a list of strings", dict: "a table of strings"}
        raise UsageError(f"{where} must be {names[kind]}")
