/* What all parts of a request share, in a unit of its own. */
#include "helper.h"

static volatile uint64_t sink;

static void spin(unsigned rounds) {
  for (unsigned i = 0; i < rounds; i++) sink += i;
}

void burn(unsigned units) {
  spin(units * 20000);
}
