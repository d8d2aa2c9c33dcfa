"""What would be gained: a trace replayed with some of its times changed.

    window of a Source -> [stretch.py] what a replay needs -> [graph.py, waits.py] what waits for what,
    [border.py] until when that is decided -> [scales.py] longer or shorter -> [replay.py] new times
    -> [outcome.py] latencies now and then; [retimed.py] a trace again, for an analysis

passes.py goes through files, here or by workers, windows.py through windows. In: traces, whole or as windows; changes
(changes.py). Out: `Prediction`: figures now and then, factors afterwards; a ranking of changes that were tried.

Imports: jobs, path, scheduling, tables, trace, variance.
"""
