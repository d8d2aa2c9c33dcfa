"""`vprof top` in a terminal that is none: Textual's pilot presses keys, the test is the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from live_view import view
from textual.pilot import Pilot
from textual.widgets import Static

from vprof.top.app import PathScreen, TopApp
from vprof.top.orders import OpenPath, Order, Orders, Pause, Save, Stop, Switch

Steps = Callable[[TopApp, "Pilot[None]", Orders], Awaitable[None]]


def play(steps: Steps, size: tuple[int, int] = (80, 24)) -> TopApp:
    orders = Orders()
    app = TopApp(orders)

    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await steps(app, pilot, orders)

    asyncio.run(run())
    return app


def given(orders: Orders) -> list[Order]:
    found = []
    while not orders.queue.empty():
        found.append(orders.queue.get())
    return found


def shown(app: TopApp) -> str:
    return str(app.screen_stack[0].query_one("#top", Static).render())


def test_each_key_gives_its_order() -> None:
    async def steps(app: TopApp, pilot: Pilot[None], orders: Orders) -> None:
        app.refreshed(view())
        await pilot.pause()
        await pilot.press("d", "down", "down", "e", "c", "space", "space", "enter", "o", "w")
        assert given(orders) == [
            Switch(("flush",), False, "flush"),
            Switch(("flush", "read"), True, "below serve"),
            Switch(("flush", "read"), False, "below serve"),
            *(Pause(True), Pause(False), OpenPath(0), OpenPath(0), Save()),
        ]
        await pilot.press("t")
        assert app.shown.sort == "tail"
        await pilot.press("s", "s", "v", "m")
        assert app.shown.sort == "mean"
        await pilot.press("q")
        assert given(orders) == [Stop()]

    assert not play(steps).is_running


def test_a_refresh_and_what_is_said_are_drawn_for_the_size_of_the_terminal() -> None:
    async def steps(app: TopApp, pilot: Pilot[None], orders: Orders) -> None:
        assert "recording" in shown(app)
        app.refreshed(view())
        app.said("saved x\x1b[31m.trace")
        await pilot.pause()
        assert ">flush" in shown(app) and "saved x\\x1b[31m.trace" in shown(app)
        assert max(map(len, shown(app).split("\n"))) <= 80
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        await pilot.pause()
        rows = shown(app).split("\n")
        assert len(rows) == 12 and max(map(len, rows)) <= 40

    play(steps)


def test_a_path_is_opened_over_the_screen_and_keys_go_on_to_others() -> None:
    async def steps(app: TopApp, pilot: Pilot[None], orders: Orders) -> None:
        app.refreshed(view())
        app.opened(0, "7 (pay): 40 ms\nexec\n")
        await pilot.pause()
        assert isinstance(app.screen, PathScreen)
        await pilot.press("n", "p")
        assert given(orders) == [OpenPath(1), OpenPath(0)]
        app.opened(1, "8 (pay): 30 ms\n\x1b[31m\n")
        await pilot.pause()
        assert "8 (pay)" in str(app.screen.query_one("#path", Static).render())
        assert "\x1b" not in str(app.screen.query_one("#path", Static).render())
        app.refreshed(view(title="another"))
        await pilot.press("n", "q")
        await pilot.pause()
        assert given(orders) == [OpenPath(2)]
        assert not isinstance(app.screen, PathScreen) and "another" in shown(app)
        await pilot.press("ctrl+c")
        assert given(orders) == [Stop()]

    play(steps)


def test_a_signal_ends_it_in_order() -> None:
    orders = Orders()
    app = TopApp(orders, lambda: True)

    async def run() -> None:
        async with app.run_test():
            for _ in range(100):
                if not app.is_running:
                    break
                await asyncio.sleep(0.05)

    asyncio.run(run())
    assert Stop() in given(orders)
