"""What ran, in words: the command, the machine, when and under what load, what compiled the program, which vprof."""

from __future__ import annotations

from datetime import UTC, datetime

from vprof.tables.model import Recorded

_STARTUP = "GCC: "


def rows(recorded: list[Recorded]) -> list[list[str]]:
    """(what, said) of all files together; what none says is left out."""
    return [[what, "; ".join(texts)] for what, texts in said(recorded).items()]


def said(recorded: list[Recorded]) -> dict[str, list[str]]:
    """What the files say, each text once; what none says is left out."""
    every = {
        "recorded by": [one.command for one in recorded],
        "machine": [machine(one) for one in recorded],
        "recorded at": [when(one) for one in recorded],
        "load": [f"{one.offered_rate:g} a second, answered or not" if one.offered_rate else "" for one in recorded],
        "compiled by": [compilers(one) for one in recorded],
        "probes": [f"{one.before_bodies} before bodies" if one.before_bodies else "" for one in recorded],
        "recorded with": [f"vprof {one.vprof}" if one.vprof else "" for one in recorded],
    }
    listed = {what: [text for text in dict.fromkeys(texts) if text] for what, texts in every.items()}
    return {what: texts for what, texts in listed.items() if texts}


def machine(one: Recorded) -> str:
    cpus = " x ".join(part for part in (str(one.cpus or ""), one.cpu or "CPU") if part) if one.cpus or one.cpu else ""
    return ", ".join(part for part in (one.host, cpus, one.kernel) if part)


def when(one: Recorded) -> str:
    if one.begun_ns is None:
        return ""
    begun = datetime.fromtimestamp(one.begun_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return begun if one.load is None else f"{begun}, load {one.load:.1f}"


def compilers(one: Recorded) -> str:
    """The program's own first: what the C library's startup files were compiled by is in every program."""
    return ", ".join(sorted(one.compilers, key=lambda text: text.startswith(_STARTUP)))
