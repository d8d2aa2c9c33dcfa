// The session this process is attached to, if any. Set once before any thread of the program runs;
// constant then, but for the pid after fork.
#ifndef VPROF_SESSION_H
#define VPROF_SESSION_H

#include <sys/stat.h>

#include "arena.h"

namespace vprof {

// Names the program behind /proc/self/exe or /proc/PID/exe; 0 = cannot be told.
inline uint64_t program_identity(const char *exe) {
  struct stat st;
  if (stat(exe, &st) != 0) return 0;
  return (uint64_t{st.st_dev} << 40 ^ st.st_ino) | uint64_t{1} << 63;
}

// Private memory: what others write into the arena changes nothing here.
struct Session {
  Arena *arena;             // null: dormant
  unsigned char *switches;  // the whole file `switches`, kMaxSites bytes
  Layout layout;            // of as much of the arena as is mapped here
  bool hold;                // modules wait for the collector's `acked`
  bool lock_events;         // LOCK records are wanted
  uint16_t *call_numbers;   // this process's own, kMaxFrames per slot (shadow_stack.h)
  Clock clock;
  uint32_t pid;      // of this process, also after fork
  uint64_t program;  // program_identity()
  // The wrappers are not called (interpose.h): a program without vprof has loaded libvprof by dlopen, with an
  // instrumented library, so that it comes behind the C library in lookup order. Waits have no edges then.
  bool behind_libc;
};

extern Session g_session;

// The records of each ring less one; for entry.S a word of its own.
extern "C" __attribute__((visibility("hidden"))) uint64_t vprof_ring_mask;
// Since the program has forbidden a thread to read the clock (thread.h).
inline std::atomic<bool> g_silenced;

inline bool attached() {
  return g_session.arena != nullptr && !g_silenced.load(std::memory_order_relaxed);
}
// The ring of a slot of ours.
inline Records records_of(Slot *slot) {
  return {slot->records(), vprof_ring_mask + 1};
}
inline uint64_t ticks() {
  return read_clock(g_session.clock);
}

// Maps the session in `directory`. False if it is not a session of ours (owner, mode, symlink, version): then the
// process stays dormant. Not thread-safe; called by the library's constructor, and by tests.
bool attach(const char *directory);
// Attaches to the session that the environment names, the first time it is called.
void start_once();

// A descriptor of a file of the session, as the environment names it: opened, checked and closed to others as at
// attach. Negative if there is none such.
int open_session_file(const char *name, int flags);

}  // namespace vprof

#endif
