/* An instrumented library that `lives dlopen` loads. */
#include "probes.h"

void plugin_call(void) {
  TEST_ENTER(0);
  TEST_LEAVE(0);
}
