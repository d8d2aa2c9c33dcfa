"""A better order for a transaction's statements: the contended ones last, so that locks are held for less time.

    FILE.json or a dictionary -> [problem.py] Problem -> [constraints.py] what must precede what
      -> [queries.py] the part that queries have in it -> [subsets.py] or [linear.py] the best order of these
      -> [ordering.py] all units again, checked: Solution -> [moves.py] why units moved, and why others could not

In: units, their conflict indices, constraints with their reasons. Out: the order with the largest sum of position times
index. report/reorder.py shows it. The method is QURO's (docs/algorithms.md section 12).

Imports: nothing.
"""

from vprof.reorder.ordering import Solution, solve

__all__ = ["Solution", "solve"]
