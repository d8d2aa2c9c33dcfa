#include "sync.h"

#include <errno.h>
#include <pthread.h>

#include "described.h"
#include "off_cpu.h"
#include "signals.h"
#include "wait_stacks.h"

namespace vprof {

uint64_t described_id(uint64_t value) {
  constexpr uint64_t kLowestAddress = 1 << 16, kEndOfAddresses = uint64_t{1} << 47;
  return value >= kLowestAddress && value < kEndOfAddresses ? object_id(value) : value;
}

static ObjectTable &table() {
  return g_session.arena->objects;
}

uint32_t own_uid() {
  const Slot *slot = slot_unless_claiming();
  return slot != nullptr ? slot->uid : 0;
}

Wait begin_wait(ObjectClass cls, uint64_t object) {
  const uint64_t began = event_ticks(current_slot());
  ObjectEntry *entry = table().add_waiter(table_key(cls, object));
  const uint64_t stamp = entry != nullptr ? entry->stamp.load(std::memory_order_acquire) : 0;
  return {cls, object, began, stamp, entry};
}

void end_wait(const Wait &wait) {
  if (wait.entry != nullptr) wait.entry->waiters.fetch_sub(1, std::memory_order_relaxed);
}

__thread OpenWaits t_waits __attribute__((tls_model("initial-exec")));

uint32_t open_wait(const Wait &wait) {
  const uint32_t place = t_waits.count;
  if (place >= kOpenWaits) return place;
  t_waits.count = place + 1;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_waits.at[place].wait = wait;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_waits.at[place].frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return place;
}

static void abandon_top() {
  OpenWait &top = t_waits.at[t_waits.count - 1];
  if (top.frame != 0) {
    write_blocked(top.wait, kNobody, ticks());
    end_wait(top.wait);
  }
  top.frame = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  --t_waits.count;
}

// What lies above has been left by a jump that nobody saw.
void close_wait(uint32_t place) {
  if (place >= kOpenWaits) return;
  while (t_waits.count > place + 1) abandon_top();
  t_waits.at[place].frame = 0;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_waits.count = place;
}

void leave_waits(uint64_t stack_pointer) {
  while (t_waits.count != 0) {
    const uint64_t frame = t_waits.at[t_waits.count - 1].frame;
    if (frame != 0 && stack_pointer != kThreadEnd && !frame_is_dead(frame, stack_pointer)) return;
    abandon_top();
  }
}

Peer find_peer(const Wait &wait, uint64_t resumed, Trust trust) {
  const uint64_t stamp = wait.entry != nullptr ? wait.entry->stamp.load(std::memory_order_acquire) : 0;
  const uint32_t uid = Stamp::uid(stamp, g_session.arena->newest_uid.load(std::memory_order_relaxed));
  if (uid == 0 || uid == own_uid()) return kNobody;
  if (Stamp::has_time(stamp)) {
    const uint64_t time = Stamp::time(stamp, resumed);
    if (time >= wait.began) return {uid, time, 0};
  }
  const bool changed = stamp != wait.stamp_before;
  if (trust == Trust::kAlways || changed) return {uid, resumed, kPeerTimeUnknown};
  return kNobody;
}

void write_blocked(const Wait &wait, Peer peer, uint64_t resumed) {
  Slot *slot = current_slot();
  if (slot == nullptr) return;
  look_after_wait(wait.cls, wait.began, resumed);
  const uint64_t peer_time = peer.flags & kPeerUnknown ? resumed : peer.time;
  const Record event[3] = {make_record(Kind::kBlocked, resumed, static_cast<uint32_t>(wait.cls), wait.began),
                           make_record(Kind::kObject, 0, 0, wait.object),
                           make_record(Kind::kPeer, peer_time, peer.flags, peer.uid)};
  if (record(slot, event, 3, Space::kNormal, resumed)) t_described.named.note(wait.began);
  if (resumed > wait.began) sample_wait(slot, resumed - wait.began, resumed);
}

void finish_wait(const Wait &wait, int error, Trust trust) {
  const uint64_t resumed = ticks();
  if (error == 0)
    write_blocked(wait, find_peer(wait, resumed, trust), resumed);
  else if (error == EINTR)
    write_blocked(wait, sender_of_signal(wait.began, resumed), resumed);
  else if (error == ETIMEDOUT || error == EOWNERDEAD)
    write_blocked(wait, error == ETIMEDOUT ? kTimedOut : kNobody, resumed);
  end_wait(wait);
}

Peer released_within(ObjectClass cls, uint64_t object, uint64_t began, uint64_t resumed) {
  const ObjectEntry *entry = table().find(table_key(cls, object));
  const uint64_t stamp = entry != nullptr ? entry->stamp.load(std::memory_order_acquire) : 0;
  const uint32_t uid = Stamp::uid(stamp, g_session.arena->newest_uid.load(std::memory_order_relaxed));
  if (uid == 0 || uid == own_uid() || !Stamp::has_time(stamp)) return kNobody;
  const uint64_t time = Stamp::time(stamp, resumed);
  return time >= began ? Peer{uid, time, 0} : kNobody;
}

static bool has_waiters(const ObjectEntry *entry) {
  return entry->waiters.load(std::memory_order_seq_cst) != 0;
}

// The thread had the object until `time`, while somebody waited (TRACE_FORMAT.md HELD).
static void write_held(ObjectClass cls, uint64_t object, EndedHold hold, uint64_t time) {
  Slot *slot = current_slot();
  if (slot == nullptr || !is_held(cls) || hold.goes_on) return;
  const Record event[2] = {make_record(Kind::kExtended, time, held_aux(cls), hold.since),
                           make_record(Kind::kObject, 0, 0, object)};
  record(slot, event, 2, Space::kNormal, time);
}

Release begin_release_of_waited(ObjectClass cls, uint64_t object, uint64_t key, const std::atomic<uint64_t> *home) {
  const EndedHold hold = is_held(cls) ? end_hold(key) : EndedHold{0, false};
  ObjectEntry *entry = table().find(key);
  if (entry == nullptr) return {cls, object, key, home, 0, nullptr, hold};
  const uint32_t uid = own_uid();
  const uint64_t time = has_waiters(entry) ? ticks() : 0;
  const uint64_t stamp = time != 0 ? Stamp::with_time(uid, time) : Stamp::without_time(uid);
  entry->stamp.store(stamp, std::memory_order_release);
  return {cls, object, key, home, stamp, entry, hold};
}

// The real release has happened: if somebody came to wait since begin_release, tell the time, unless a later release
// has stamped.
void finish_release_of_waited(const Release &release) {
  const uint64_t now = ticks();
  if (Stamp::has_time(release.stamp)) {
    write_held(release.cls, release.object, release.hold, Stamp::time(release.stamp, now));
    return sample_release(now);
  }
  ObjectEntry *entry = release.entry != nullptr ? release.entry : table().find(release.key);
  if (entry == nullptr || !has_waiters(entry)) return;
  uint64_t expected = release.stamp;
  if (entry->stamp.compare_exchange_strong(expected, Stamp::with_time(own_uid(), now), std::memory_order_acq_rel))
    write_held(release.cls, release.object, release.hold, now);
}

void release_with_time(ObjectClass cls, uint64_t object, bool remember) {
  const uint64_t key = table_key(cls, object);
  ObjectEntry *entry = remember ? table().claim(key) : table().find(key);
  if (entry == nullptr) return;
  const uint64_t now = ticks();
  entry->stamp.store(Stamp::with_time(own_uid(), now), std::memory_order_release);
  if (has_waiters(entry)) sample_release(now);
  if (!is_held(cls)) return;
  const EndedHold hold = end_hold(key);
  if (has_waiters(entry)) write_held(cls, object, hold, now);
}

void begin_hold_of_waited(uint64_t key) {
  if (table().find(key) != nullptr) keep_hold(key, ticks());
}

ObjectEntry *entry_of(ObjectClass cls, uint64_t object) {
  return table().claim(table_key(cls, object));
}

void wake_joiner(Slot *slot) {
  const uint64_t self = object_id(reinterpret_cast<void *>(pthread_self()));
  if (slot != nullptr) release_with_time(ObjectClass::kJoin, self, true);
}

}  // namespace vprof
