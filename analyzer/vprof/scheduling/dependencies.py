"""Who waits for whom: the dependency graph of thesis section 4.2.2, and what policies measure on it.

    waits {transaction: {object}}, holds {object: {transaction}}  ->  Dependencies: g(t), its size, depth, locks held

A transaction waits directly for all that hold an object it waits for. g(t) is the set of all that wait for t, directly
or through others, and t itself. Where transactions wait in a circle, which no scheduler leaves so, the link that closes
it counts as none for depths and effective sizes. No walk is recursive.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

Txn = Hashable
Object = Hashable


class Dependencies:
    """REQUIRES: the mappings do not change meanwhile. Each question costs O(transactions + links)."""

    def __init__(self, waits: Mapping[Txn, Collection[Object]], holds: Mapping[Object, Collection[Txn]]) -> None:
        waiters: dict[Object, dict[Txn, None]] = {}
        for txn, objects in waits.items():
            for thing in objects:
                waiters.setdefault(thing, {})[txn] = None
        self._held: dict[Txn, list[Object]] = {}
        self._direct: dict[Txn, dict[Txn, None]] = {}
        for thing, holders in holds.items():
            for txn in holders:
                self._held.setdefault(txn, []).append(thing)
                direct = self._direct.setdefault(txn, {})
                direct.update((waiter, None) for waiter in waiters.get(thing, ()) if waiter != txn)
        self._waiters = waiters

    def waiting_for(self, txn: Txn) -> set[Txn]:
        """g(txn): all that wait for it directly or indirectly, itself included."""
        return self.union([txn])

    def union(self, txns: Iterable[Txn]) -> set[Txn]:
        """The union of their g."""
        found = set(txns)
        stack = list(found)
        while stack:
            for waiter in self._direct.get(stack.pop(), ()):
                if waiter not in found:
                    found.add(waiter)
                    stack.append(waiter)
        return found

    def exact_size(self, txn: Txn) -> int:
        return len(self.waiting_for(txn))

    def effective_size(self, txn: Txn) -> int:
        """1 and the effective sizes of those that wait directly (thesis section 4.5): one that waits for two that wait
        for `txn` counts twice."""
        sizes: dict[Txn, int] = {}
        for one, waiters in self._below(txn):
            sizes[one] = 1 + sum(sizes.get(waiter, 0) for waiter in waiters)
        return sizes[txn]

    def depth(self, txn: Txn) -> int:
        """How many transactions the longest chain of waiters has that ends in `txn`, itself included."""
        depths: dict[Txn, int] = {}
        for one, waiters in self._below(txn):
            depths[one] = 1 + max((depths.get(waiter, 0) for waiter in waiters), default=0)
        return depths[txn]

    def locks_held(self, txn: Txn) -> int:
        return len(self._held.get(txn, ()))

    def blocking_locks(self, txn: Txn) -> int:
        """How many of its locks somebody else waits for."""
        return sum(any(waiter != txn for waiter in self._waiters.get(thing, ())) for thing in self._held.get(txn, ()))

    def _below(self, txn: Txn) -> Iterator[tuple[Txn, Collection[Txn]]]:
        """Each transaction of g(txn) with its direct waiters, those first."""
        seen, stack = {txn}, [(txn, iter(self._direct.get(txn, ())))]
        while stack:
            one, rest = stack[-1]
            waiter = next((waiter for waiter in rest if waiter not in seen), None)
            if waiter is None:
                stack.pop()
                yield one, self._direct.get(one, ())
            else:
                seen.add(waiter)
                stack.append((waiter, iter(self._direct.get(waiter, ()))))
