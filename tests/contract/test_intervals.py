"""Semantic intervals: pairing across threads, labels, what is excluded and why, plan epochs, lost records."""

from __future__ import annotations

from pathlib import Path

from tuples import Load, Tuples
from writer import Thread, Writer, header

from vprof.path.critical_path import critical_paths
from vprof.tables.kinds import PIECE_NAMES
from vprof.tables.model import NONE
from vprof.trace.reading import load_binary


def whole(thread: Thread, id_: int, begin: int, end: int) -> None:
    thread.begin(id_, begin)
    thread.end(id_, end)


def test_an_interval_may_end_on_another_thread(load: Load) -> None:
    writer = Writer(end=500)
    writer.event("label", number=1, text="new_order")
    client, worker = writer.thread(1, ticks=0), writer.thread(2, ticks=0)
    client.begin(7, 100, label=1)
    client.on_behalf(0, 150)
    worker.on_behalf(7, 200)
    worker.end(7, 300)
    writer.anchors = [(0, 0), (400, 400)]
    tuples = Tuples(load(writer))
    assert tuples.intervals() == [("7", "new_order", (0, 100), (1, 300))]
    assert tuples.segments() == [
        (0, None, 0, 100, "exec"),
        (0, "7", 100, 150, "exec"),
        (0, None, 150, 500, "exec"),
        (1, None, 0, 200, "exec"),
        (1, "7", 200, 300, "exec"),
        (1, None, 300, 500, "exec"),
    ]


