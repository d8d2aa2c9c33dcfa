#include "session_files.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace vprof {

static std::string failure(const std::string &what, int error) {
  return what + ": " + strerror(error);
}

static std::string find_owner(const std::string &user, uid_t *uid, gid_t *gid) {
  const passwd *entry = getpwnam(user.c_str());
  if (entry == nullptr) return "there is no user '" + user + "'";
  *uid = entry->pw_uid;
  *gid = entry->pw_gid;
  return "";
}

std::string SessionFiles::map_new_file(const char *name, size_t size, const Owner &owner, void **mapping) {
  const int fd = openat(folder_, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return failure("cannot create " + path(name), errno);
  fchmod(fd, 0600);  // whatever the umask
  // Allocated, not sparse: a full tmpfs must fail here and not kill the program with SIGBUS later.
  int error = posix_fallocate(fd, 0, static_cast<off_t>(size));
  if (error == 0) {
    *mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*mapping == MAP_FAILED) error = errno;
  }
  const bool given = !owner.other || fchown(fd, owner.uid, owner.gid) == 0;
  const int refusal = errno;
  close(fd);
  if (error != 0)
    return failure(
        "cannot allocate " + std::to_string(size >> 20) + " MB for " + path(name) + " (fewer --slots or --ring-bytes?)",
        error);
  return given ? "" : failure("cannot give " + path(name) + " to another user (only root can)", refusal);
}

// Only its header is allocated: programs do it as they need more. Sparse up to a size that the limit of files allows.
std::string SessionFiles::make_text(const Owner &owner) {
  void *header = nullptr;
  const std::string error = map_new_file("text", kTextHeaderBytes, owner, &header);
  if (!error.empty()) return error;
  text_ = static_cast<TextHeader *>(header);
  text_file_ = openat(folder_, "text", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (text_file_ < 0) return failure("cannot open " + path("text"), errno);
  rlimit limit{};
  const bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < kMostTextBytes;
  if (ftruncate(text_file_, static_cast<off_t>(limited ? limit.rlim_cur : kMostTextBytes)) != 0)
    return failure("cannot make " + path("text"), errno);
  text_->used = kTextHeaderBytes;
  memcpy(text_->session_id, constants_.id, sizeof constants_.id);
  memcpy(text_->magic, kTextMagic, sizeof kTextMagic);
  return "";
}

void SessionFiles::init_arena(const SessionOptions &options) {
  constants_.clock = best_clock();
  constants_.hold = options.hold;
  constants_.lock_events = options.lock_events;
  while (getrandom(constants_.id, sizeof constants_.id, 0) < 0) continue;  // only EINTR can fail 16 bytes
  arena_->size = constants_.layout.arena_size();
  arena_->layout = constants_.layout;
  arena_->clock = constants_.clock;
  arena_->hold = constants_.hold ? 1 : 0;
  arena_->lock_events = constants_.lock_events ? 1 : 0;
  memcpy(arena_->session_id, constants_.id, sizeof constants_.id);
  arena_->heartbeat_ns.store(monotonic_ns(), std::memory_order_relaxed);
  for (uint32_t i = 0; i < constants_.layout.slots; ++i) constants_.layout.slot(arena_, i)->prepare();
  publish(arena_->magic, kArenaMagic);
}

// Whether all may rename what is in the folder of `directory`: programs do not join a session there
// (src/lifecycle.cpp).
static bool lies_open_to_all(int directory) {
  struct stat st;
  return fstatat(directory, "..", &st, 0) == 0 && (st.st_mode & S_IWOTH) != 0 && (st.st_mode & S_ISVTX) == 0;
}

// What is opened is what was made: a directory of ours, were it exchanged meanwhile.
std::string SessionFiles::make_directory(const std::string &path) {
  if (mkdir(path.c_str(), 0700) != 0) {
    const int error = errno;
    const std::string hint = error == EEXIST ? " (a session is running there, or remove it)" : "";
    return failure("cannot create session directory " + path, error) + hint;
  }
  directory_ = path;
  while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
  folder_ = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder_ < 0) return failure("cannot open " + directory_, errno);
  struct stat st;
  if (fstat(folder_, &st) != 0 || st.st_uid != geteuid()) return directory_ + " was exchanged: choose another folder";
  parent_ = openat(folder_, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (lies_open_to_all(folder_)) return "all users may write to the folder of " + directory_ + ": choose another";
  fchmod(folder_, 0700);  // whatever the umask
  return "";
}

std::string SessionFiles::create(const SessionOptions &options) {
  Owner owner;
  std::string error;
  if (!options.user.empty()) {
    error = find_owner(options.user, &owner.uid, &owner.gid);
    owner.other = error.empty() && owner.uid != geteuid();
  }
  if (error.empty()) error = make_directory(options.directory);
  if (!error.empty()) return error;
  constants_.layout = {options.slots, static_cast<uint32_t>(options.ring_bytes / sizeof(Record))};
  void *arena = nullptr, *switches = nullptr;
  error = map_new_file("arena", constants_.layout.arena_size(), owner, &arena);
  if (error.empty()) error = map_new_file("switches", kMaxSites, owner, &switches);
  if (!error.empty()) return error;
  arena_ = static_cast<Arena *>(arena);
  switches_ = static_cast<unsigned char *>(switches);
  init_arena(options);
  error = make_text(owner);
  if (!error.empty()) return error;
  if (owner.other) fchmod(folder_, 0711);
  return "";
}

SessionFiles::~SessionFiles() {
  if (arena_ != nullptr) arena_->heartbeat_ns.store(0, std::memory_order_relaxed);
  if (text_file_ >= 0) close(text_file_);
  if (folder_ < 0) return;
  for (const char *name : {"arena", "switches", "text", "control"}) unlinkat(folder_, name, 0);
  unlinkat(parent_, directory_.c_str() + directory_.rfind('/') + 1, AT_REMOVEDIR);
  close(parent_);
  close(folder_);
}

}  // namespace vprof
