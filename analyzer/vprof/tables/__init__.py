"""What every room shares: the tables of a trace and how they are computed with.

    model.py the papers' tuples as columns; columns.py, lookup.py, kernels.py how columns are read and compiled;
    naming.py how functions are named, ids.py intervals

In: nothing. Out: types and small tools; no file is read here.

Imports: nothing.
"""