def test_every_on_behalf_starts_a_segment_even_with_the_same_label(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.begin(1, 10)
    thread.on_behalf(1, 20)
    thread.end(1, 30)
    assert Tuples(load(writer)).segments()[:2] == [(0, "1", 10, 20, "exec"), (0, "1", 20, 30, "exec")]


def test_an_id_may_be_used_again(load: Load) -> None:
    writer = Writer()
    first, second = writer.thread(1), writer.thread(2)
    whole(first, 5, 10, 20)
    whole(first, 5, 30, 50)
    second.on_behalf(5, 15)
    second.on_behalf(5, 40)
    tuples = Tuples(load(writer))
    assert tuples.intervals() == [("5", "", (0, 10), (0, 20)), ("5#2", "", (0, 30), (0, 50))]
    assert [row[1] for row in tuples.segments() if row[0] == 1] == ["5", "5#2"]


def test_intervals_are_sorted_by_begin_and_numbered_in_that_order(load: Load) -> None:
    writer = Writer()
    whole(writer.thread(1), 9, 50, 60)
    whole(writer.thread(2), 8, 10, 90)
    trace = load(writer)
    assert trace.interval_ids == ["8", "9"]
    assert list(trace.intervals.begin) == [10, 50]


def test_a_type_given_at_the_end_replaces_that_of_the_begin(load: Load) -> None:
    writer = Writer()
    for number, text in ((1, "read"), (2047, "write")):
        writer.event("label", number=number, text=text)
    thread = writer.thread(1)
    for id_, begun_as, ended_as in ((10, 1, 2047), (20, 1, 0), (30, 0, 1), (40, 2047, 2047)):
        thread.begin(id_, id_, label=begun_as)
        thread.end(id_, id_ + 5, label=ended_as)
    thread.begin(50, 50, label=1)
    thread.end(50, 55, aborted=True, label=2047)
    trace = load(writer)
    assert [row[1] for row in Tuples(trace).intervals()] == ["write", "read", "read", "write"]
    assert trace.excluded == {"aborted": 1}


def test_what_cannot_be_used_is_counted_by_reason(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.end(1, 10)
    thread.begin(2, 20)
    thread.end(2, 30, aborted=True)
    thread.begin(3, 40)
    thread.begin(3, 50)
    thread.end(3, 60)
    thread.begin(4, 70)
    trace = load(writer)
    assert Tuples(trace).intervals() == [("3#2", "", (0, 50), (0, 60))]
    assert trace.excluded == {"unfinished": 2, "aborted": 1, "begun before the recording": 1}


def test_labels_without_an_interval_of_the_file_have_numbers_after_it(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.on_behalf(77, 10)
    thread.on_behalf(88, 15)
    whole(thread, 1, 20, 30)
    trace = load(writer)
    assert trace.interval_ids == ["1", "77#0", "88#0"]
    assert Tuples(trace).segments()[:2] == [(0, "77#0", 10, 15, "exec"), (0, "88#0", 15, 20, "exec")]


def test_the_plan_epoch_with_most_intervals_is_the_trace(load: Load) -> None:
    writer = Writer(on=[[1, 1]])
    writer.event("flip", before=100, after=110, on=[[2, 1]], off=[[1, 1]])
    thread = writer.thread(1)
    thread.begin(1, 10)
    thread.invocation(1, 12, 15)
    thread.end(1, 20)
    thread.begin(2, 90)
    thread.end(2, 105)
    for start in (120, 140):
        thread.begin(start, start)
        thread.invocation(2, start + 2, start + 4)
        thread.end(start, start + 10)
    trace = load(writer)
    assert [row[0] for row in Tuples(trace).intervals()] == ["120", "140"]
    assert trace.excluded == {"overlaps a flip of the plan": 1, "another plan was on": 1}
    assert trace.program.functions[int(trace.program.on.argmax())] == "site 2"
    assert trace.program.on.sum() == 1
    assert {row[2] for row in Tuples(trace).calls()} == {"site 2"}
    assert (NONE, 100, 110, "overlaps a flip of the plan") in trace.spoiled


def test_flips_before_the_first_interval_cost_nothing(load: Load) -> None:
    writer = Writer(on=[])
    writer.event("flip", before=5, after=6, on=[[1, 2]], off=[])
    thread = writer.thread(1)
    thread.begin(1, 10)
    thread.invocation(1, 12, 15)
    thread.end(1, 20)
    trace = load(writer)
    assert trace.excluded == {}
    assert len(trace.invocations.fs) == 1


def test_intervals_that_touch_lost_records_are_left_out_but_their_latency_is_known(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    whole(thread, 1, 10, 20)
    thread.begin(2, 30)
    thread.lost(35, 40, count=12)
    thread.end(2, 50)
    whole(thread, 3, 60, 70)
    trace = load(writer)
    assert [row[0] for row in Tuples(trace).intervals()] == ["1", "3"]
    assert trace.excluded == {"touches lost records": 1}
    assert list(trace.excluded_latencies) == [20]
    assert trace.loss == {"written": 8 + 12, "dropped": 12}
    assert trace.spoiled == [(NONE, 35, 40, "touches lost records")]


def test_a_loss_told_by_the_collector_counts_as_well(load: Load) -> None:
    writer = Writer()
    writer.event("loss", uid=1, **{"from": 12, "to": 14}, count=3)
    whole(writer.thread(1), 1, 10, 20)
    trace = load(writer)
    assert trace.excluded == {"touches lost records": 1}
    assert trace.loss["dropped"] == 3


def test_an_account_that_cannot_be_true_is_reported(load: Load) -> None:
    writer = Writer()
    whole(writer.thread(1), 1, 10, 20)
    writer.thread(2).lost(12, 14, count=5)
    writer.event("thread_end", uid=1, ticks=30, written=7, stored=1, dropped=3)
    writer.event("thread_end", uid=2, ticks=30, written=6, stored=2, dropped=4)
    trace = load(writer)
    assert trace.notes[:3] == [
        "thread 1 wrote 7 records, but 1 were stored and 3 dropped",
        "thread 1 has 2 records in the file, but 1 were stored",
        "thread 2 tells of 5 lost records, but 4 were dropped",
    ]


def test_what_a_bystander_lost_does_not_matter(load: Load) -> None:
    writer = Writer()
    worker, background = writer.thread(1), writer.thread(2)
    whole(worker, 1, 10, 20)
    background.lost(12, 14, count=5)
    trace = load(writer)
    assert trace.excluded == {}
    assert trace.spoiled == [(1, 12, 14, "touches lost records")]


def test_what_a_waker_lost_matters(load: Load) -> None:
    writer = Writer()
    worker, waker = writer.thread(1), writer.thread(2)
    worker.begin(1, 10)
    worker.blocked(11, 15, peer=2, woke=14)
    worker.end(1, 20)
    waker.lost(12, 13, count=5)
    assert load(writer).excluded == {"touches lost records": 1}


def test_a_rotated_file_is_read_alone(tmp_path: Path) -> None:
    writer = Writer(header=header(number=3))
    thread = writer.thread(9)
    thread.end(1, 10)
    thread.invocation(5, 5, 15)
    whole(thread, 2, 20, 30)
    trace = load_binary(writer.save(tmp_path / "run.3.trace"))
    assert [row[0] for row in Tuples(trace).intervals()] == ["2"]
    assert trace.excluded == {"begun before the recording": 1}
    assert trace.threads == ["thread 9"]


def test_an_interval_begins_when_its_request_was_created(load: Load) -> None:
    """On a thread that worked for another one then: what it did is not in the interval, which lay in a queue."""
    writer = Writer(end=500)
    thread = writer.thread(1, ticks=0)
    whole(thread, 1, 100, 190)
    thread.begin(2, 200, age_ns=150)
    thread.end(2, 300)
    trace = load(writer)
    tuples = Tuples(trace)
    assert tuples.intervals() == [("2", "", (0, 50), (0, 300)), ("1", "", (0, 100), (0, 190))]
    assert tuples.created() == [(NONE, 50, 0, 200)]
    pieces = critical_paths(trace).pieces
    mine = pieces.interval == 0
    found = [
        (PIECE_NAMES[k], a, b) for k, a, b in zip(pieces.kind[mine], pieces.start[mine], pieces.stop[mine], strict=True)
    ]
    assert found == [("queue", 50, 200), ("exec", 200, 300)]


def test_times_of_creation_that_cannot_be_are_counted_and_ignored(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    hour = 3600 * 10**9
    for number, age in enumerate([0, hour, hour + 1, -1, -(10**18), -(1 << 63)], 1):
        thread.begin(number, 2 * hour + 10 * number, age_ns=age)
        thread.end(number, 2 * hour + 10 * number + 5)
    trace = load(writer)
    assert sorted(trace.intervals.end - trace.intervals.begin) == [5, 5, 5, 5, 5, hour + 5]
    assert [note for note in trace.notes if note.startswith("created_at")] == [
        "created_at is 0: 1 intervals begin where the program began them",
        "created_at is in the future: 2 intervals begin where the program began them",
        "created_at is more than 3600 s before the begin: 1 intervals begin where the program began them",
    ]


def test_a_request_that_was_dequeued_was_with_its_enqueuer_before(load: Load) -> None:
    """Created at 20; another thread put it into a queue at 60, out of which it was taken and begun at 100."""
    writer = Writer(end=200)
    acceptor, worker = writer.thread(1, ticks=0), writer.thread(2, ticks=0)
    acceptor.enqueue(7, 60)
    worker.dequeue(7, 99)
    worker.begin(1, 100, age_ns=80)
    worker.end(1, 150)
    trace = load(writer)
    assert Tuples(trace).intervals() == [("1", "", (1, 20), (1, 150))]
    pieces = critical_paths(trace).pieces
    queue = pieces.kind == PIECE_NAMES.index("queue")
    assert [(int(a), int(b)) for a, b in zip(pieces.start[queue], pieces.stop[queue], strict=True)] == [(60, 100)]


def test_without_a_clock_in_ns_nothing_was_created_earlier(load: Load) -> None:
    writer = Writer(anchors=[(0, 0)])
    thread = writer.thread(1)
    thread.begin(1, 1000, age_ns=500)
    thread.end(1, 2000)
    assert Tuples(load(writer)).intervals() == [("1", "", (0, 1000), (0, 2000))]
