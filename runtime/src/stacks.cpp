#include "stacks.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>

#include "restriction.h"
#include "session.h"

extern "C" void *__libc_stack_end;  // of the C library: the stack pointer when the program began

namespace vprof {

__thread Stack t_stack;
__thread Stack t_left_stack;

// The kernel leaves at least 128 MiB below free of other mappings, whatever the limit; where there is no limit, far
// more than 64 GiB.
Stack main_stack() {
  constexpr uint64_t kLeast = uint64_t{128} << 20, kMost = uint64_t{64} << 30;
  rlimit limit;
  const uint64_t bytes = getrlimit(RLIMIT_STACK, &limit) == 0 ? limit.rlim_cur : kMost;
  const uint64_t high = reinterpret_cast<uint64_t>(__libc_stack_end);
  return {high - std::clamp(bytes, kLeast, kMost), high};
}

Stack thread_stack(uint64_t bytes) {
  const uint64_t high = reinterpret_cast<uint64_t>(pthread_self());
  return {high - bytes, high};
}

bool is_on_signal_stack(uint64_t address) {
  stack_t alt;
  if (is_restricted() || sigaltstack(nullptr, &alt) != 0 || (alt.ss_flags & SS_DISABLE)) return false;
  const uint64_t low = reinterpret_cast<uint64_t>(alt.ss_sp);
  return Stack{low, low + alt.ss_size}.has(address);
}

bool may_have_calls(uint64_t address) {
  return !t_stack.is_known() || t_stack.has(address) || t_left_stack.has(address) || is_on_signal_stack(address);
}

void note_stray(Slot *slot) {
  slot->strayed.store(ticks(), std::memory_order_relaxed);
}

}  // namespace vprof
