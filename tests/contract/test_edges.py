"""Waits and what ended them, tasks and who made them (docs/algorithms.md sections 2 and 7)."""

from __future__ import annotations

from tuples import Load, Tuples
from writer import Writer


def blocked(tuples: Tuples, thread: int = 0) -> list[tuple[int, int]]:
    return [(ts, te) for owner, _, ts, te, state in tuples.segments() if owner == thread and state == "blocked"]


def test_a_wait_cuts_the_segment_and_knows_its_waker(load: Load) -> None:
    writer = Writer()
    waiter, holder = writer.thread(1), writer.thread(2)
    waiter.begin(1, 10)
    waiter.blocked(20, 30, peer=2, woke=28)
    waiter.end(1, 40)
    holder.on_behalf(0, 50)
    trace = load(writer)
    tuples = Tuples(trace)
    assert [row for row in tuples.segments() if row[1]] == [
        (0, "1", 10, 20, "exec"),
        (0, "1", 20, 30, "blocked"),
        (0, "1", 30, 40, "exec"),
    ]
    assert tuples.wakeups() == [(0, 1, 28, (20, 30))]
    assert trace.has_sync


def test_a_wait_nobody_is_known_to_have_ended_has_no_edge(load: Load) -> None:
    writer = Writer()
    writer.thread(1).blocked(20, 30)
    trace = load(writer)
    assert blocked(Tuples(trace)) == [(20, 30)]
    assert Tuples(trace).wakeups() == []
    assert trace.has_sync


def test_a_wait_that_a_time_ended_is_sleep(load: Load) -> None:
    writer = Writer()
    writer.thread(1).blocked(20, 30, flags=5)
    trace = load(writer)
    assert (20, 30, "sleep") in [(ts, te, state) for _, _, ts, te, state in Tuples(trace).segments()]
    assert Tuples(trace).wakeups() == []


def test_a_wait_for_a_request_of_asynchronous_io_is_the_disk_s(load: Load) -> None:
    """Whoever waits: also a thread that works for nobody. What somebody ended is a wait like others."""
    storage = 17
    writer = Writer()
    thread = writer.thread(1)
    thread.blocked(10, 20, class_=storage)
    thread.begin(1, 20)
    thread.blocked(30, 40, class_=storage)
    thread.blocked(40, 50, peer=2, woke=45, class_=storage)
    thread.end(1, 60)
    writer.thread(2).on_behalf(0, 60)
    segments = [(ts, te, state) for owner, _, ts, te, state in Tuples(load(writer)).segments() if owner == 0]
    assert [row for row in segments if row[2] != "exec"] == [(10, 20, "disk"), (30, 40, "disk"), (40, 50, "blocked")]


def test_waiting_for_what_comes_from_outside_is_idle_while_the_thread_works_for_nobody(load: Load) -> None:
    """Also until a time is over, as event loops do. Within an interval it is a wait like others."""
    descriptor = 11
    writer = Writer()
    thread = writer.thread(1)
    thread.blocked(10, 15, class_=descriptor)
    thread.blocked(15, 20, class_=descriptor, flags=5)
    thread.begin(1, 20)
    thread.blocked(30, 40, class_=descriptor)
    thread.blocked(50, 55, class_=descriptor, flags=5)
    thread.end(1, 60)
    thread.blocked(60, 70, peer=2, woke=65, class_=descriptor)
    thread.blocked(70, 80)
    writer.thread(2).on_behalf(0, 90)
    states = [(ts, te, state) for owner, _, ts, te, state in Tuples(load(writer)).segments() if owner == 0]
    assert [row for row in states if row[2] != "exec"] == [
        (10, 15, "idle"),
        (15, 20, "idle"),
        (30, 40, "blocked"),
        (50, 55, "sleep"),
        (60, 70, "blocked"),
        (70, 80, "blocked"),
    ]


def test_a_waker_without_a_time_acts_just_before_the_waiter_resumes(load: Load) -> None:
    writer = Writer()
    writer.thread(1).blocked(20, 30, peer=2, woke=30, flags=2)
    assert Tuples(load(writer)).wakeups() == [(0, 1, 29, (20, 30))]


