"""Tasks in other processes: of this machine (`--jobs N`) or of a Dask cluster (`--scheduler ADDRESS`).

    task, items  ->  a result of each, merged as a tree  =  what one process comes to

In: functions of modules and what they take. Out: results in the order of the items, whatever the order in which they
arrive and however often a worker dies. Nothing here knows a trace.

Imports: nothing.
"""
