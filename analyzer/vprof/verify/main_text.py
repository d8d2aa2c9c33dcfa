"""The program around a transaction: it has the transaction's file in it, so that the call may use all that is there.

    program NUMBER                      makes one call, and prints what it returns
    program load SECONDS SEED FILE      makes calls at random, and writes a line for each: begin and end in ns, value

What it connects to is in the environment, since others see the words of a command.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from vprof.transaction.client_program import ClientProgram

NO_CONNECTION = 120
"""Exit code."""

_TEXT = """#define main vprof_no_main
#include "{file}"
#undef main
#include <{header}>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long long vprof_call({type}conn, int number) {{
  (void)conn;
  switch (number) {{
{cases}
  }}
  abort();
}}

/* As a caller does that goes on with the connection. */
static long long vprof_whole_call({type}conn, int number) {{
  const long long value = vprof_call(conn, number);
  {undo};
  return value;
}}

static long long vprof_now_ns(void) {{
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}}

static int vprof_load({type}conn, double seconds, unsigned seed, const char *file) {{
  FILE *out = fopen(file, "w");
  if (!out) return 1;
  const long long until = vprof_now_ns() + (long long)(seconds * 1e9);
  for (long long begin; (begin = vprof_now_ns()) < until;) {{
    seed = seed * 1664525u + 1013904223u;
    const long long value = vprof_whole_call(conn, (int)((seed >> 8) % {count}u));
    fprintf(out, "%lld %lld %lld\\n", begin, vprof_now_ns(), value);
  }}
  return fclose(out) == 0 ? 0 : 1;
}}

int main(int argc, char **argv) {{
  {type}conn = {open};
  int code = 0;
  if (!({connected})) {{
    fputs({error}, stderr);
    return {no_connection};
  }}
  if (argc == 5)
    code = vprof_load(conn, atof(argv[2]), (unsigned)atol(argv[3]), argv[4]);
  else
    printf("returned %lld\\n", vprof_whole_call(conn, atoi(argv[1])));
  {close};
  return code;
}}
"""


def main_text(file: Path, calls: Sequence[str], client: ClientProgram) -> str:
    """`file`: of the transaction. Calls count from 0."""
    cases = "\n".join(f"    case {number}: return (long long)({call});" for number, call in enumerate(calls))
    return _TEXT.format(
        file=file,
        cases=cases,
        count=len(calls),
        no_connection=NO_CONNECTION,
        header=client.header,
        type=client.type,
        open=client.open,
        connected=client.connected,
        error=client.error,
        undo=client.undo,
        close=client.close,
    )
