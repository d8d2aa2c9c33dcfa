// A buffer is given back to the kernel before one request in 20, and its pages are faulted in again.
// Planted: touch_buffer.
#include <sys/mman.h>

#include "truth.h"

static char *g_buffer;
static size_t g_size;

NOINLINE static void drop_buffer() {
  madvise(g_buffer, g_size, MADV_DONTNEED);
}

NOINLINE static void touch_buffer() {
  const Cause cause;
  for (size_t i = 0; i < g_size; i += 4096) g_buffer[i]++;
}

static void serve(int) {
  if (random_of_request()() % 20 == 0) drop_buffer();
  touch_buffer();
}

const Mode kFaults = {
    "faults",
    [](Threads &) {
      g_size = static_cast<size_t>(scaled(1)) << 20;
      g_buffer = static_cast<char *>(mmap(nullptr, g_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    },
    serve, nullptr, nullptr};
