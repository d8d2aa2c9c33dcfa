// The session directory and its shared files, as the collector makes them (SESSION.md "Directory").
#ifndef VPROF_SESSION_FILES_H
#define VPROF_SESSION_FILES_H

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "../src/shared_text.h"

namespace vprof {

struct SessionOptions {
  std::string directory;
  uint32_t slots = 96;               // threads that can be recorded at one time
  uint64_t ring_bytes = 512u << 10;  // per thread, a power of two
  bool hold = false;
  bool lock_events = false;
  std::string user;  // whose programs may join: the owner of directory and files; "" = ourselves
};

// What is constant in a session, as the collector has made it: the copies in the arena may be overwritten.
struct SessionConstants {
  Layout layout{};
  Clock clock = Clock::kMonotonic;
  bool hold = false;
  bool lock_events = false;
  uint8_t id[16] = {};
};

// Owns the directory: made by create(), removed with its files by the destructor. Programs that are attached keep their
// mappings. The directory stays ours also where its files are another user's, so that nobody else can change what is in
// it; and every step after it was made goes by its descriptor, whatever is renamed around it.
class SessionFiles {
 public:
  SessionFiles() = default;
  SessionFiles(const SessionFiles &) = delete;
  SessionFiles &operator=(const SessionFiles &) = delete;
  ~SessionFiles();

  // Makes the directory (0700; 0711 for another user), `arena` and `switches` (0600, fully allocated, owned by the
  // user), and `text` (the same, but sparse). Returns "" or one line that says what failed.
  std::string create(const SessionOptions &options);

  Arena *arena() const { return arena_; }
  const SessionConstants &constants() const { return constants_; }
  int folder() const { return folder_; }  // descriptor of the directory
  unsigned char *switches() const { return switches_; }
  const TextHeader *text() const { return text_; }
  int text_file() const { return text_file_; }  // its descriptor
  std::string path(const char *name) const { return directory_ + "/" + name; }

 private:
  struct Owner {
    bool other = false;  // than ourselves
    uid_t uid = 0;
    gid_t gid = 0;
  };

  std::string make_directory(const std::string &path);
  std::string map_new_file(const char *name, size_t size, const Owner &owner, void **mapping);
  std::string make_text(const Owner &owner);
  void init_arena(const SessionOptions &options);

  std::string directory_;
  int folder_ = -1;
  int parent_ = -1;  // the folder that it lies in
  SessionConstants constants_;
  Arena *arena_ = nullptr;
  unsigned char *switches_ = nullptr;
  TextHeader *text_ = nullptr;
  int text_file_ = -1;
};

}  // namespace vprof

#endif
