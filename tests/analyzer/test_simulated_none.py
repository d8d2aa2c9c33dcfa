"""A simulation in which no interval counts: some thread has done all it did before any of them ends."""

import numpy as np

from vprof.whatif.simulated import Simulated


def test_it_says_why_it_says_nothing() -> None:
    ns = np.ones(3)
    none = Simulated(np.zeros(3, np.bool_), ns, ns, ns[None], ns[None], told=0, guessed=1)
    assert none.why_not(ns) == "only 0 % of the intervals end before some thread has done all it did"
    assert none.unknown(ns) == ""
