#include "drain.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>

#include "process.h"

namespace vprof {

constexpr uint64_t kPatience_ns = 20000000;

static SlotState state_of(const Slot *slot) {
  return owner_state(slot->owner.load(std::memory_order_acquire));
}

static uint32_t pid_of(const Slot *slot) {
  return owner_pid(slot->owner.load(std::memory_order_relaxed));
}

static bool has_thread(const Slot *slot) {
  const SlotState state = state_of(slot);
  return state == SlotState::kLive || state == SlotState::kEnded;
}

void Drain::meet(Slot *slot, Thread &thread, uint32_t pid) {
  thread = Thread{};
  thread.uid = slot->uid;
  thread.process_start = process_start(pid);
}

void Drain::tell_thread(Slot *slot, Thread &thread) {
  if (thread.told_in_file == recorder_->file_number()) return;
  thread.told_in_file = recorder_->file_number();
  const uint32_t pid = pid_of(slot);
  recorder_->event(JsonObject()
                       .add("event", "thread")
                       .add("uid", thread.uid)
                       .add("pid", pid)
                       .add("tid", slot->tid)
                       .add("name", thread_name(pid, slot->tid))
                       .add("ticks", slot->start_ticks));
}

// Returns the number of records taken.
uint64_t Drain::drain_slot(Slot *slot, Thread &thread) {
  const Ring::Span span = slot->ring.peek();
  thread.drained_ns = monotonic_ns();
  if (span.total() == 0) return 0;
  recorder_->announce();
  if (recorder_->has_file()) tell_thread(slot, thread);
  const bool stored = recorder_->records(thread.uid, span, recorder_->ticks());
  (stored ? thread.stored : thread.unstored) += span.total();
  slot->ring.consume(span.total());
  return span.total();
}

// Whether processes are gone, with one cheap look at each. A zombie is still there: end_dead_processes() finds it.
class Drain::GoneProcesses {
 public:
  bool contains(uint32_t pid) {
    if (pid != looked_at_) gone_ = kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH;
    looked_at_ = pid;
    return gone_;
  }

