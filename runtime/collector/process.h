// What the collector asks about the processes it records.
#ifndef VPROF_PROCESS_H
#define VPROF_PROCESS_H

#include <cstdint>
#include <optional>
#include <string>

namespace vprof {

// Whether the number can be a process's. Numbers come from the arena, where others may write anything: to kill(2) some
// mean groups.
constexpr bool can_be_process(uint32_t pid) {
  return pid >= 1 && pid <= 1u << 22;  // PID_MAX_LIMIT of the kernel
}

// Start time of process `pid` in clock ticks since boot: with the pid it names a process for good. 0 if there is none,
// or all that is left of it is a zombie. Nothing if that cannot be told (no descriptor left, no /proc): never taken for
// a death.
std::optional<uint64_t> process_start(uint32_t pid);

// The identity of the program that `pid` runs, as program_identity() of src/session.h told it there; 0 = cannot be
// told.
uint64_t program_of(uint32_t pid);

// The thread's name, "" if it has ended already.
std::string thread_name(uint32_t pid, uint32_t tid);

}  // namespace vprof

#endif
