#include "drain.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "fitting.h"
#include "process.h"

namespace vprof {

constexpr uint64_t kPatience_ns = 50000000;
constexpr uint64_t kGonePeriod_ns = 5000000;

static SlotState state_of(const Slot *slot) {
  return owner_state(slot->owner.load(std::memory_order_acquire));
}

static uint32_t pid_of(const Slot *slot) {
  return owner_pid(slot->owner.load(std::memory_order_relaxed));
}

Drain::Drain(Arena *arena, Layout layout, Recorder *recorder)
    : arena_(arena), recorder_(recorder), capacity_(layout.ring_records), threads_(layout.slots), copy_(capacity_) {
  for (uint32_t i = 0; i < layout.slots; ++i) slots_.push_back(layout.slot(arena, i));
}

static bool has_thread(const Slot *slot) {
  const SlotState state = state_of(slot);
  return state == SlotState::kLive || state == SlotState::kEnded;
}

void Drain::meet(Slot *slot, Thread &thread, uint32_t pid) {
  thread = Thread{};
  thread.uid = std::max(slot->uid, 1u);
  thread.process_start = process_start(pid).value_or(0);
}

void Drain::tell_thread(Slot *slot, Thread &thread) {
  if (thread.told_in_file == recorder_->file_number()) return;
  thread.told_in_file = recorder_->file_number();
  const uint32_t pid = pid_of(slot);
  const bool interposed = slot->behind_libc == 0;
  if (!interposed && uninterposed_.size() < kMostNamed) uninterposed_.emplace(pid, thread_name(pid, pid));
  JsonObject event;
  event.add("event", "thread")
      .add("uid", thread.uid)
      .add("pid", as_id(pid))
      .add("tid", as_id(slot->tid))
      .add("name", thread_name(pid, slot->tid))
      .add("ticks", not_after(recorder_->ticks(), slot->start_ticks))
      .add("off_cpu", slot->off_cpu != 0 ? "rseq" : "unknown")
      .raw("interposed", interposed ? "true" : "false");
  if (slot->fiber != 0) event.raw("fiber", "true");
  recorder_->event(event);
}

// Once per file.
void Drain::tell_stray(const Slot *slot, Thread &thread) {
  const uint64_t strayed = slot->strayed.load(std::memory_order_relaxed);
  if (strayed == 0 || thread.strayed_in_file == recorder_->file_number()) return;
  thread.strayed_in_file = recorder_->file_number();
  const uint64_t ticks = not_after(recorder_->ticks(), strayed);
  recorder_->event(JsonObject().add("event", "stray").add("uid", thread.uid).add("ticks", ticks));
}

// Once per thread: its process has overwritten the arena.
void Drain::tell_damage(const Slot *slot, Thread &thread) {
  if (thread.damaged) return;
  thread.damaged = true;
  fprintf(stderr, "vprof-collector: process %u has overwritten the session's memory: records of thread %u are wrong\n",
          pid_of(slot), thread.uid);
}

// Stored from a copy: the checksum must fit what is written even if the ring is overwritten meanwhile, and the thread
// has its space back before the disk has taken what was there.
void Drain::drain_slot(Slot *slot, Thread &thread) {
  if (slot->ring.committed() - thread.taken() > capacity_) tell_damage(slot, thread);
  const Ring::Span span = committed(slot, thread);
  thread.drained_ns = monotonic_ns();
  if (span.total() == 0) return;
  Record *copied = copy_.data();
  for (int i = 0; i < 2; ++i) copied = std::copy_n(span.first[i], span.count[i], copied);
  slot->ring.consume_to(thread.taken() + span.total());
  recorder_->announce();
  if (recorder_->has_file()) tell_thread(slot, thread);
  const Ring::Span copy = {{copy_.data(), copied}, {span.total(), 0}};
  const bool stored = recorder_->records(thread.uid, copy, recorder_->ticks());
  (stored ? thread.stored : thread.unstored) += span.total();
}

// Whether processes are gone, with one cheap look at each. A zombie is still there: end_dead_processes() finds it.
class Drain::GoneProcesses {
 public:
  bool contains(uint32_t pid) {
    if (pid != looked_at_) gone_ = !can_be_process(pid) || (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH);
    looked_at_ = pid;
    return gone_;
  }

