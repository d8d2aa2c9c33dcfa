#include "memory_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shadow_stack.h"

namespace vprof {

namespace {

// Pages as the kernel counts them for both limits; 0 if it cannot be known (no /proc).
uint64_t mapped_bytes() {
  char text[128] = "";
  const long fd = syscall(SYS_openat, long{AT_FDCWD}, "/proc/self/statm", long{O_RDONLY | O_CLOEXEC});
  if (fd < 0) return 0;
  const long size = syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  return size > 0 ? strtoull(text, nullptr, 10) * kPage : 0;
}

struct Range {
  uint64_t start, end;
};

// What lies between, each time without what is the session's.
template <typename Use>
void use_without_session(Range range, Use use) {
  const auto of = [](const void *p, size_t size) {
    return Range{reinterpret_cast<uint64_t>(p), reinterpret_cast<uint64_t>(p) + size};
  };
  const Range session[3] = {of(g_session.arena, g_session.layout.arena_size()), of(g_session.switches, kMaxSites),
                            of(g_session.call_numbers, call_numbers_bytes(g_session.layout))};
  while (range.start < range.end) {
    Range next = {range.end, range.end};  // of the session, at or above the start
    for (const Range &own : session)
      if (own.end > range.start && own.start < next.start) next = own;
    if (next.start > range.start) use(range.start, next.start - range.start);
    range.start = next.end > range.start ? next.end : range.end;
  }
}

// Lines of /proc/self/maps, read piece by piece: `use` may change the mappings that have been read.
template <typename Use>
bool for_each_mapping(Use use) {
  const long fd = syscall(SYS_openat, long{AT_FDCWD}, "/proc/self/maps", long{O_RDONLY | O_CLOEXEC});
  if (fd < 0) return false;
  char text[4096];
  uint64_t numbers[2] = {0, 0};  // start-end
  unsigned field = 0;            // 2: the rest of the line
  for (long size; (size = syscall(SYS_read, fd, text, sizeof text)) > 0;)
    for (const char *c = text; c < text + size; ++c) {
      if (*c == '\n') {
        field = 0;
        numbers[0] = numbers[1] = 0;
      } else if (field < 2 && (*c == '-' || *c == ' ')) {
        if (++field == 2) use(Range{numbers[0], numbers[1]});
      } else if (field < 2) {
        numbers[field] = numbers[field] << 4 | static_cast<uint64_t>(*c <= '9' ? *c - '0' : *c - 'a' + 10);
      }
    }
  syscall(SYS_close, fd);
  return true;
}

}  // namespace

size_t room_for_session() {
  constexpr size_t kShare = 16;
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const uint64_t mapped = mapped_bytes();
  return limit.rlim_cur > mapped ? (limit.rlim_cur - mapped) / kShare : 0;
}

long lock_around_session(int flags) {
  const uint64_t session = g_session.layout.arena_size() + kMaxSites + call_numbers_bytes(g_session.layout);
  const uint64_t mapped = mapped_bytes();
  rlimit limit;
  if (mapped <= session || getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || mapped - session > limit.rlim_cur) {
    errno = ENOMEM;
    return -1;
  }
  if ((flags & MCL_FUTURE) != 0 && syscall(SYS_mlockall, long{flags & ~MCL_CURRENT}) != 0) return -1;
  const int saved_errno = errno;
  const long how = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0;
  const bool known = for_each_mapping([=](Range mapping) {
    use_without_session(mapping, [=](uint64_t start, uint64_t size) {
      syscall(SYS_mlock2, start, size, how);  // what cannot be touched fails here, and does not in mlockall
    });
  });
  errno = known ? saved_errno : ENOMEM;
  return known ? 0 : -1;
}

void unlock_session() {
  const int saved_errno = errno;
  syscall(SYS_munlock, g_session.arena, g_session.layout.arena_size());
  syscall(SYS_munlock, g_session.switches, size_t{kMaxSites});
  syscall(SYS_munlock, g_session.call_numbers, call_numbers_bytes(g_session.layout));
  errno = saved_errno;
}

}  // namespace vprof
