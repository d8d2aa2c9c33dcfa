"""Plans: which sites to switch on, by function names and globs; and the numbers those names have in a session."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from vprof.errors import UsageError
from vprof.program.elf import read_program
from vprof.tables.naming import Names, placed, without_place

SCHEMA = "vprof-plan/1"


@dataclass(frozen=True)
class Plan:
    """Function names and globs (`*`, `?`, `[...]`, case-sensitive); a site is on if its function matches one.

    `name (file.cc:12)`, as reports print functions that share a name, is the one of them that is there.
    """

    patterns: frozenset[str]

    @classmethod
    def of(cls, patterns: Iterable[str]) -> Plan:
        return cls(frozenset(patterns))

    @classmethod
    def parse(cls, text: str) -> Plan:
        """From what a user gave: `all`, a plan file, or names and globs with commas between. Raises UsageError."""
        if text == "all":
            return cls.of(["*"])
        # Path.is_file raises for what is longer than a name of a file may be: a list of C++ names soon is.
        if os.path.isfile(text):  # noqa: PTH113
            return cls.read(Path(text))
        patterns = [part.strip() for part in text.split(",") if part.strip()]
        if not patterns:
            raise UsageError("no sites named: give `all`, names or globs with commas between, or a plan file")
        return cls.of(patterns)

    @classmethod
    def read(cls, file: Path) -> Plan:
        """From a plan file. Raises UsageError."""
        try:
            raw = json.loads(file.read_text(encoding="utf-8"))
            functions = raw["functions"] if raw["schema"] == SCHEMA else None
        except OSError as error:
            raise UsageError(f"cannot read {file}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            functions = None
        if not isinstance(functions, list) or not all(isinstance(name, str) for name in functions):
            raise UsageError(f'{file}: not a plan: {{"schema": "{SCHEMA}", "functions": ["name", ...]}} is expected')
        return cls.of(functions)


class Switched:
    """Patterns switched on and off one after the other: for each function the last that matches it decides.

    It grows with the number of different patterns, not with that of switchings.
    """

    def __init__(self, rules: Mapping[str, bool] | None = None) -> None:
        self.rules = dict(rules or {})

    @classmethod
    def of(cls, plan: Plan, on: bool = True) -> Switched:
        return cls(dict.fromkeys(sorted(plan.patterns), on))

    def then(self, later: Switched) -> Switched:
        """These, then the later ones on top."""
        return Switched({p: on for p, on in self.rules.items() if p not in later.rules} | later.rules)

    def choose(self, names: Iterable[str]) -> set[str]:
        """Those of the names, perhaps with places, that are on at the end."""
        known, found = Names(names), set[str]()
        for pattern, on in self.rules.items():
            matching = set(known.matching(pattern))
            found = found | matching if on else found - matching
        return found


class SiteIndex:
    """The sites of the modules of one session: names to site numbers (runtime/TRACE_FORMAT.md section 3)."""

    def __init__(self) -> None:
        self._numbers: dict[int, dict[str, list[int]]] = {}
        self._paths: dict[int, str] = {}
        self._no_site: dict[str, str] = {}

    def add(self, module: dict[str, Any]) -> None:
        """Takes in a mapped module, as the reply to `modules` describes it."""
        names: dict[str, list[int]] = defaultdict(list)
        shift = module["base"] - module["section_addr"]
        for unit in read_program(Path(module["path"])):
            for function in unit.functions:
                if function.site is not None:
                    name = placed(function.name, f"{function.file}:{function.line}")
                    names[name].append(unit.switch_addr + function.site + shift)
                elif function.no_site:
                    self._no_site[function.name] = function.no_site
        self._numbers[module["index"]] = names
        self._paths[module["index"]] = module["path"]

    def numbers(self, plan: Plan, module: int | None = None) -> list[int]:
        """Sorted site numbers of the plan in one module, or in all."""
        chosen = self._numbers.values() if module is None else [self._numbers[module]]
        return sorted(number for names in chosen for name in _matching(plan.patterns, names) for number in names[name])

    def switched(self, switched: Switched, module: int) -> list[int]:
        """Sorted site numbers of one module that are on at the end."""
        names = self._numbers[module]
        return sorted(number for name in switched.choose(names) for number in names[name])

    def sites(self) -> Iterator[tuple[str, str, list[int]]]:
        """(function, path of its module, its site numbers there), sorted."""
        rows: dict[tuple[str, str], list[int]] = defaultdict(list)
        for module, names in self._numbers.items():
            for name, numbers in names.items():
                rows[without_place(name), self._paths[module]] += numbers
        return iter(sorted((name, path, numbers) for (name, path), numbers in rows.items()))

    def functions(self) -> set[str]:
        return {without_place(name) for names in self._numbers.values() for name in names}

    def unmatched(self, plan: Plan) -> list[str]:
        """One line for each pattern that names no site: why the function has none, or near misses."""
        known = Names(name for names in self._numbers.values() for name in names)
        lines = []
        for pattern in sorted(plan.patterns):
            if any(known.matching(pattern)):
                continue
            if reason := self._no_site.get(pattern):
                mend = f'; build it with a descriptor that has probe = ["{pattern}"]' if reason == "small" else ""
                lines.append(f"'{pattern}' has no probe ({reason}){mend}")
            else:
                near = get_close_matches(pattern, self.functions(), n=3)
                lines.append(f"no site matches '{pattern}'" + (f"; near misses: {', '.join(near)}" if near else ""))
        return lines


def _matching(patterns: Iterable[str], names: Iterable[str]) -> set[str]:
    known = Names(names)
    return {name for pattern in patterns for name in known.matching(pattern)}
