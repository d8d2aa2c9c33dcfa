// Requests allocate, and wait for the one arena's lock, which the C library holds for another thread while it trims.
// Planted: trim_heap, whose work is inside the C library: nothing records that lock.
#include <malloc.h>

#include "truth.h"

NOINLINE static void trim_heap() {
  malloc_trim(0);
}

static void trim_again() {
  while (!is_stopping()) {
    std::vector<void *> blocks;
    for (size_t i = 0; i < 30000; ++i) blocks.push_back(malloc(900 + i % 300));
    for (size_t i = 0; i < blocks.size(); i += 2) free(blocks[i]);
    trim_heap();
    for (size_t i = 1; i < blocks.size(); i += 2) free(blocks[i]);
    nap_us(15000);
  }
}

NOINLINE static void allocate_nodes(int) {
  const Cause cause;
  void *nodes[40];
  for (void *&node : nodes) node = malloc(2000);
  for (void *node : nodes) free(node);
}

const Mode kAllocator = {"allocator",
                         [](Threads &threads) {
                           mallopt(M_ARENA_MAX, 1);
                           mallopt(M_MMAP_THRESHOLD, 1 << 28);
                           threads.emplace_back(trim_again);
                         },
                         allocate_nodes, nullptr, nullptr};
