// A program that restricts its system calls (seccomp) may be killed for one that it does not make itself. From then on
// the runtime makes none but those that README.md states ("System calls"). Set by prctl and syscall(2) of the program;
// children of fork inherit it, as they do the filter.
#ifndef VPROF_RESTRICTION_H
#define VPROF_RESTRICTION_H

#include <linux/filter.h>

#include <atomic>
#include <cstdint>

namespace vprof {

inline std::atomic<bool> g_restricted, g_may_not_look;

inline bool is_restricted() {
  return __builtin_expect(g_restricted.load(std::memory_order_relaxed), 0);
}

// Whether its filters let the two system calls of a look (off_cpu.h) pass.
inline bool may_look() {
  return __builtin_expect(!g_may_not_look.load(std::memory_order_relaxed), 1);
}

// Whether `filter` lets a system call with this first argument pass, whatever the others are and wherever it is made.
bool filter_allows(const sock_fprog &filter, uint32_t number, uint32_t first_argument);

// The program is about to restrict its calls: by `filter`, null: to hardly any. An unreadable one will be refused.
void restrict_system_calls(const sock_fprog *filter);

}  // namespace vprof

#endif
