// A function of a header: a copy and a site in every unit, one identity.
#include <unistd.h>

__attribute__((noinline)) static void pause_us(int us) {
  if (us > 0) usleep(us);
}
