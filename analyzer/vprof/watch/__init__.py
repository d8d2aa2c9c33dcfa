"""A flight recorder beside a server: what is slow is kept with its records, all else is thrown away.

    session -> [pieces.py] trace files of some seconds -> [latencies.py] what ended, how long it took
      -> [threshold.py] what is slow -> [cut.py] a small trace around it -> [keep.py] the folder: so many an hour
    [loop.py] does this again and again, [plan.py] says which probes are on; [common.py] what the slow ones share
    [beside.py] what it runs beside: somebody's session, a program, a target

In: a session, a plan, a threshold. Out: a folder of traces that `vprof analyze` reads, each with a reason.

Imports: compare, drill, path, program, session, tables, target, trace, variance, workload.
"""
