// From the library's constructor to fork: attaching to the session, and following the process.
//
// Everything the runtime needs is opened, checked and mapped here, before main; nothing is opened later but for probes
// before bodies (shared_text.h), so setuid, chroot, umask, chdir and closed descriptors do not matter. At exit nothing
// is to be done: records lie in the mapping already.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "fibers.h"
#include "memory_limits.h"
#include "off_cpu.h"
#include "restriction.h"
#include "shadow_stack.h"
#include "stacks.h"
#include "wait_stacks.h"

namespace vprof {

Session g_session;
extern "C" uint64_t vprof_ring_mask = 0;

// A file that is our user's, closed to all others.
static bool is_private_file(const struct stat &st) {
  return S_ISREG(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

// The session's directory: ours alone; or root's, where only root may change what is in it (`--user`).
static bool is_session_directory(const struct stat &st) {
  const mode_t forbidden = st.st_uid == geteuid() ? 077 : 022;
  return S_ISDIR(st.st_mode) && (st.st_uid == geteuid() || st.st_uid == 0) && (st.st_mode & forbidden) == 0;
}

// `size` is the file's afterwards; of it the first `most` bytes are mapped.
static void *map_private_file(int directory, const char *name, size_t least, size_t most, size_t *size) {
  const int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat st;
  void *p = MAP_FAILED;
  if (fstat(fd, &st) == 0 && is_private_file(st) && static_cast<size_t>(st.st_size) >= least)
    p = mmap(nullptr, std::min(static_cast<size_t>(st.st_size), most), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (p == MAP_FAILED) return nullptr;
  *size = static_cast<size_t>(st.st_size);
  return p;
}

// Nobody but us can replace the session or what is in it: not in a folder where all may rename.
static bool lies_safely(int directory) {
  struct stat st;
  return fstatat(directory, "..", &st, 0) == 0 && ((st.st_mode & S_IWOTH) == 0 || (st.st_mode & S_ISVTX) != 0);
}

// Of this version. `layout` is a copy that was checked.
static bool is_ours(const Arena *arena, Layout *layout) {
  if (!is_published(arena->magic, kArenaMagic)) return false;
  *layout = {read_once(arena->layout.slots), read_once(arena->layout.ring_records)};
  return layout->is_possible();
}

// As much of the arena as the process may map by its limits: its first slots; none if these would be too few.
static Layout within_limits(Layout layout) {
  constexpr uint32_t kLeast = 4;
  const size_t room = room_for_session(), fixed = Arena::slots_offset() + kMaxSites;
  const size_t fit = room > fixed ? (room - fixed) / (layout.stride() + kMaxFrames * sizeof(uint16_t)) : 0;
  if (fit < std::min(layout.slots, kLeast)) return {0, layout.ring_records};
  if (fit < layout.slots) layout.slots = static_cast<uint32_t>(fit);
  return layout;
}

// The layout to be mapped. False if there is none, which the session learns where the limits are why.
static bool find_room(int directory, Layout *mapped) {
  static_assert(offsetof(Arena, without_room) + sizeof(uint32_t) <= kPage);
  size_t size;
  void *page = map_private_file(directory, "arena", Arena::slots_offset(), kPage, &size);
  if (page == nullptr) return false;
  Arena *arena = static_cast<Arena *>(page);
  const bool ours = is_ours(arena, mapped);
  if (ours) *mapped = within_limits(*mapped);
  const bool found = ours && mapped->slots != 0;
  if (ours && !found) arena->without_room.fetch_add(1, std::memory_order_relaxed);
  munmap(page, kPage);
  return found;
}

// Whole, as reading beyond a file's end would kill the program; and `mapped` is a part of it.
static bool is_whole(const Arena *arena, size_t size, Layout mapped) {
  Layout whole;
  return is_ours(arena, &whole) && whole.arena_size() == size && whole.ring_records == mapped.ring_records &&
         whole.slots >= mapped.slots;
}

static bool map_session(int directory) {
  Layout mapped;
  if (!find_room(directory, &mapped)) return false;
  size_t arena_size = 0, switches_size = 0;
  Arena *arena = static_cast<Arena *>(
      map_private_file(directory, "arena", Arena::slots_offset(), mapped.arena_size(), &arena_size));
  if (arena == nullptr) return false;
  void *switches = nullptr;
  if (is_whole(arena, arena_size, mapped))
    switches = map_private_file(directory, "switches", kMaxSites, kMaxSites, &switches_size);
  if (switches == nullptr || !renew_call_numbers(mapped)) {
    // As much as was mapped: that of a file which says that it is larger than it is lies before others' memory.
    munmap(arena, std::min(arena_size, mapped.arena_size()));
    return false;
  }
  g_session.layout = mapped;
  g_session.hold = read_once(arena->hold) != 0;
  g_session.lock_events = read_once(arena->lock_events) != 0;
  vprof_ring_mask = mapped.ring_records - 1;
  g_session.switches = static_cast<unsigned char *>(switches);
  g_session.clock = read_once(arena->clock);
  g_session.pid = static_cast<uint32_t>(getpid());
  g_session.program = program_identity("/proc/self/exe");
  g_session.arena = arena;
  return true;
}

// exec keeps the pid but not the threads: what an earlier program of this process left live has ended.
static void end_slots_of_former_program() {
  for (uint32_t i = 0; i < g_session.layout.slots; ++i) {
    std::atomic<uint64_t> &owner = g_session.layout.slot(g_session.arena, i)->owner;
    uint64_t live = slot_owner(SlotState::kLive, g_session.pid);
    owner.compare_exchange_strong(live, slot_owner(SlotState::kEnded, g_session.pid));
    uint64_t claimed = slot_owner(SlotState::kClaimed, g_session.pid);
    owner.compare_exchange_strong(claimed, slot_owner(SlotState::kFree, 0));
  }
}

static __thread Creator t_forker;

static void before_fork() {
  const Slot *slot = current_slot();
  t_forker = {slot != nullptr ? slot->uid : 0, ticks()};
}

// The child's thread takes a slot of its own on its first record; its open frames are those of the parent and are not
// followed. Without memory for call numbers of its own it goes on with its copy of the parent's.
static void in_forked_child() {
  g_session.pid = own_tid();
  if (!is_restricted()) renew_call_numbers(g_session.layout);
  forget_slot(t_forker);
  forget_fibers();
}

bool attach(const char *directory) {
  const int fd = open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st;
  const bool ok =
      fstat(fd, &st) == 0 && is_session_directory(st) && lies_safely(fd) && prepare_threads() && map_session(fd);
  close(fd);
  if (!ok) return false;
  end_slots_of_former_program();
  prepare_off_cpu();
  prepare_entry();
  prepare_wait_stacks();
  if (syscall(SYS_gettid) == getpid()) t_stack = main_stack();
  pthread_atfork(before_fork, nullptr, in_forked_child);
  return true;
}

// By system calls: the program's probes may see the C library's functions.
int open_session_file(const char *name, int flags) {
  const char *path = secure_getenv("VPROF_SESSION");
  if (path == nullptr) return -1;
  const long directory = syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0) return -1;
  struct stat st;
  const bool safe = fstat(static_cast<int>(directory), &st) == 0 && is_session_directory(st) &&
                    lies_safely(static_cast<int>(directory));
  const long file = safe ? syscall(SYS_openat, directory, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
  syscall(SYS_close, directory);
  if (file < 0) return -1;
  if (fstat(static_cast<int>(file), &st) == 0 && is_private_file(st)) return static_cast<int>(file);
  syscall(SYS_close, file);
  return -1;
}

void start_once() {
  static bool started = false;
  if (started) return;
  started = true;
  const int saved_errno = errno;
  const char *directory = secure_getenv("VPROF_SESSION");
  if (directory != nullptr && directory[0] != '\0') attach(directory);
  errno = saved_errno;
}

// Before the constructors of instrumented modules (vprof_begin.c has 102). Those of a library that does not name
// libvprof among what it needs may run before all of ours: then its registration starts us.
__attribute__((constructor(101))) static void start() {
  start_once();
}

}  // namespace vprof
