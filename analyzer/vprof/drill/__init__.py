"""The drill-down: measure, rank, switch on what is below, until the cause is a handful of functions.

    [run.py, live.py] measure -> Analysis -> [loop.py, wakers.py] candidates -> plan -> ... -> [findings.py]

In: a target, or a running session. Out: confirmed findings, and the file (file.py) from which an interrupted
one goes on.

Imports: path, program, session, tables, target, trace, variance.
"""
