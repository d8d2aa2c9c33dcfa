"""A sweep over settings of a target: which is better than its own, by how much, and what that costs.

    --knob, [auto.py] findings of a drill-down, made first if there is none -> [settings.py] settings
      -> [sweep.py] rounds of runs in random order: [runner.py] measures one, [halving.py] gives up the hopeless,
         [power.py] says how many are needed; [file.py] keeps each run
    [verbs.py] runs `vprof drill` and `vprof record`
      -> [outcome.py] Outcome: verdicts as `vprof diff` has them, Pareto front, what to recommend

In: a target, knobs, a load. Out: figures of each setting; report/tune.py shows them.

Imports: compare, session, tables, target, variance, workload.
"""
