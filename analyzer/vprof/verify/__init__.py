"""A reordered transaction beside the original: does it leave the same, and is it better under load.

    VERIFY.toml -> [plan.py] Plan: a server, a database, calls of the transaction with random inputs
    both texts of the file, calls -> [build.py, main_text.py] two programs
      -> [databases.py] two copies of the database, by [by_psycopg.py] the server,
         or [by_pymysql.py, describe.py, rebuild.py, statements.py] statements of SQL
      -> [alone.py] one call after the other, Alone
      -> [under_load.py] several clients, by vprof.compare, Loaded

In: a Reordering and a plan. Out: the first difference, or how many calls were alike; a Diff. report/verify.py shows
them. Which way the copies are made, and the C around the transaction, follows from the client library that the file
uses (transaction/client_program.py). docs/reorder-verify.md has the words of the file.

Imports: compare, tables, transaction.
"""