def test_a_waker_outside_the_wait_is_moved_into_it_and_counted(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.blocked(20, 30, peer=2, woke=15)
    thread.blocked(40, 50, peer=2, woke=70)
    trace = load(writer)
    assert Tuples(trace).wakeups() == [(0, 1, 20, (20, 30)), (0, 1, 49, (40, 50))]
    assert any(note == "times adjusted where clocks of CPUs disagreed: 2" for note in trace.notes)


def test_a_mutex_taken_again_after_a_signal_is_a_wait_of_its_own(load: Load) -> None:
    """The condition variable's wait [20, 60] ends with the signal at 30; from 40 to 50 the mutex was still held."""
    writer = Writer()
    thread = writer.thread(1)
    thread.blocked(40, 50, peer=3, woke=48)
    thread.blocked(20, 60, peer=2, woke=30)
    thread.on_behalf(0, 70)
    tuples = Tuples(load(writer))
    assert tuples.segments() == [
        (0, None, 20, 40, "blocked"),
        (0, None, 40, 50, "blocked"),
        (0, None, 50, 70, "exec"),
        *[row for row in tuples.segments() if row[2] >= 70],
    ]
    assert tuples.wakeups() == [(0, 1, 30, (20, 40)), (0, 2, 48, (40, 50))]


def test_waits_inside_one_that_still_goes_on_are_part_of_it(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.blocked(25, 30, peer=3, woke=28)
    thread.blocked(35, 40, peer=3, woke=38)
    thread.blocked(20, 60, peer=2, woke=55)
    tuples = Tuples(load(writer))
    assert blocked(tuples) == [(20, 60)]
    assert tuples.wakeups() == [(0, 1, 55, (20, 60))]


def test_a_wait_without_a_known_waker_gives_way_to_those_inside(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.blocked(30, 40, peer=3, woke=38)
    thread.blocked(20, 60)
    tuples = Tuples(load(writer))
    assert blocked(tuples) == [(20, 30), (30, 40), (40, 60)]
    assert tuples.wakeups() == [(0, 1, 38, (30, 40))]


def test_waits_that_seem_to_overlap_follow_each_other(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.blocked(20, 40, peer=2, woke=35)
    thread.blocked(38, 60, peer=2, woke=55)
    assert blocked(Tuples(load(writer))) == [(20, 40), (40, 60)]


def test_a_label_inside_a_wait_cuts_it_and_the_edge_goes_to_its_part(load: Load) -> None:
    writer = Writer()
    thread = writer.thread(1)
    thread.on_behalf(5, 30)
    thread.blocked(20, 40, peer=2, woke=35)
    tuples = Tuples(load(writer))
    assert tuples.segments()[:2] == [(0, None, 20, 30, "blocked"), (0, "5#0", 30, 40, "blocked")]
    assert tuples.wakeups() == [(0, 1, 35, (30, 40))]


def test_a_task_links_its_enqueue_to_the_segment_that_takes_it_up(load: Load) -> None:
    writer = Writer()
    client, worker = writer.thread(1), writer.thread(2)
    client.begin(1, 10)
    client.enqueue(0xAB, 20)
    worker.dequeue(0xAB, 30)
    worker.on_behalf(1, 35)
    worker.end(1, 40)
    trace = load(writer)
    assert Tuples(trace).created() == [(0, 20, 1, 35)]
    assert trace.has_sync


def test_a_task_address_may_be_used_again(load: Load) -> None:
    writer = Writer()
    client, worker = writer.thread(1), writer.thread(2)
    for id_, at in ((1, 100), (2, 200)):
        client.begin(id_, at)
        client.enqueue(0xAB, at + 10)
        worker.dequeue(0xAB, at + 20)
        worker.on_behalf(id_, at + 30)
    assert Tuples(load(writer)).created() == [(0, 110, 1, 130), (0, 210, 1, 230)]


def test_tasks_dequeued_together_wait_for_their_own_interval(load: Load) -> None:
    writer = Writer()
    client, worker = writer.thread(1), writer.thread(2)
    for id_, at in ((1, 10), (2, 20), (3, 30)):
        client.begin(id_, at)
        client.enqueue(id_, at + 1)
    for task in (1, 2, 3):
        worker.dequeue(task, 40 + task)
    for id_, at in ((2, 50), (1, 60), (3, 70)):
        worker.on_behalf(id_, at)
    assert Tuples(load(writer)).created() == [(0, 21, 1, 50), (0, 11, 1, 60), (0, 31, 1, 70)]


def test_a_task_of_nobody_goes_to_the_next_segment_that_works_for_somebody(load: Load) -> None:
    writer = Writer()
    poller, worker = writer.thread(1), writer.thread(2)
    poller.enqueue(0xAB, 20)
    worker.dequeue(0xAB, 30)
    worker.on_behalf(0, 31)
    worker.begin(1, 35)
    assert Tuples(load(writer)).created() == [(0, 20, 1, 35)]


def test_a_dequeue_without_its_enqueue_is_told(load: Load) -> None:
    writer = Writer()
    worker = writer.thread(1)
    worker.dequeue(0xAB, 30)
    worker.begin(1, 35)
    trace = load(writer)
    assert Tuples(trace).created() == []
    assert "tasks dequeued whose enqueue is not in the file: 1" in trace.notes


def test_a_thread_made_for_a_request_is_taken_up_like_a_task(load: Load) -> None:
    writer = Writer()
    server, helper = writer.thread(1), writer.thread(2)
    server.begin(1, 10)
    helper.created(30, creator=1, at=20)
    helper.on_behalf(1, 35)
    server.end(1, 50)
    trace = load(writer)
    assert Tuples(trace).created() == [(0, 20, 1, 35)]
    assert trace.has_sync


def test_a_thread_made_for_nobody_starts_at_its_first_action(load: Load) -> None:
    writer = Writer()
    main, worker = writer.thread(1), writer.thread(2)
    main.on_behalf(0, 5)
    worker.created(30, creator=1, at=20)
    worker.begin(1, 35)
    worker.end(1, 40)
    trace = load(writer)
    assert Tuples(trace).created() == [(0, 20, 1, 30)]
    assert not trace.has_sync
