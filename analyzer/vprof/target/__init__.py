"""A server that vprof knows how to fetch, build, start and put under load.

    target.toml -> [descriptor.py] checked -> [target.py] fetched, built -> [server.py] running under load
    an unknown program -> [suggestions.py, thread_starts.py, source_root.py] -> [scaffold.py] a first target.toml

In: descriptors (targets/README.md). Out: programs built with probes, running servers, proposals of descriptors.

Imports: program, session, tables, trace.
"""
