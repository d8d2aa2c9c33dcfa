"""A view of `vprof top`, made up: what one refresh of a small server may have found."""

from __future__ import annotations

from typing import Any

from vprof.top.view import Sample, View


def node(name: str, share: float | None, tail: float, mean: float, *children: dict[str, Any]) -> dict[str, Any]:
    made = {"node": name, "share": share, "tail_share": tail, "mean_share": mean}
    return {**made, "children": list(children)} if children else made


TREE = node(
    "<interval>",
    *(1.0, 1.0, 1.0),
    node(
        "serve@main.c:7",
        *(0.8, 0.5, 0.9),
        node("flush@log.c:1", 0.5, 0.3, 0.2),
        node("flush@log.c:2", 0.1, 0.1, 0.1),
        node("serve@main.c:9", 0.1, 0.0, 0.1),
        node("body(serve)", 0.1, 0.1, 0.5),
    ),
    node("[preempted]", 0.2, 0.5, 0.1),
    node("tiny", 0.0001, 0.0, 0.0),
)


def factor(*functions: str, share: float) -> dict[str, Any]:
    return {"kind": "variance" if len(functions) == 1 else "covariance", "functions": list(functions), "share": share}


def document(**changed: Any) -> dict[str, Any]:
    waited = {"title": "mutex log", "share": 0.4, "total_ns": 5_000_000, "waits": 17, "queue_mean": 1.5}
    made = {
        "tree": TREE,
        "factors": [factor("flush", share=0.55), factor("flush", "serve", share=0.12), factor("serve", share=0.1)],
        "no_ranking": "",
        "warnings": [],
        "waited_for": {"count": 1, "objects": [waited]},
        "waiting_for_cpu": {"share": 0.2},
        "probe_cost": {"share": 0.013},
    }
    return {**made, **changed}


def view(**changed: Any) -> View:
    samples = [Sample(2.0, 100 * k, k * 10**5, k * 10**6, k * 10**7, 0) for k in range(1, 9)]
    made: dict[str, Any] = {
        "title": "server (pid 7)",
        "samples": samples,
        "window": Sample(10.0, 4000, 500_000, 5_000_000, 50_000_000, 0),
        "document": document(),
        "on": ["serve", "flush"],
        "below": {"serve": ["flush", "read"], "flush": []},
        "took": 0.2,
    }
    return View(**{**made, **changed})
