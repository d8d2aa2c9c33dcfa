// mmap, munmap, mremap, shmat, shmdt, sem_open, sem_close: the C library's functions, wrapped to know the writable
// shared mappings (mappings.h). These that the kernel serves, mprotect and madvise sleep while another thread of the
// process changes its memory map or has a page mapped: that time is told as kOffMemory (off_cpu.h).
//
// Each makes the system call itself, as libc's do (raw_syscall.h); sem_open maps inside libc, so its result is looked
// at. Without a session nothing else happens. Not seen: mappings made by direct system calls, before the runtime has
// attached, and made writable later.
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose.h"
#include "mappings.h"
#include "memory_limits.h"
#include "off_cpu.h"
#include "raw_syscall.h"
#include "restriction.h"
#include "session.h"
#include "uring.h"

namespace vprof {

// The system call, which changes the memory map.
template <typename... Arguments>
static long change_map(long number, Arguments... arguments) {
  if (!attached()) return vprof_raw_syscall(number, arguments...);
  look_before_call();
  recount();
  const long result = vprof_raw_syscall(number, arguments...);
  look_after_call(kOffMemory);
  return result;
}

static uint64_t address_of(const void *p) {
  return reinterpret_cast<uint64_t>(p);
}

constexpr uint64_t kAnonymous = 1, kFile = 2, kSystemV = 3;

static uint64_t anonymous_identity() {
  return memory_identity(kAnonymous, g_session.arena->anonymous_mappings.fetch_add(1, std::memory_order_relaxed));
}

static uint64_t identity_of(const struct stat &st) {
  return memory_identity(kFile + (uint64_t{st.st_dev} << 8), st.st_ino);
}

// A device such as /dev/zero gives each mapping memory of its own.
static uint64_t file_identity(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return anonymous_identity();
  return identity_of(st);
}

// Of a page that may be gone.
static bool is_mapped(const void *p) {
  unsigned char resident;
  const uint64_t page = address_of(p) & ~uint64_t{4095};
  return vprof_raw_syscall(SYS_mincore, page, 4096l, &resident) == 0;
}

static bool is_writable_and_shared(int protection, int flags) {
  const int type = flags & MAP_TYPE;
  return (type == MAP_SHARED || type == MAP_SHARED_VALIDATE) && (protection & PROT_WRITE) != 0;
}

static void *map(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
  // Before the call: afterwards the range may belong to another thread's mapping.
  if (attached() && (flags & MAP_FIXED) != 0) g_mappings.forget(address_of(address), length);
  const long result = change_map(SYS_mmap, address, length, protection, flags, fd, offset);
  if (result == -1 || !attached() || !is_writable_and_shared(protection, flags))
    return reinterpret_cast<void *>(result);
  const int saved_errno = errno;
  if (is_restricted() && (flags & MAP_ANONYMOUS) == 0) return reinterpret_cast<void *>(result);
  if ((flags & MAP_ANONYMOUS) == 0)
    note_mapped_ring(fd, static_cast<uint64_t>(offset), reinterpret_cast<void *>(result));
  const uint64_t identity = flags & MAP_ANONYMOUS ? anonymous_identity() : file_identity(fd);
  g_mappings.enter(static_cast<uint64_t>(result), length, identity + static_cast<uint64_t>(offset));
  errno = saved_errno;
  return reinterpret_cast<void *>(result);
}

VPROF_WRAPPER(void *, mmap, (void *address, size_t length, int protection, int flags, int fd, off_t offset),
              VPROF_LABEL("mmap")) {
  return map(address, length, protection, flags, fd, offset);
}

VPROF_WRAPPER(void *, mmap64, (void *address, size_t length, int protection, int flags, int fd, off64_t offset),
              VPROF_LABEL("mmap64")) {
  return map(address, length, protection, flags, fd, offset);
}

VPROF_WRAPPER(int, munmap, (void *address, size_t length), VPROF_LABEL("munmap")) {
  if (attached()) g_mappings.forget(address_of(address), length);
  return static_cast<int>(change_map(SYS_munmap, address, length));
}

// `old_length` 0 duplicates a mapping, MREMAP_DONTUNMAP leaves the old range mapped.
VPROF_WRAPPER(void *, mremap, (void *old, size_t old_length, size_t length, int flags, ...), VPROF_LABEL("mremap")) {
  va_list rest;
  va_start(rest, flags);
  void *const target = flags & MREMAP_FIXED ? va_arg(rest, void *) : nullptr;
  va_end(rest);
  const uint64_t name = attached() ? g_mappings.find(address_of(old)) : 0;
  const bool moves = name != 0 && old_length != 0 && (flags & MREMAP_DONTUNMAP) == 0;
  if (moves) g_mappings.forget(address_of(old), old_length);
  if (attached() && target != nullptr) g_mappings.forget(address_of(target), length);
  const long result = change_map(SYS_mremap, old, old_length, length, flags, target);
  if (result != -1 && name != 0)
    g_mappings.enter(static_cast<uint64_t>(result), length, name);
  else if (moves)
    g_mappings.enter(address_of(old), old_length, name);
  return reinterpret_cast<void *>(result);
}

VPROF_WRAPPER(void *, shmat, (int id, const void *address, int flags), VPROF_LABEL("shmat")) {
  const long result = change_map(SYS_shmat, id, address, flags);
  if (result == -1 || !attached() || is_restricted() || (flags & SHM_RDONLY) != 0)
    return reinterpret_cast<void *>(result);
  const int saved_errno = errno;
  shmid_ds segment;
  if (shmctl(id, IPC_STAT, &segment) == 0) {
    g_mappings.forget(static_cast<uint64_t>(result), segment.shm_segsz);
    g_mappings.enter(static_cast<uint64_t>(result), segment.shm_segsz,
                     memory_identity(kSystemV, static_cast<uint64_t>(id)));
  }
  errno = saved_errno;
  return reinterpret_cast<void *>(result);
}

VPROF_WRAPPER(int, shmdt, (const void *address), VPROF_LABEL("shmdt")) {
  if (attached()) g_mappings.forget(address_of(address), g_mappings.length_at(address_of(address)));
  return static_cast<int>(change_map(SYS_shmdt, address));
}

VPROF_WRAPPER(int, mprotect, (void *address, size_t length, int protection), VPROF_LABEL("mprotect")) {
  return static_cast<int>(change_map(SYS_mprotect, address, length, long{protection}));
}

VPROF_WRAPPER(int, madvise, (void *address, size_t length, int advice), VPROF_LABEL("madvise")) {
  return static_cast<int>(change_map(SYS_madvise, address, length, long{advice}));
}

// Without a session's mappings it would lock nothing of them, nor would they count.
VPROF_WRAPPER(int, mlockall, (int flags), VPROF_LABEL("mlockall")) {
  const long result = vprof_raw_syscall(SYS_mlockall, long{flags});
  if (!attached() || is_restricted() || (flags & MCL_CURRENT) == 0) return static_cast<int>(result);
  if (result != 0) return errno == ENOMEM ? static_cast<int>(lock_around_session(flags)) : -1;
  unlock_session();
  return 0;
}

// Named semaphores: the file of the name (shm_overview(7)) tells which memory it is. The same name gives the same
// address again, so it is entered once.

VPROF_INTERPOSE(sem_t *, sem_open, (const char *name, int flags, mode_t mode, unsigned value),
                (name, flags, mode, value)) {
  sem_t *const semaphore = real_sem_open(name, flags, mode, value);
  if (semaphore == SEM_FAILED || !attached() || is_restricted() || g_mappings.find(address_of(semaphore)) != 0)
    return semaphore;
  const int saved_errno = errno;
  char path[300];
  struct stat st;
  const int length = snprintf(path, sizeof path, "/dev/shm/sem.%s", name[0] == '/' ? name + 1 : name);
  if (length > 0 && static_cast<size_t>(length) < sizeof path && stat(path, &st) == 0)
    g_mappings.enter(address_of(semaphore), sizeof(sem_t), identity_of(st));
  errno = saved_errno;
  return semaphore;
}

VPROF_INTERPOSE(int, sem_close, (sem_t * semaphore), (semaphore)) {
  const int rc = real_sem_close(semaphore);
  if (attached() && !is_restricted() && !is_mapped(semaphore)) g_mappings.forget(address_of(semaphore), sizeof(sem_t));
  return rc;
}

}  // namespace vprof
