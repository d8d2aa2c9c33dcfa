"""One file per verb; each defines a click command named `command`.

Imports: compare, drill, export, jobs, metrics, path, program, reorder, report, scheduling, session, tables, target,
top, trace, transaction, tune, variance, verify, watch, whatif, workload.
"""
