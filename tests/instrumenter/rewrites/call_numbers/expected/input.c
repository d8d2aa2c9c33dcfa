// Calls of one function at several places are numbered; what cannot be, or need not be, is left as it is.
#include <stdio.h>

static int more(int x) { return x + 1; }
static int leaf(int x) { return more(x); }
static int get(int x) { __VPROF_PROBE(0) 
  for (int i = 0; i < x; i++) x -= i;
  return x;
}
static void put(int x) { __VPROF_PROBE(1)  printf("%d\n", get(x)); }
#define PUT(x) put(x)

static int places(int n) { __VPROF_PROBE_CALLS(2) 
  put(1);
  if (n > 2) put(2);
  PUT(3);
  for (int i = 0; i < (__VPROF_CALL_NUMBER(1), get(1)); i++) put((__VPROF_CALL_NUMBER(2), get(2)));
  int a = (__VPROF_CALL_NUMBER(3), get(get(3))), b = n ? (__VPROF_CALL_NUMBER(4), get(4)) : leaf(5) + leaf(6);
  switch (n) { case 1: put(4); }
  return (__VPROF_CALL_NUMBER(5), get(5)) + (__VPROF_CALL_NUMBER(6), get(6)) + a - b + (int)sizeof(get(9));
}

static struct { int (*get)(int); } table = {get};
static int library(void) { __VPROF_PROBE(3) 
  puts("library");
  return puts("functions");
}

static int pointers(int x) { __VPROF_PROBE(4)  return table.get(x) + table.get(x + 1); }

// A call through a pointer may lead to a function whose calls are numbered: it takes the number back.
static int behind(int x) { __VPROF_PROBE_CALLS(5)  return (__VPROF_CALL_NUMBER(1), get(x)) + (__VPROF_CALL_NUMBER(2), get(x + 1)) + (__VPROF_CALL_NUMBER(0), table.get(x)) + (__VPROF_CALL_NUMBER(0), table.get(get(2))) + (__VPROF_CALL_NUMBER(3), get(table.get(x))); }
#define TABLE(x) table.get(x)
static int behind_macro(int x) { __VPROF_PROBE(6)  return get(x) + get(x + 1) + TABLE(x); }

// An argument's number counts only if the argument is evaluated; __builtin_constant_p must not see more than is written.
static int one(int x) { __VPROF_PROBE(7)  return printf("%d\n", x); }
static int under_conditions(int n) { __VPROF_PROBE_CALLS(8) 
  get((__VPROF_CALL_NUMBER(1), one(1)));
  (__VPROF_CALL_NUMBER(2), get(n ? (__VPROF_CALL_NUMBER(3), one(2)) : 0));
  (__VPROF_CALL_NUMBER(4), get(n && (__VPROF_CALL_NUMBER(5), one(3))));
  get(__builtin_constant_p(one(4)) + _Generic(n, int: (__VPROF_CALL_NUMBER(6), one(5)), default: one(6)));
  return get(__builtin_choose_expr(1, (__VPROF_CALL_NUMBER(7), one(7)), one(8)));
}

// No text is put into a bound.
static int bound(int n) { __VPROF_PROBE_CALLS(9)  int values[1 + get(n)]; values[0] = get(1) + (__VPROF_CALL_NUMBER(1), one(n)) + (__VPROF_CALL_NUMBER(2), one(2)); return values[0] + get(2); }

int main(void) { __VPROF_PROBE(10) 
  printf("%d\n", places(1));
  printf("%d\n", pointers(3) + behind(2) + behind_macro(1) + library() + under_conditions(1) + bound(3));
  return 0;
}
