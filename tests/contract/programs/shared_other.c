#include "shared.h"

void other(void);

void other(void) {
  pause_us(100);
  pause_us(100);
}
