// Calls of one function at several places are numbered; what cannot be, or need not be, is left as it is.
#include <stdio.h>

static int leaf(int x) { return x + 1; }
static int get(int x) {
  for (int i = 0; i < x; i++) x -= i;
  return x;
}
static void put(int x) { printf("%d\n", get(x)); }
#define PUT(x) put(x)

static int places(int n) {
  put(1);
  if (n > 2) put(2);
  PUT(3);
  for (int i = 0; i < get(1); i++) put(get(2));
  int a = get(get(3)), b = n ? get(4) : leaf(5) + leaf(6);
  switch (n) { case 1: put(4); }
  return get(5) + get(6) + a - b + (int)sizeof(get(9));
}

static struct { int (*get)(int); } table = {get};
static int library(void) {
  puts("library");
  return puts("functions");
}

static int pointers(int x) { return table.get(x) + table.get(x + 1); }

int main(void) {
  printf("%d\n", places(1));
  printf("%d\n", pointers(3) + library());
  return 0;
}
