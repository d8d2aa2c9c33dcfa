"""What would be gained: a trace replayed with some of its times changed.

    Source -> [thin.py] what a replay needs -> [graph.py] what waits for what -> [scales.py] longer or shorter
    -> [replay.py] new times -> [outcome.py] latencies now and then; [retimed.py] a trace again, for an analysis

In: traces, whole or as windows; changes (changes.py). Out: `Prediction`: figures now and then, factors afterwards; a
ranking of changes that were tried.

Imports: path, tables, trace, variance.
"""
