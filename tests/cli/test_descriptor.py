"""Descriptors: what is accepted, and the one line a mistake gets."""

import json
from pathlib import Path

import pytest

from vprof.errors import UsageError
from vprof.installed import target_file, target_names
from vprof.target import descriptor as descriptors
from vprof.target.fetch import Fetched
from vprof.trace.marks import GIVEN_UP, Retry

GOOD = """
name = "toy"
roots = ["serve"]
probe = ["lock_*"]
exclude = ["hash_*"]
[source]
kind = "tree"
path = "src"
[build]
steps = ["make CC={cc} OUT={build}"]
programs = ["toy"]
[run]
command = "{build}/toy"
[[interval]]
event = "begin"
function = "txn_begin"
id = "txn->id"
[[sync]]
role = "release"
function = "latch_set"
object = "latch"
"""


def write(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir(exist_ok=True)
    file = folder / "target.toml"
    file.write_text(text)
    return file


def test_entries_reach_the_rewriter_unchanged(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, GOOD))
    raw = json.loads(descriptor.rewriter_json())
    assert raw["interval"] == [{"event": "begin", "function": "txn_begin", "id": "txn->id"}]
    assert raw["sync"] == [{"role": "release", "function": "latch_set", "object": "latch"}]
    assert raw["probe"] == ["lock_*", "serve"]
    assert raw["exclude"] == ["hash_*"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('event = "begin"', 'event = "start"'), "event = 'start' must be one of begin, end, abort, on_behalf"),
        (
            ('event = "begin"', 'event = "abort"\ntype = "txn->name"'),
            "number 1: type is only for event = begin and end",
        ),
        (('id = "txn->id"', ""), "[[interval]] number 1: 'id' is missing"),
        (("[[interval]]", "[interval]"), "write [[interval]], with two brackets"),
        (("[[sync]]", "[[synch]]"), "unknown key 'synch', did you mean 'sync'?"),
        (('name = "toy"', 'name = "other"'), "is not the folder's name 'toy'"),
        (('roots = ["serve"]', 'roots = "serve"'), "roots must be a list of strings"),
        (('roots = ["serve"]', 'include = ["nothing"]'), "there is no nothing.toml in annotations/"),
        (('path = "src"', 'pfad = "src"'), "[source] has no key 'pfad'"),
        (('name = "toy"', "name = "), "not valid TOML"),
        (('role = "release"', 'role = "wait"'), "[[sync]] number 1: 'call' is missing"),
        (('object = "latch"', 'object = "latch"\nname = "latch->name"'), "name is only for role = acquire and wait"),
        (
            ('role = "release"', 'role = "acquire"\nname = "latch->name"'),
            "[[sync]] number 1: name needs 'call', the call that waits",
        ),
        (
            ('role = "release"', 'role = "wait"\ncall = "futex_wait"\nname = "latch->name"'),
            "[[sync]] number 1: unknown key 'object'",
        ),
    ],
)
def test_a_mistake_is_one_line_with_its_place(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(UsageError) as error:
        descriptors.load(file)
    assert message in str(error.value)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


SERVED = GOOD.replace(
    '[run]\ncommand = "{build}/toy"',
    """[server]
user = "nobody"
environment = { TOYHOST = "{server}" }
setup = ["{install}/toy-init {server}"]
start = "{install}/toyd"
ready = "{install}/toy-ping"
stop = "{install}/toy-stop"
[load]
command = "{install}/toy-load {seconds} {clients}"
clients = 4""",
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("[load]", "[load]\nclient = 1"), "[load] has no key 'client'"),
        (('ready = "{install}/toy-ping"', ""), "[server] 'ready' is missing"),
        (('"{install}/toyd"', "7"), "[server] start must be a string"),
        (('["{install}/toy-init {server}"]', "[7]"), "[server] setup must be a list of strings"),
        (('"{server}" }', "7 }"), "[server] environment must be a table of strings"),
        (("[load]", "[run]"), "[run] has no key 'clients'"),
        (("[[interval]]", '[run]\ncommand = "x"\n[[interval]]'), "give either [run], or [server] and [load]"),
        (('kind = "tree"', 'kind = "git"'), "[source] kind = 'git' must be one of tree, debian"),
        (('kind = "tree"', 'kind = "debian"'), "[source] path is not for kind = 'debian'"),
        (('path = "src"', ""), "[source] 'path' is missing"),
    ],
)
def test_a_mistake_about_a_server_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    file = write(tmp_path, SERVED.replace(*change))
    with pytest.raises(UsageError) as error:
        descriptors.load(file)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_server_and_its_load(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, SERVED))
    assert descriptor.server["user"] == "nobody"
    assert descriptor.load["clients"] == 4
    assert not descriptor.run


