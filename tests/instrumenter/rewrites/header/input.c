// Functions of the project's own headers are probed as well, system headers stay alone.
#include <stdio.h>
#include "table.h"

int main(void) {
  printf("%d %d\n", sum_table(4), twice(2));
  return 0;
}
