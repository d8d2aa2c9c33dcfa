"""What fills each nanosecond of an interval, and at which node of the tree it counts.

    model.Trace -> [critical_path.py] pieces, waits -> [stacks.py, places.py] nodes, their times -> [path_tree.py]

In: `model.Trace`. Out: Pieces, times by node, the views (own, without waits for a CPU), the path of one interval.

Imports: jobs, tables, trace.
"""