def test_an_entry_that_matches_nothing_names_near_misses(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, GOOD))
    lines = descriptors.unmatched(descriptor, {"interval/0"}, program("serve", "latch_sets", "txn_begin"))
    assert len(lines) == 1
    assert "no function 'latch_set' is defined; near misses: latch_sets" in lines[0]


def test_a_root_that_does_not_exist_is_reported(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, GOOD))
    lines = descriptors.unmatched(descriptor, {"interval/0", "sync/0"}, program("server", "txn_begin"))
    assert lines == [f"{descriptor.file}: roots: no function 'serve' is defined; near misses: server"]


def program(*functions: str, **callees: str) -> dict[str, set[str]]:
    """Functions that call nothing, and functions that call one."""
    return {name: set() for name in functions} | {name: {callee} for name, callee in callees.items()}


AT_CALL = (
    GOOD
    + """
[[queue]]
role = "dequeue"
function = ["worker_main", "Worker::main(int)"]
call = "queue_pop"
task = "return"
"""
)


def test_an_entry_at_a_call_reaches_the_rewriter_unchanged(tmp_path: Path) -> None:
    [entry] = json.loads(descriptors.load(write(tmp_path, AT_CALL)).rewriter_json())["queue"]
    assert entry["function"] == ["worker_main", "Worker::main(int)"]
    assert entry["call"] == "queue_pop"


