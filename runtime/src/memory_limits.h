// The process's limits of memory, which the session's mappings count against.
#ifndef VPROF_MEMORY_LIMITS_H
#define VPROF_MEMORY_LIMITS_H

#include <cstddef>
#include <cstdint>

namespace vprof {

// What mapping a session may add to the address space: a sixteenth of what the program's limit (RLIMIT_AS) leaves;
// SIZE_MAX without one.
size_t room_for_session();

// mlockall(flags), which has failed with ENOMEM, as it would be without the session's mappings: the program's memory is
// locked piece by piece if all of it fits into its limit (RLIMIT_MEMLOCK). REQUIRES: attached.
long lock_around_session(int flags);

// After mlockall: the session is not locked, for that would count against the program's limit.
void unlock_session();

}  // namespace vprof

#endif
