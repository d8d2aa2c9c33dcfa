"""What is known of the program without running it.

    .vprof_meta of its binaries -> elf.py, metadata.py -> callgraph.py -> heights.py -> model.Program

In: binaries, or the same bytes out of a trace. Out: functions, who calls whom, heights; what the program links.

Imports: tables.
"""
