"""A workload on a running server: what it measures, and what pauses have to do with it.

    [driver.py] vprof-load-driver -> its JSON, a file of latencies -> [latency_file.py] chunks of records
      -> [tally.py] by type: counts, [moments.py], [quantiles.py]; [over_time.py]; the slowest -> [result.py] Result
    lateness of the driver, files of pauses -> [pauses.py] Pauses, the slowest -> [explained.py] what they explain

In: the name of a workload, a server's socket, files of pauses (`--overlay`). Out: figures; report/load.py shows them.
The whole file is read in chunks, so memory does not grow with a run. workloads/README.md is the driver's contract.

Imports: session.
"""
