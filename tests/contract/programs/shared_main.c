#include "shared.h"

void other(void);

int main(void) {
  pause_us(100);
  other();
  return 0;
}
