"""Two groups of runs: what changed, and whether that is more than chance.

    Analysis of each run -> [run_metrics.py, diff_factors.py, diff_trees.py] -> [judgement.py, diff.py] Diff
    what `vprof whatif` wrote -> [predicted.py] did it come true

In: analyses. Out: metrics and factors with their difference and its interval; both trees as one.

Imports: jobs, tables, trace, variance, whatif.
"""
