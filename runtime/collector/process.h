// What the collector asks about the processes it records.
#ifndef VPROF_PROCESS_H
#define VPROF_PROCESS_H

#include <cstdint>
#include <string>

namespace vprof {

// Start time of process `pid` in clock ticks since boot: with the pid it names a process for good. 0 if there is none,
// or all that is left of it is a zombie.
uint64_t process_start(uint32_t pid);

// The thread's name, "" if it has ended already.
std::string thread_name(uint32_t pid, uint32_t tid);

}  // namespace vprof

#endif
