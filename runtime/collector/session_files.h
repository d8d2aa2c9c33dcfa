// The session directory and its shared files, as the collector makes them (SESSION.md "Directory").
#ifndef VPROF_SESSION_FILES_H
#define VPROF_SESSION_FILES_H

#include <cstdint>
#include <string>

#include "../src/arena.h"

namespace vprof {

struct SessionOptions {
  std::string directory;
  uint32_t slots = 96;               // threads that can be recorded at one time
  uint64_t ring_bytes = 512u << 10;  // per thread, a power of two
  bool hold = false;
  std::string user;  // whose programs may join: the owner of directory and files; "" = ourselves
};

// Owns the directory: made by create(), removed with its files by the destructor. Programs that are attached keep their
// mappings.
class SessionFiles {
 public:
  SessionFiles() = default;
  SessionFiles(const SessionFiles &) = delete;
  SessionFiles &operator=(const SessionFiles &) = delete;
  ~SessionFiles();

  // Makes directory (0700), `arena` and `switches` (0600, fully allocated), owned by the user. Returns "" or one line
  // that says what failed.
  std::string create(const SessionOptions &options);

  Arena *arena() const { return arena_; }
  unsigned char *switches() const { return switches_; }
  std::string path(const char *name) const { return directory_ + "/" + name; }

 private:
  std::string map_new_file(const char *name, size_t size, void **mapping);
  std::string give_to(const std::string &user);

  std::string directory_;
  Arena *arena_ = nullptr;
  unsigned char *switches_ = nullptr;
};

}  // namespace vprof

#endif