 private:
  uint32_t looked_at_ = 0;
  bool gone_ = false;
};

// Most slots are empty, and each lies in pages of its own: all are looked at only if there may be a new thread.
void Drain::find_threads() {
  const uint32_t newest = arena_->newest_uid.load(std::memory_order_acquire);
  if (all_known_ && newest == newest_known_) return;
  newest_known_ = newest;
  all_known_ = true;
  known_.clear();
  for (size_t i = 0; i < slots_.size(); ++i) {
    all_known_ &= state_of(slots_[i]) != SlotState::kClaimed;  // it may have its number already
    if (!has_thread(slots_[i])) continue;
    if (threads_[i].uid == 0) meet(slots_[i], threads_[i], pid_of(slots_[i]));
    known_.push_back(i);
  }
}

// An empty ring takes a sudden burst of 15 million records per second, if we get a CPU at once: the default ring of
// 32,768 records for 2 ms. Smaller ones are no reason to look all the time.
uint64_t Drain::longest_wait_ns() const {
  constexpr uint64_t kLeast_ns = 2000000, kMost_ns = 5000000, kPerRecord_ns = 64;
  return std::clamp(capacity_ * kPerRecord_ns, kLeast_ns, kMost_ns);
}

uint64_t Drain::run(bool everything) {
  const uint64_t now = monotonic_ns();
  const uint64_t elapsed_ns = now - looked_ns_;
  looked_ns_ = now;
  const bool look_for_gone = everything || now - looked_for_gone_ns_ >= kGonePeriod_ns;
  if (look_for_gone) looked_for_gone_ns_ = now;
  if (everything) all_known_ = false;
  find_threads();
  uint64_t wait_ns = longest_wait_ns();
  GoneProcesses gone;
  for (const size_t i : known_) {
    Slot *slot = slots_[i];
    Thread &thread = threads_[i];
    if (thread.uid == 0) continue;
    const uint64_t waiting = committed(slot, thread).total();
    const uint64_t written = thread.taken() + waiting - thread.seen;
    thread.seen += written;
    // Then its records are complete. Who has just written was alive; if he has died since, that is seen soon.
    const bool ended =
        state_of(slot) == SlotState::kEnded || (look_for_gone && written == 0 && gone.contains(pid_of(slot)));
    const bool due = everything || ended || waiting >= capacity_ / 16 || now - thread.drained_ns >= kPatience_ns;
    if (written != 0) wait_ns = std::min(wait_ns, elapsed_ns * (capacity_ / 4 - (due ? 0 : waiting)) / written);
    if (due) drain_slot(slot, thread);
    if (ended) end_slot(slot, thread);
    if (ended) wait_ns = 0;  // threads that come and go need their slots soon
  }
  return wait_ns;
}

static std::string frames_json(const Slot *slot, uint64_t now) {
  JsonArray frames;
  const uint32_t depth = slot->open_frames();
  for (uint32_t d = 0; d < depth; ++d)
    if (slot->frames[d].address.load(std::memory_order_acquire) != kNoFrame) {
      const uint64_t tag = slot->frames[d].tag.load(std::memory_order_relaxed);
      frames.add("[" + std::to_string(site_of(tag)) + "," +
                 std::to_string(not_after(now, slot->frames[d].start.load(std::memory_order_relaxed))) + "," +
                 std::to_string(call_of(tag)) + "]");
    }
  return frames.str();
}

void Drain::tell_open_frames(const Slot *slot, const Thread &thread) {
  const uint64_t now = recorder_->ticks();
  const std::string frames = frames_json(slot, now);
  if (frames == "[]") return;
  recorder_->event(JsonObject().add("event", "open").add("uid", thread.uid).add("ticks", now).raw("frames", frames));
}

void Drain::tell_loss(const Slot *slot, const Thread &thread) {
  const Ring &ring = slot->ring;
  const uint64_t count = ring.lost_count();
  const uint64_t now = recorder_->ticks();
  if (count != 0) recorder_->tell_loss(thread.uid, not_after(now, ring.lost_from()), now, as_count(count));
}

void Drain::report_unfinished() {
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!has_thread(slots_[i]) || threads_[i].uid == 0) continue;
    tell_thread(slots_[i], threads_[i]);
    tell_stray(slots_[i], threads_[i]);
    tell_loss(slots_[i], threads_[i]);
    tell_open_frames(slots_[i], threads_[i]);
  }
}

