"""A trace file in, the papers' tuples out.

    chunks -> records -> [scan.py] the whole, [window.py] one window -> segments, edges, intervals -> model.Trace
                              both by [decode.py]

In: binary traces (runtime/TRACE_FORMAT.md), JSON traces, events of the kernel. Out: `model.Trace`, whole, or as a
Source of windows, with what was lost, left out and mended. Nothing here knows a critical path.

Imports: jobs, program, tables.
"""
