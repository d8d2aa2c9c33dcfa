"""vprof: a source-to-source variance profiler for C and C++."""

__version__ = "0.1.0"
