// What external calls sleep for: storage (a device, or the file system on it), or a time to pass.
#ifndef VPROF_STORAGE_H
#define VPROF_STORAGE_H

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

// Of a call with these arguments that has been made.
template <typename First, typename... Further>
bool waits_for_storage(Site site, First first, Further...) {
  if constexpr (std::is_same_v<First, int>)
    if (is_of_any_descriptor(site)) return known_descriptor(first).kind == DescriptorKind::kFile;
  return is_of_files(site);
}

constexpr bool is_sleep(Site site) {
  return site == kSite_nanosleep || site == kSite_clock_nanosleep || site == kSite_usleep || site == kSite_sleep;
}

// After the call: what the thread was off the CPU for was the call.
template <typename... Arguments>
void look_after_call(Site site, Arguments... arguments) {
  if (!was_switched() || t_thread.slot == nullptr) return;
  look(t_thread.slot, is_sleep(site) ? kOffSleep : waits_for_storage(site, arguments...) ? kOffStorage : 0);
}

}  // namespace vprof

#endif
