// Four fibers on one thread (swapcontext); a request goes on after others had their turn.
// Planted: slow_sort, for one request in 40.
#include <sys/mman.h>
#include <ucontext.h>

#include <deque>

#include "truth.h"

struct Fiber {
  ucontext_t context;
  int request;
  bool done;
  uint64_t cause_ns;
};

static ucontext_t g_scheduler;
static Fiber *g_current;
static std::deque<Fiber *> g_ready;

NOINLINE static void yield() {
  Fiber *fiber = g_current;
  g_ready.push_back(fiber);
  swapcontext(&fiber->context, &g_scheduler);
}

NOINLINE static void slow_sort() {
  const uint64_t begin = now_ns();
  burn_us(static_cast<double>(scaled(500)));
  g_current->cause_ns += now_ns() - begin;
}

NOINLINE static void fiber_request(int request) {
  burn_us(30);
  yield();
  if ((static_cast<unsigned>(request) * 2654435761u >> 7) % 40 == 0) slow_sort();
  burn_us(30);
  yield();
  burn_us(30);
}

static void run_fiber() {
  for (;;) {
    Fiber *fiber = g_current;
    fiber->cause_ns = 0;
    const uint64_t begin = now_ns();
    fiber_request(fiber->request);
    account(now_ns() - begin, fiber->cause_ns);
    fiber->request += 7;
    fiber->done = is_stopping();
    yield();
  }
}

static void run_fibers() {
  constexpr size_t kStack = 65536;
  for (int i = 0; i < 4; ++i) {
    Fiber *fiber = new Fiber{};
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = mmap(nullptr, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fiber->context.uc_stack.ss_size = kStack;
    fiber->request = i;
    makecontext(&fiber->context, run_fiber, 0);
    g_ready.push_back(fiber);
  }
  while (!g_ready.empty()) {
    g_current = g_ready.front();
    g_ready.pop_front();
    if (!g_current->done) swapcontext(&g_scheduler, &g_current->context);
  }
}

const Mode kFibers = {"fibers", nullptr, nullptr, run_fibers, nullptr};
