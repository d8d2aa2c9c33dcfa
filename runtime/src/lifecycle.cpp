// From the library's constructor to fork: attaching to the session, and following the process.
//
// Everything the runtime needs is opened, checked and mapped here, before main; nothing is opened later, so setuid,
// chroot, umask, chdir and closed descriptors do not matter. At exit nothing is to be done: records lie in the mapping
// already.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "off_cpu.h"
#include "shadow_stack.h"

namespace vprof {

Session g_session;

// Ours: the right kind, our user's, closed to all others.
static bool is_private(const struct stat &st, mode_t kind) {
  return (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

static void *map_private_file(int directory, const char *name, size_t least, size_t *size) {
  const int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return nullptr;
  struct stat st;
  void *p = MAP_FAILED;
  if (fstat(fd, &st) == 0 && is_private(st, S_IFREG) && static_cast<size_t>(st.st_size) >= least)
    p = mmap(nullptr, static_cast<size_t>(st.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
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

// Of this version, and whole: reading beyond a file's end would kill the program.
static bool is_whole(Arena *arena, size_t size) {
  if (memcmp(arena->magic, kArenaMagic, sizeof kArenaMagic) != 0 || arena->size != size || arena->slot_count == 0 ||
      arena->slot_stride < sizeof(Slot) ||
      size != Arena::slots_offset() + size_t{arena->slot_count} * arena->slot_stride)
    return false;
  return arena->slot_stride == Arena::stride_for(arena->slot(0)->ring.capacity() * sizeof(Record));
}

static bool map_session(int directory) {
  size_t arena_size = 0, switches_size = 0;
  Arena *arena = static_cast<Arena *>(map_private_file(directory, "arena", Arena::slots_offset(), &arena_size));
  if (arena == nullptr) return false;
  void *switches = nullptr;
  if (is_whole(arena, arena_size)) switches = map_private_file(directory, "switches", kMaxSites, &switches_size);
  if (switches == nullptr || !renew_call_numbers(arena)) {
    munmap(arena, arena_size);
    return false;
  }
  g_session.switches = static_cast<unsigned char *>(switches);
  g_session.clock = arena->clock;
  g_session.pid = static_cast<uint32_t>(getpid());
  g_session.program = program_identity("/proc/self/exe");
  g_session.arena = arena;
  return true;
}

// exec keeps the pid but not the threads: what an earlier program of this process left live has ended.
static void end_slots_of_former_program() {
  Arena *arena = g_session.arena;
  for (uint32_t i = 0; i < arena->slot_count; ++i) {
    std::atomic<uint64_t> &owner = arena->slot(i)->owner;
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
  g_session.pid = static_cast<uint32_t>(getpid());
  renew_call_numbers(g_session.arena);
  forget_slot(t_forker);
}

bool attach(const char *directory) {
  const int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st;
  const bool ok =
      fstat(fd, &st) == 0 && is_private(st, S_IFDIR) && lies_safely(fd) && prepare_threads() && map_session(fd);
  close(fd);
  if (!ok) return false;
  end_slots_of_former_program();
  prepare_off_cpu();
  prepare_entry();
  pthread_atfork(before_fork, nullptr, in_forked_child);
  return true;
}

// Before the constructors of instrumented modules (vprof_begin.c has 102).
__attribute__((constructor(101))) static void start() {
  const int saved_errno = errno;
  const char *directory = secure_getenv("VPROF_SESSION");
  if (directory != nullptr && directory[0] != '\0') attach(directory);
  errno = saved_errno;
}

}  // namespace vprof