@pytest.mark.parametrize(
    ("functions", "complaint"),
    [
        (
            program("worker_man", "idle"),
            "no function 'worker_main' or 'Worker::main(int)' is defined; near misses: worker_man",
        ),
        (
            program(worker_main="queue_pops"),
            "no call of 'queue_pop' is written in 'worker_main'; near misses: queue_pops",
        ),
        (program(**{"Worker::main": "other"}), "no call of 'queue_pop' is written in 'Worker::main'"),
    ],
    ids=["function", "call", "overload"],
)
def test_an_entry_at_a_call_that_matches_nothing_says_which_name_is_wrong(
    tmp_path: Path, functions: dict[str, set[str]], complaint: str
) -> None:
    descriptor = descriptors.load(write(tmp_path, AT_CALL))
    lines = descriptors.unmatched(descriptor, {"interval/0", "sync/0"}, {**program("serve"), **functions})
    assert lines == [f"{descriptor.file}: [[queue]] {complaint}"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('call = "queue_pop"', 'call = "queue_pop"\nat = "exit"'),
            "at = 'exit' must be one of before call, after call",
        ),
        (('call = "queue_pop"', 'at = "after call"'), "at = 'after call' needs 'call', the function that is called"),
        (('call = "queue_pop"', 'at = "call"'), "at = 'call' must be one of entry, exit"),
        (('call = "queue_pop"', "call = []"), "call must be a non-empty string or a list of them"),
        (
            ('["worker_main", "Worker::main(int)"]', '["worker_main", 1]'),
            "function must be a non-empty string or a list",
        ),
        (('task = "return"', 'task = ["return"]'), "task must be a non-empty string"),
        (
            ('object = "latch"', 'object = "latch"\ncall = "f"\nat = "before call"'),
            "[[sync]] number 1: unknown key 'at'",
        ),
        (('task = "return"', 'task = "return"\nversions = "8.x"'), "versions = '8.x' is not a range such as"),
        (
            ('task = "return"', 'task = "return"\nversions = ">=8"'),
            "versions needs the program's version: [source] version",
        ),
    ],
)
def test_a_mistake_about_an_entry_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        descriptors.load(write(tmp_path, AT_CALL.replace(*change)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


CREATED = GOOD.replace('id = "txn->id"', 'id = "txn->id"\ncreated_at = "txn->made"\nclock = "CLOCK_MONOTONIC"')


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('\nclock = "CLOCK_MONOTONIC"', ""), "[[interval]] number 1: created_at needs 'clock'"),
        (('created_at = "txn->made"', ""), "clock needs 'created_at'"),
        (('"CLOCK_MONOTONIC"', '"CLOCK_TAI"'), "clock = 'CLOCK_TAI' must be one of CLOCK_REALTIME, CLOCK_MONOTONIC"),
        (('event = "begin"', 'event = "end"'), "created_at is only for event = begin"),
        (('event = "begin"', 'event = "on_behalf"'), "created_at is only for event = begin"),
    ],
)
def test_a_mistake_about_a_time_of_creation_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    descriptors.load(write(tmp_path, CREATED))
    with pytest.raises(UsageError) as error:
        descriptors.load(write(tmp_path, CREATED.replace(*change)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


ABORT = '[[interval]]\nevent = "abort"\nfunction = "serve"\nid = "txn->id"\n'
RETRY = GOOD + ABORT + "retry = true\nretry_within = 0.25\n"


def test_what_clients_repeat_is_for_the_trace_and_not_for_the_rewriter(tmp_path: Path) -> None:
    """Nothing of the program changes by it, so nothing has to be built anew."""
    without, with_it = (descriptors.load(write(tmp_path, text)) for text in (GOOD + ABORT, RETRY))
    assert (without.retry, with_it.retry) == (None, Retry(250_000_000))
    assert without.rewriter_json() == with_it.rewriter_json()
    by_thread = descriptors.load(write(tmp_path, GOOD + ABORT + 'retry = "thread"\n'))
    assert by_thread.retry == Retry(1_000_000_000, by_thread=True)
    assert descriptors.load(write(tmp_path, GOOD + ABORT + "retry = false\n")).retry is None


def test_of_two_kinds_of_abort_the_rewriter_marks_what_is_not_repeated(tmp_path: Path) -> None:
    """The trace tells them apart by the type of the end."""
    given_up = ABORT.replace("txn->id", "txn->left")
    alone = descriptors.load(write(tmp_path, GOOD + given_up))
    assert json.loads(alone.rewriter_json())["interval"][1]["event"] == "abort"
    for no in ("", "retry = false\n"):
        both = descriptors.load(write(tmp_path, RETRY + given_up + no))
        assert both.retry == Retry(250_000_000)
        undone, left = json.loads(both.rewriter_json())["interval"][1:]
        assert undone == {"event": "abort", "function": "serve", "id": "txn->id"}
        assert left == {"event": "end", "function": "serve", "id": "txn->left", "type": f'"{GIVEN_UP}"'}


def test_of_another_kind_of_interval_nothing_is_repeated(tmp_path: Path) -> None:
    descriptor = descriptors.load(write(tmp_path, RETRY + 'kind = "statement"\n'))
    assert descriptor.retry is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('event = "abort"', 'event = "end"'), "number 2: retry is only for event = abort"),
        (
            ("retry = true", 'retry = "always"'),
            "number 2: retry must be true (the id names the connection) or 'thread'",
        ),
        (("retry = true\n", ""), "number 2: retry must be true"),
        (("0.25", "0"), "number 2: retry_within must be a number of seconds, up to 3600"),
        (("0.25", "true"), "number 2: retry_within must be a number of seconds"),
        (
            ("0.25\n", "0.25\n" + ABORT + "retry = true\n"),
            "retry: a trace has one for all aborts, and these entries differ",
        ),
    ],
)
def test_a_mistake_about_what_clients_repeat_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        descriptors.load(write(tmp_path, RETRY.replace(*change)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def with_version(text: str, version: str) -> str:
    return text.replace('path = "src"', f'path = "src"\nversion = "{version}"')


def test_a_version_that_is_none_cannot_be_compared(tmp_path: Path) -> None:
    text = with_version(GOOD.replace('object = "latch"', 'object = "latch"\nversions = ">=8"'), "trunk")
    with pytest.raises(
        UsageError, match=r"\[\[sync\]\]: versions cannot be compared with \[source\] version = 'trunk'"
    ):
        descriptors.load(write(tmp_path, text))


@pytest.mark.parametrize(
    ("version", "functions"),
    [
        ("8.0.36", ["wait_old"]),
        ("8.3.99-1~deb12u1", ["wait_old"]),
        ("1:8.4~rc1+dfsg-2", ["wait_new"]),
        ("8.4.0", ["wait_new"]),
        ("9.7.2-4", ["wait_new"]),
        ("7.9", []),
    ],
)
def test_entries_for_other_versions_are_left_out(tmp_path: Path, version: str, functions: list[str]) -> None:
    entries = [("wait_old", ">=8.0,<8.4.0rc1"), ("wait_new", ">=8.4.0rc1")]
    text = GOOD + "".join(
        f'[[sync]]\nrole = "acquire"\nfunction = "{function}"\nobject = "l"\nversions = "{versions}"\n'
        for function, versions in entries
    )
    descriptor = descriptors.load(write(tmp_path, with_version(text, version)))
    handed = json.loads(descriptor.rewriter_json())["sync"]
    assert [entry["function"] for entry in handed] == ["latch_set", *functions]
    left_out = [entry["function"] for entry in descriptor.left_out["sync"]]
    assert sorted(left_out + functions) == ["wait_new", "wait_old"]
    nobody = descriptors.unmatched(descriptor, {"interval/0", "sync/0"}, program("serve"))
    assert [line.split("'")[1] for line in nobody] == functions


RANGED = GOOD.replace(
    'kind = "tree"\npath = "src"', 'kind = "debian"\npackage = "server"\nversion = ">=8,<9"'
) + "".join(
    f'[[sync]]\nrole = "acquire"\nfunction = "wait_{name}"\nobject = "l"\nversions = "{versions}"\n'
    for name, versions in (("old", "<8.4"), ("new", ">=8.4"))
)


@pytest.mark.parametrize(
    ("fetched", "version", "functions"),
    [
        (None, "8", ["wait_old"]),
        (Fetched("server", "8.3-1"), "8.3-1", ["wait_old"]),
        (Fetched("server", "8.4-1~deb12u1"), "8.4-1~deb12u1", ["wait_new"]),
        (Fetched("server", "9.0-1"), "8", ["wait_old"]),  # of an older descriptor: it will be fetched anew
        (Fetched("another", "8.4-1"), "8", ["wait_old"]),
    ],
)
def test_of_a_range_the_fetched_version_counts_else_its_lower_end(
    tmp_path: Path, fetched: Fetched | None, version: str, functions: list[str]
) -> None:
    descriptor = descriptors.load(write(tmp_path, RANGED), fetched=fetched)
    assert (descriptor.source["version"], descriptor.wanted) == (version, ">=8,<9")
    assert [entry["function"] for entry in descriptor.entries["sync"]] == ["latch_set", *functions]


@pytest.mark.parametrize(
    ("wanted", "message"), [("<9", "has no lower end: write a range such as"), (">=x", "is not a range such as")]
)
def test_a_range_that_cannot_be_used_is_one_line(tmp_path: Path, wanted: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        descriptors.load(write(tmp_path, RANGED.replace(">=8,<9", wanted)))
    assert str(error.value).count(f"[source] version = '{wanted}' {message}") == 1
    assert "\n" not in str(error.value)


def test_a_folder_of_the_user_is_not_taken_for_a_target_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minidb").mkdir()
    (tmp_path / "minidb" / "target.toml").write_text("")
    assert target_file("./minidb").resolve() == tmp_path / "minidb" / "target.toml"
    assert target_file("minidb").resolve() != tmp_path / "minidb" / "target.toml"


@pytest.mark.parametrize("name", target_names())
def test_every_target_of_the_house_loads(name: str) -> None:
    descriptor = descriptors.load(target_file(name))
    assert descriptor.name == name
    assert descriptor.roots
    assert descriptor.summary


LOCKS = (
    GOOD
    + """
[[lock]]
event = "request"
function = "acquire"
object = "row + 1"
mode = "X"
[[lock]]
event = "grant"
function = "hand_over"
call = "wake"
at = "before call"
object = "waiter->row"
owner = "waiter->txn->id"
[[lock]]
event = "release_all"
function = "commit"
"""
)


def test_steps_of_locks_reach_the_rewriter_unchanged(tmp_path: Path) -> None:
    raw = json.loads(descriptors.load(write(tmp_path, LOCKS)).rewriter_json())
    assert raw["lock"] == [
        {"event": "request", "function": "acquire", "object": "row + 1", "mode": "X"},
        {
            "event": "grant",
            "function": "hand_over",
            "call": "wake",
            "at": "before call",
            "object": "waiter->row",
            "owner": "waiter->txn->id",
        },
        {"event": "release_all", "function": "commit"},
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('mode = "X"\n', ""), "[[lock]] number 1: 'mode' is missing"),
        (('object = "row + 1"\n', ""), "[[lock]] number 1: 'object' is missing"),
        (('event = "grant"', 'event = "wait"'), "event = 'wait' must be one of request, grant, release, release_all"),
        (('event = "grant"', 'event = "release"\nmode = "S"'), "mode is only for event = request and grant"),
        (('owner = "waiter->txn->id"', "owner = 3"), "[[lock]] number 2: owner must be a non-empty string"),
        (('owner = "waiter', 'type = "waiter'), "[[lock]] number 2: unknown key 'type'"),
    ],
)
def test_a_mistake_about_a_lock_is_one_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        descriptors.load(write(tmp_path, LOCKS.replace(*change)))
    assert message in str(error.value) and "\n" not in str(error.value)
