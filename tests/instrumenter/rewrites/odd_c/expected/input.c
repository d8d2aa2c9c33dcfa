// Varargs, K&R, VLAs, alloca, computed goto, statement expressions, signal handlers, _Generic, atexit, asm, macros.
#include <alloca.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int sum(int count, ...) { __VPROF_PROBE(0) 
  va_list list;
  va_start(list, count);
  int total = 0;
  while (count--) total += va_arg(list, int);
  va_end(list);
  return total;
}

static int old_style(a, b) int a; char b; { __VPROF_PROBE(1)  return puts("old style") + a + b; }

static int vla(int n, int m[n][n]) { __VPROF_PROBE(2) 
  int copy[n][n];
  memcpy(copy, m, sizeof copy);
  char *more = alloca((size_t)n);
  memset(more, 1, (size_t)n);
  return copy[n - 1][0] + more[0] + (int)sizeof(int[sum(1, n)]);
}

static int interpreter(const char *code) { __VPROF_PROBE(3) 
  static const void *const labels[] = {&&add, &&twice, &&stop};
  int value = 1;
  goto *labels[*code++ - '0'];
add:
  value++;
  goto *labels[*code++ - '0'];
twice:
  value *= 2;
  goto *labels[*code++ - '0'];
stop:
  return value;
}

static int statement_expression(int x) { __VPROF_PROBE(4) 
  return ({ int y = sum(1, x); if (y > 100) return -1; y + 1; });
}

static volatile sig_atomic_t caught;
static void handler(int number) { __VPROF_PROBE(5) 
  for (int i = 0; i < 2; i++) caught += number;
}

#define kind(x) _Generic((x), int: int_kind, double: double_kind)(x)
static int int_kind(int x) { __VPROF_PROBE(6)  return puts("int") + x; }
static int double_kind(double x) { __VPROF_PROBE(7)  return puts("double") + (int)x; }

#define GETTER(name) static int get_##name(void)
GETTER(one) { __VPROF_PROBE(8)  return puts("one"); }
#define STRINGIFIED(x) #x
static const char *quoted(void) { __VPROF_PROBE(9)  puts("quoted"); return STRINGIFIED(int f(void) { return 1; }); }

static void at_end(void) { __VPROF_PROBE(10)  puts("at end"); }
__attribute__((constructor)) static void before(void) { __VPROF_PROBE(11)  puts("before"); }
static inline __attribute__((always_inline)) int inlined(int x) { __VPROF_PROBE(12)  return puts("inlined") + x; }
static int assembly(int x) { __VPROF_PROBE(13) 
  __asm__ goto("test %0, %0; jz %l1" : : "r"(x) : "cc" : zero);
  return puts("not zero");
zero:
  return puts("zero");
}
static int jumps_into_block(int x) { __VPROF_PROBE(14) 
  switch (x) {
    int y;
    case 1: y = puts("one"); return y;
    default: while (x-- > 0) { case 3: puts("duff"); }
  }
  return 0;
}
static int (*returns_pointer(int x))(int) { __VPROF_PROBE(15)  return puts("pointer") + x ? int_kind : 0; }
static _Noreturn void never(void) { __VPROF_PROBE(16)  exit(0); }

int main(void) { __VPROF_PROBE_CALLS(17) 
  int square[2][2] = {{1, 2}, {3, 4}};
  atexit(at_end);
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  printf("%d %d\n", caught, sum(3, 1, 2, 3) + old_style(1, 2) + vla(2, square) + interpreter("0112"));
  printf("%d %d\n", statement_expression(1), kind(1) + kind(1.0) + get_one());
  printf("%s %d %d %d\n", quoted(), inlined(1), (__VPROF_CALL_NUMBER(1), assembly(0)) + (__VPROF_CALL_NUMBER(2), assembly(1)), jumps_into_block(3));
  (__VPROF_CALL_NUMBER(0), returns_pointer(1)(2));
  never();
}
