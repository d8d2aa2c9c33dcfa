"""Runs in the forms of other tools: Perfetto's traces, folded stacks. Tables are written by api.py.

Imports: path, report, tables, variance.
"""
