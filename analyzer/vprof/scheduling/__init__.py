"""Which waiters get a lock when it comes free: the papers' policies, and what another one would do to latencies.

    queue, who waits, who holds -> [dependencies.py] who waits for whom -> [policies.py] who is granted: `choose`
    JSON -> [script_file.py], or [generate.py] -> [script.py] Script: transactions as work and lock steps
    a trace's lock events -> [history.py] locks taken -> [traced.py] Script; [ages.py] age against remaining time
      -> [simulator.py], compiled: [tables.py], [grants.py], [sizes.py], [deadlocks.py], [machine.py] -> latencies
      -> [comparison.py] figures of policies with intervals over seeds; a traced policy is replayed first

In: a queue, or transactions as scripts or as recorded. Out: transactions that are granted; figures, which
report/locks.py shows.
`choose` is the plain form of each policy, the simulator's compiled one does the same, as the tests hold.

Imports: tables, trace.
"""

from vprof.scheduling.policies import POLICIES, Policy, Request, choose, policy_named

__all__ = ["POLICIES", "Policy", "Request", "choose", "policy_named"]
