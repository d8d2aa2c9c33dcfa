#include "session_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vprof {

static std::string failure(const std::string &what, int error) {
  return what + ": " + strerror(error);
}

std::string SessionFiles::map_new_file(const char *name, size_t size, void **mapping) {
  const std::string file = path(name);
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failure("cannot create " + file, errno);
  fchmod(fd, 0600);  // whatever the umask
  // Allocated, not sparse: a full tmpfs must fail here and not kill the program with SIGBUS later.
  int error = posix_fallocate(fd, 0, static_cast<off_t>(size));
  if (error == 0) {
    *mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*mapping == MAP_FAILED) error = errno;
  }
  close(fd);
  if (error == 0) return "";
  return failure(
      "cannot allocate " + std::to_string(size >> 20) + " MB for " + file + " (fewer --slots or --ring-bytes?)", error);
}

static void init_arena(Arena *arena, const SessionOptions &options) {
  arena->size = Arena::size_for(options.slots, options.ring_bytes);
  arena->slot_count = options.slots;
  arena->slot_stride = static_cast<uint32_t>(Arena::stride_for(options.ring_bytes));
  arena->clock = best_clock();
  arena->hold = options.hold ? 1 : 0;
  while (getrandom(arena->session_id, sizeof arena->session_id, 0) < 0) continue;  // only EINTR can fail 16 bytes
  arena->heartbeat_ns.store(monotonic_ns(), std::memory_order_relaxed);
  for (uint32_t i = 0; i < options.slots; ++i) arena->slot(i)->prepare(options.ring_bytes / sizeof(Record));
  memcpy(arena->magic, kArenaMagic, sizeof kArenaMagic);
}

// The directory last: until then nobody else can reach the files.
std::string SessionFiles::give_to(const std::string &user) {
  const passwd *entry = getpwnam(user.c_str());
  if (entry == nullptr) return "there is no user '" + user + "'";
  for (const std::string &file : {path("arena"), path("switches"), directory_})
    if (chown(file.c_str(), entry->pw_uid, entry->pw_gid) != 0)
      return failure("cannot give " + file + " to " + user + " (only root can)", errno);
  return "";
}

// Whether all may rename what is in the folder of `path`: programs do not join a session there (src/lifecycle.cpp).
static bool lies_open_to_all(const std::string &path) {
  struct stat st;
  return stat((path + "/..").c_str(), &st) == 0 && (st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0;
}

std::string SessionFiles::create(const SessionOptions &options) {
  if (mkdir(options.directory.c_str(), 0700) != 0) {
    const int error = errno;
    const std::string hint = error == EEXIST ? " (a session is running there, or remove it)" : "";
    return failure("cannot create session directory " + options.directory, error) + hint;
  }
  directory_ = options.directory;
  if (lies_open_to_all(directory_)) return "all users may write to the folder of " + directory_ + ": choose another";
  chmod(directory_.c_str(), 0700);  // whatever the umask
  void *arena = nullptr, *switches = nullptr;
  std::string error = map_new_file("arena", Arena::size_for(options.slots, options.ring_bytes), &arena);
  if (error.empty()) error = map_new_file("switches", kMaxSites, &switches);
  if (!error.empty()) return error;
  arena_ = static_cast<Arena *>(arena);
  switches_ = static_cast<unsigned char *>(switches);
  init_arena(arena_, options);
  return options.user.empty() ? "" : give_to(options.user);
}

SessionFiles::~SessionFiles() {
  if (arena_ != nullptr) arena_->heartbeat_ns.store(0, std::memory_order_relaxed);
  if (directory_.empty()) return;
  for (const char *name : {"arena", "switches", "control"}) unlink(path(name).c_str());
  rmdir(directory_.c_str());
}

}  // namespace vprof
