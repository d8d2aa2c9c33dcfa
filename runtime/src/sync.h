// Waits and releases of any primitive: from "found busy" to a BLOCKED record that names who ended the wait.
//
//     waiter:    w = begin_wait; block; peer = find_peer(w); write_blocked(w, peer); end_wait(w)
//     releaser:  r = begin_release; the real release; finish_release(r)
//
// Source: docs/algorithms.md section 7; records: TRACE_FORMAT.md section 2, BLOCKED, OBJECT, PEER. The time of a
// wake-up is taken just before the real release and only if somebody waits then; who comes between that look and the
// release is seen by finish_release, whose time is used if it is not after the waiter's resume, else flagged as
// unknown.
//
// REQUIRES for all: attached(). Safe in signal handlers, except that a wait or release of a handler is not nested into
// one of the same primitive that it interrupts.
#ifndef VPROF_SYNC_H
#define VPROF_SYNC_H

#include "holds.h"
#include "mappings.h"

namespace vprof {

struct Wait {
  ObjectClass cls;
  uint64_t object;
  uint64_t began;
  uint64_t stamp_before;
  ObjectEntry *entry;  // null: the table is full, the waker stays unknown
};

struct Release {
  ObjectClass cls;
  uint64_t object;
  uint64_t key;
  const std::atomic<uint64_t> *home;  // 0 there: still nobody has waited
  uint64_t stamp;
  ObjectEntry *entry;  // null: nobody had ever waited
  EndedHold hold;
};

struct Peer {
  uint32_t uid;
  uint64_t time;
  uint32_t flags;  // TRACE_FORMAT.md section 2.2
};

constexpr Peer kNobody = {0, 0, kPeerUnknown};
constexpr Peer kTimedOut = {0, 0, kPeerUnknown | kPeerTimedOut};

// Whether a stamp from before the wait may explain it. kAlways: of an object that is stamped at each release, found
// busy, the last stamp is the release that let us in (mutex, join). kOnlyDuringWait: an old stamp tells nothing
// (semaphore, condition, described).
enum class Trust { kAlways, kOnlyDuringWait };

// The session's name of what lies at `address`. In memory shared by processes (mappings.h): the same in all of them,
// wherever it is mapped. Else different in each process, since children of fork have their parent's addresses: user
// addresses have 47 bits, pids 22, and the pid changes the upper bits, which are equal in all of a process's addresses.
inline uint64_t object_id(uint64_t address) {
  const uint64_t shared = g_mappings.find(address);
  return shared != 0 ? shared : address ^ uint64_t { g_session.pid } << 42;
}
inline uint64_t object_id(const void *address) {
  return object_id(reinterpret_cast<uint64_t>(address));
}

// The session's name of an object or task that a descriptor or the program names by `value`: as object_id if the value
// can be an address (2^16 to 2^47), else the value itself, which means the same in all processes.
uint64_t described_id(uint64_t value);

uint32_t own_uid();  // 0: not known

Wait begin_wait(ObjectClass cls, uint64_t object);
Peer find_peer(const Wait &wait, uint64_t resumed, Trust trust);
void write_blocked(const Wait &wait, Peer peer, uint64_t resumed);
void end_wait(const Wait &wait);

// All of the end of a wait on one object, by the errno it ended with: 0, or EOWNERDEAD, ETIMEDOUT and EINTR, which were
// waits that no release ended. Other errors were no waits.
void finish_wait(const Wait &wait, int error, Trust trust);

// A wait that a call is in. Its thread may never come back: it is cancelled there, or a signal handler jumps out. So
// the thread keeps it, and a jump or the thread's end closes it. Nothing of it hangs in the C library, whose list of
// cleanup handlers would lead to a dead frame after the jump. A few at a time, for waits of signal handlers within
// waits; what is beyond that is not kept.
struct OpenWait {
  Wait wait;
  uint64_t frame;  // where the call is; 0: nothing (yet)
};
constexpr uint32_t kOpenWaits = 4;
struct OpenWaits {
  OpenWait at[kOpenWaits];
  uint32_t count;  // signal handlers may come between any two instructions, and leave it as they found it
};
extern __thread OpenWaits t_waits __attribute__((tls_model("initial-exec")));
uint32_t open_wait(const Wait &wait);  // returns its place
void close_wait(uint32_t place);       // errno is kept

// The thread is about to jump to where the stack pointer is `stack_pointer`, or ends.
void leave_waits(uint64_t stack_pointer);
constexpr uint64_t kThreadEnd = ~uint64_t{0};

// Who stamped the object, with the time, from `began` to `resumed`; not the calling thread.
Peer released_within(ObjectClass cls, uint64_t object, uint64_t began, uint64_t resumed);

// The one who acted last, of two known or unknown.
inline Peer later(Peer a, Peer b) {
  if (a.flags & kPeerUnknown) return b;
  if (b.flags & kPeerUnknown) return a;
  return b.time > a.time ? b : a;
}

// Releases. Objects of different classes may have one name. Never 0.
inline uint64_t table_key(ObjectClass cls, uint64_t object) {
  const uint64_t key = object ^ static_cast<uint64_t>(cls) * 0xD6E8FEB86659FD93u;
  return key != 0 ? key : 1;
}

Release begin_release_of_waited(ObjectClass cls, uint64_t object, uint64_t key, const std::atomic<uint64_t> *home);
void finish_release_of_waited(const Release &release);

// Of an object that nobody has ever waited for: a look at its place in the table, before and after.
inline Release begin_release(ObjectClass cls, uint64_t object) {
  const uint64_t key = table_key(cls, object);
  const std::atomic<uint64_t> *home = &g_session.arena->objects.home(key)->key;
  if (__builtin_expect(home->load(std::memory_order_acquire) == 0, 1))
    return {cls, object, key, home, 0, nullptr, {0, false}};
  return begin_release_of_waited(cls, object, key, home);
}
inline void finish_release(const Release &release) {
  if (__builtin_expect(release.home->load(std::memory_order_acquire) == 0, 1)) return;
  finish_release_of_waited(release);
}

// The real release is `end`. Of an object that nobody has ever waited for nothing is kept meanwhile but its place.
template <typename End>
auto release_by(ObjectClass cls, uint64_t object, End end) {
  const uint64_t key = table_key(cls, object);
  const std::atomic<uint64_t> *home = &g_session.arena->objects.home(key)->key;
  if (__builtin_expect(home->load(std::memory_order_acquire) == 0, 1)) {
    const auto result = end();
    if (__builtin_expect(home->load(std::memory_order_acquire) != 0, 0))
      finish_release_of_waited({cls, object, key, home, 0, nullptr, {0, false}});
    return result;
  }
  const Release release = begin_release_of_waited(cls, object, key, home);
  const auto result = end();
  finish_release(release);
  return result;
}

// The thread has the object of a class that is_held, without having waited for it.
void begin_hold_of_waited(uint64_t key);
inline void begin_hold(ObjectClass cls, uint64_t object) {
  const uint64_t key = table_key(cls, object);
  if (__builtin_expect(g_session.arena->objects.home(key)->key.load(std::memory_order_acquire) == 0, 1)) return;
  begin_hold_of_waited(key);
}

// A release on a slow path: always takes the time. `remember`: also for an object nobody has waited for yet.
void release_with_time(ObjectClass cls, uint64_t object, bool remember);

// The entry of an object, made if need be; null if the table is full there.
ObjectEntry *entry_of(ObjectClass cls, uint64_t object);

// The calling thread ends, in its slot's last moment: wakes who joins it.
void wake_joiner(Slot *slot);

}  // namespace vprof

#endif
