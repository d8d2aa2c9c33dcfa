// What external calls sleep for: storage (a device, or the file system on it), a time to pass, or memory.
//
// A call on a pipe or socket that does not wait by its descriptor's flags sleeps all the same where the kernel, copying
// from or to the program's memory, has to map a page: that takes the lock of the process's memory map, which other
// threads hold that map, unmap or protect memory (mapping_interpose.cpp).
#ifndef VPROF_SLEPT_FOR_H
#define VPROF_SLEPT_FOR_H

#include <type_traits>

#include "external_calls.h"
#include "off_cpu.h"

namespace vprof {

constexpr bool is_of_files(Site site) {
  switch (site) {
    case kSite_fsync:
    case kSite_fdatasync:
    case kSite_syncfs:
    case kSite_sync_file_range:
    case kSite_msync:
    case kSite_pread:
    case kSite_preadv:
    case kSite_preadv2:
    case kSite_pwrite:
    case kSite_pwritev:
    case kSite_pwritev2:
    case kSite_copy_file_range:
    case kSite_rename:
    case kSite_renameat:
    case kSite_renameat2:
    case kSite_unlink:
    case kSite_unlinkat:
    case kSite_truncate:
    case kSite_ftruncate:
    case kSite_fallocate:
    case kSite_posix_fallocate:
      return true;
    default:
      return false;
  }
}

constexpr bool is_of_any_descriptor(Site site) {
  return site == kSite_read || site == kSite_readv || site == kSite_write || site == kSite_writev;
}

// Of a call with these arguments.
template <typename First, typename... Further>
bool waits_for_storage(Site site, First first, Further...) {
  if constexpr (std::is_same_v<First, int>)
    if (is_of_any_descriptor(site)) return known_descriptor(first).kind == DescriptorKind::kFile;
  return is_of_files(site);
}

constexpr bool is_sleep(Site site) {
  return site == kSite_nanosleep || site == kSite_clock_nanosleep || site == kSite_usleep || site == kSite_sleep;
}

constexpr bool is_of_streams(Site site) {
  switch (site) {
    case kSite_read:
    case kSite_readv:
    case kSite_write:
    case kSite_writev:
    case kSite_sendfile:
    case kSite_recv:
    case kSite_recvfrom:
    case kSite_recvmsg:
    case kSite_recvmmsg:
    case kSite_send:
    case kSite_sendto:
    case kSite_sendmsg:
    case kSite_sendmmsg:
      return true;
    default:
      return false;
  }
}

template <typename First, typename... Further>
bool never_waits_for_others(Site site, First first, Further...) {
  if constexpr (std::is_same_v<First, int>) {
    const Descriptor d = is_of_streams(site) ? known_descriptor(first) : Descriptor{};
    return d.kind == DescriptorKind::kStream && !d.may_block;
  }
  return false;
}

template <typename... Arguments>
void recount_before_call(Site site, Arguments... arguments) {
  if (is_sleep(site) || waits_for_storage(site, arguments...)) recount();
}

// After the call: what the thread was off the CPU for was the call.
template <typename... Arguments>
void look_after_call(Site site, Arguments... arguments) {
  if (!was_switched()) return;
  if (is_sleep(site))
    look_after_call(kOffSleep);
  else if (waits_for_storage(site, arguments...))
    look_after_call(kOffStorage);
  else
    look_after_call(never_waits_for_others(site, arguments...) ? kOffMemory | kOnlyWithFaults : 0);
}

}  // namespace vprof

#endif