 private:
  uint32_t looked_at_ = 0;
  bool gone_ = false;
};

bool Drain::run(bool everything) {
  bool busy = false;
  const uint64_t now = monotonic_ns();
  GoneProcesses gone;
  for (uint32_t i = 0; i < arena_->slot_count; ++i) {
    Slot *slot = arena_->slot(i);
    if (!has_thread(slot)) continue;
    // Then its records are complete.
    const bool ended = state_of(slot) == SlotState::kEnded || gone.contains(pid_of(slot));
    Thread &thread = threads_[i];
    if (thread.uid == 0) meet(slot, thread, pid_of(slot));
    const uint64_t waiting = slot->ring.peek().total();
    const bool filling = waiting >= slot->ring.capacity() / 16;
    busy |= filling || ended;  // threads that come and go need their slots soon
    if (everything || ended || filling || now - thread.drained_ns >= kPatience_ns) drain_slot(slot, thread);
    if (ended) end_slot(slot, thread);
  }
  return busy;
}

static std::string frames_json(const Slot *slot) {
  JsonArray frames;
  const uint32_t depth = std::min(slot->depth.load(std::memory_order_acquire), kMaxFrames);
  for (uint32_t d = 0; d < depth; ++d)
    if (slot->frames[d].address.load(std::memory_order_acquire) != kNoFrame) {
      const uint64_t tag = slot->frames[d].tag.load(std::memory_order_relaxed);
      frames.add("[" + std::to_string(site_of(tag)) + "," +
                 std::to_string(slot->frames[d].start.load(std::memory_order_relaxed)) + "," +
                 std::to_string(call_of(tag)) + "]");
    }
  return frames.str();
}

void Drain::tell_open_frames(const Slot *slot, const Thread &thread) {
  const std::string frames = frames_json(slot);
  if (frames == "[]") return;
  recorder_->event(
      JsonObject().add("event", "open").add("uid", thread.uid).add("ticks", recorder_->ticks()).raw("frames", frames));
}

void Drain::report_open_frames() {
  for (uint32_t i = 0; i < arena_->slot_count; ++i) {
    if (!has_thread(arena_->slot(i)) || threads_[i].uid == 0) continue;
    tell_thread(arena_->slot(i), threads_[i]);
    tell_open_frames(arena_->slot(i), threads_[i]);
  }
}

// REQUIRES: the thread is gone and the ring is drained.
void Drain::end_slot(Slot *slot, Thread &thread) {
  const uint64_t now = recorder_->ticks();
  const Ring &ring = slot->ring;
  tell_thread(slot, thread);
  if (ring.lost_count() != 0)
    recorder_->event(JsonObject()
                         .add("event", "loss")
                         .add("uid", thread.uid)
                         .add("from", ring.lost_from())
                         .add("to", now)
                         .add("count", ring.lost_count()));
  tell_open_frames(slot, thread);
  const uint64_t dropped = ring.dropped() + thread.unstored;
  recorder_->event(JsonObject()
                       .add("event", "thread_end")
                       .add("uid", thread.uid)
                       .add("ticks", now)
                       .add("written", ring.committed() + ring.dropped())
                       .add("stored", thread.stored)
                       .add("dropped", dropped));
  ended_dropped_ += dropped;
  thread = Thread{};
  slot->reset();
  slot->owner.store(slot_owner(SlotState::kFree, 0), std::memory_order_release);
}

void Drain::end_dead_processes() {
  std::map<uint32_t, uint64_t> starts;  // one look per process
  for (uint32_t i = 0; i < arena_->slot_count; ++i) {
    Slot *slot = arena_->slot(i);
    const uint64_t owner = slot->owner.load(std::memory_order_acquire);
    if (owner_state(owner) != SlotState::kLive && owner_state(owner) != SlotState::kClaimed) continue;
    const auto found = starts.try_emplace(owner_pid(owner), 0);
    if (found.second) found.first->second = process_start(owner_pid(owner));
    const uint64_t start = found.first->second;
    Thread &thread = threads_[i];
    if (start != 0 && (thread.uid == 0 || thread.process_start == 0 || thread.process_start == start)) continue;
    if (owner_state(owner) == SlotState::kClaimed) {  // died before its first record
      slot->owner.store(slot_owner(SlotState::kFree, 0), std::memory_order_release);
      continue;
    }
    if (thread.uid == 0) meet(slot, thread, owner_pid(owner));
    drain_slot(slot, thread);
    end_slot(slot, thread);
  }
}

uint32_t Drain::live_threads() const {
  uint32_t n = 0;
  for (uint32_t i = 0; i < arena_->slot_count; ++i) n += state_of(arena_->slot(i)) == SlotState::kLive;
  return n;
}

uint32_t Drain::live_processes() const {
  std::set<uint32_t> pids;
  for (uint32_t i = 0; i < arena_->slot_count; ++i)
    if (state_of(arena_->slot(i)) == SlotState::kLive) pids.insert(pid_of(arena_->slot(i)));
  return static_cast<uint32_t>(pids.size());
}

uint64_t Drain::dropped() const {
  uint64_t n = ended_dropped_;
  for (uint32_t i = 0; i < arena_->slot_count; ++i)
    if (has_thread(arena_->slot(i))) n += arena_->slot(i)->ring.dropped() + threads_[i].unstored;
  return n;
}

bool Drain::has_open_frame(uint32_t first, uint32_t count) const {
  for (uint32_t i = 0; i < arena_->slot_count; ++i) {
    const Slot *slot = arena_->slot(i);
    const uint32_t depth = state_of(slot) == SlotState::kLive ? std::min(slot->depth.load(), kMaxFrames) : 0;
    for (uint32_t d = 0; d < depth; ++d)
      if (site_of(slot->frames[d].tag.load(std::memory_order_relaxed)) - first < count) return true;
  }
  return false;
}

}  // namespace vprof
