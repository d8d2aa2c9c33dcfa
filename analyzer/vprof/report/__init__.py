"""Views of one `Analysis`, `Diff` or `Result`: text, JSON, DOT. A view formats; it computes nothing.

Imports: compare, drill, jobs, path, program, reorder, scheduling, tables, trace, transaction, tune, variance,
verify, watch, whatif, workload.
"""