// REQUIRES: the thread is gone and the ring is drained.
void Drain::end_slot(Slot *slot, Thread &thread) {
  const uint64_t now = recorder_->ticks();
  const Ring &ring = slot->ring;
  if (ring.committed() != thread.taken()) tell_damage(slot, thread);
  tell_thread(slot, thread);
  tell_stray(slot, thread);
  tell_loss(slot, thread);
  tell_open_frames(slot, thread);
  const uint64_t dropped = sum_of_counts(ring.dropped(), thread.unstored);
  recorder_->event(JsonObject()
                       .add("event", "thread_end")
                       .add("uid", thread.uid)
                       .add("ticks", now)
                       .add("written", sum_of_counts(ring.committed(), ring.dropped()))
                       .add("stored", thread.stored)
                       .add("dropped", dropped));
  ended_dropped_ = sum_of_counts(ended_dropped_, dropped);
  thread = Thread{};
  slot->prepare();
  slot->owner.store(slot_owner(SlotState::kFree, 0), std::memory_order_release);
}

namespace {

struct Look {
  explicit Look(uint32_t pid) : start(process_start(pid)), program(program_of(pid)) {}

  // Whether a thread of this process is over, that ran `its_program`, in a process that began at `its_start` (0 = not
  // known, both): the process has died, its pid is another's now, or exec has replaced the program.
  bool is_over(uint64_t its_start, uint64_t its_program) const {
    if (!start) return false;
    if (*start == 0 || (its_start != 0 && its_start != *start)) return true;
    return its_program != 0 && program != 0 && its_program != program;
  }

  std::optional<uint64_t> start;
  uint64_t program;
};

}  // namespace

// Then it was alive since the check before.
bool Drain::wrote_since_check(const Slot *slot, Thread &thread) {
  const uint64_t written = slot->ring.committed();
  const bool wrote = written != thread.seen_at_check;
  thread.seen_at_check = written;
  return wrote;
}

void Drain::end_dead_processes(bool everything) {
  std::map<uint32_t, Look> looks;  // one per process
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot *slot = slots_[i];
    uint64_t owner = slot->owner.load(std::memory_order_acquire);
    const bool live = owner_state(owner) == SlotState::kLive;
    if (!live && owner_state(owner) != SlotState::kClaimed) continue;
    Thread &thread = threads_[i];
    if (live && thread.uid == 0) all_known_ = false;  // a program gone wild may have spoiled the number of threads
    if (live && wrote_since_check(slot, thread) && !everything) continue;
    const uint32_t pid = owner_pid(owner);
    const uint64_t program = live ? slot->program : 0;
    if (!looks.try_emplace(pid, pid).first->second.is_over(thread.process_start, program)) continue;
    // That look may be older than the owner.
    if (!Look(pid).is_over(thread.process_start, program)) continue;
    // It died before its first record, unless it went on from its claim before that look.
    const uint64_t free = slot_owner(SlotState::kFree, 0);
    if (!live && slot->owner.compare_exchange_strong(owner, free, std::memory_order_acq_rel)) continue;
    if (thread.uid == 0) meet(slot, thread, pid);
    drain_slot(slot, thread);
    end_slot(slot, thread);
  }
  relieve_module_table();
}

void Drain::relieve_module_table() {
  uint32_t holder = arena_->module_lock.load(std::memory_order_relaxed);
  if (holder != 0 && process_start(holder) == 0) arena_->module_lock.compare_exchange_strong(holder, 0);
}

uint64_t Drain::waiting_bytes() const {
  uint64_t n = 0;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (has_thread(slots_[i])) n += committed(slots_[i], threads_[i]).total() * sizeof(Record);
  return n;
}

uint32_t Drain::live_threads() const {
  uint32_t n = 0;
  for (const Slot *slot : slots_) n += state_of(slot) == SlotState::kLive;
  return n;
}

std::set<uint32_t> Drain::live_processes() const {
  std::set<uint32_t> pids;
  for (const Slot *slot : slots_)
    if (state_of(slot) == SlotState::kLive) pids.insert(as_id(pid_of(slot)));
  return pids;
}

uint64_t Drain::dropped() const {
  uint64_t n = ended_dropped_;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (has_thread(slots_[i])) n = sum_of_counts(n, sum_of_counts(slots_[i]->ring.dropped(), threads_[i].unstored));
  return n;
}

bool Drain::has_open_frame(uint32_t first, uint32_t count) const {
  for (const Slot *slot : slots_) {
    const uint32_t depth = state_of(slot) == SlotState::kLive ? slot->open_frames() : 0;
    for (uint32_t d = 0; d < depth; ++d)
      if (site_of(slot->frames[d].tag.load(std::memory_order_relaxed)) - first < count) return true;
  }
  return false;
}

}  // namespace vprof
