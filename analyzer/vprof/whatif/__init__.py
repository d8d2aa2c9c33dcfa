"""What would be gained: a trace replayed with some of its times changed.

    model.Trace -> [graph.py] what waits for what + [changes.py] what changes -> [scales.py] longer or shorter
    -> [replay.py] new times -> [outcome.py] latencies now and then; [retimed.py] a trace again, for an analysis

In: `model.Trace`, changes. Out: `Prediction`: figures now and then, factors afterwards, a ranking of changes.

Imports: path, tables, trace, variance.
"""
