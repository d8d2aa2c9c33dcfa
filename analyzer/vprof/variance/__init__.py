"""Why the intervals differ: from times by node to ranked factors.

    Parts -> [sums.py, moments.py] -> [variance_tree.py] -> [factors.py, statistics.py] -> [planner.py]
    = [analysis.py] Analysis

In: the windows of traces. Out: `Analysis`, all that a report shows; answers about single factors (explain.py).

Imports: jobs, path, program, tables, trace.
"""
