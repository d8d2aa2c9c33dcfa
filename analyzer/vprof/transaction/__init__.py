"""A transaction's function, from source to a patch: which statements may change places, and a text in which they do.

    FILE.c -> vprof-units -> [program.py] statements -> [clients.py, client_program.py] what its calls do
      -> [sql.py, schema_text.py, schema.py] its queries
      -> [steps.py] what an expression does -> [flow.py] which definitions reach which uses
      -> [pointers.py] what pointers point to -> [effects.py] what a statement reads, writes, asks
      -> [helpers.py] the same of functions that it calls -> [split.py] branches and loops in parts
      -> [units.py, attach.py] reorder units -> [dependences.py] constraints -> [index.py] how contended each is
      -> vprof.reorder, and again with [rename.py] other names for later webs, if that helps
      -> [layout.py] the text in the new order -> [reordering.py] read and checked again

In: a file, the name of a function, an index of each query. Out: the new text with the reasons of what moved and what
could not. report/patch.py shows it. The method is QURO's (docs/algorithms.md section 12).

Imports: reorder.
"""
