"""What a watch sees, as metrics for Prometheus: latencies, factors, waits, losses.

    each piece -> [histogram.py] latencies by type -----------------------+
    a piece now and then -> [analyses.py] `vprof analyze` in a process ---+-> [figures.py] families of the library
    lines of the log -----------------------------------------------------+        |
                                     [exposition.py] a port of this machine, or a file

[live.py] connects a watch with all of these; [names.py] is the list of what is exported, [bounded.py] keeps labels few.

In: pieces and log lines of a watch, JSON of `vprof analyze`. Out: text that Prometheus reads.

Imports: tables, watch.
"""
