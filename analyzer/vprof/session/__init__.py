"""The running side: a collector, what is on in its programs, and the commands that change it.

    [owned.py] a session of ours, or [running.py] one that runs -> [control.py] requests <- [plan.py] which functions

In: what to switch. Out: a recording. Light to import: `vprof record` waits for none of the analyzer.

Imports: program, tables, trace.
"""
