#ifndef TABLE_H
#define TABLE_H
static inline int sum_table(int n) {
  int sum = 0;
  while (n) sum += n--;
  return sum;
}

static inline int twice(int n) { return 2 * n; }
#endif
