// Empties the threads' rings into the recorder, and recycles the slots of threads that have ended, however they ended.
#ifndef VPROF_DRAIN_H
#define VPROF_DRAIN_H

#include <map>
#include <set>
#include <string>
#include <vector>

#include "recorder.h"

namespace vprof {

constexpr size_t kMostNamed = 16;  // processes; a reply names no more

class Drain {
 public:
  // REQUIRES: no program has joined yet.
  Drain(Arena *arena, Layout layout, Recorder *recorder);

  // One round over all threads. Small amounts wait up to 50 ms for company unless `everything`. Returns in how many ns
  // the next round should come: before a ring that goes on filling as it did is a quarter full, or an empty one runs
  // over at 15 million records per second; 0: soon.
  uint64_t run(bool everything);

  // Ends the slots of dead processes, and of what a process was before exec; frees the module table if a dead process
  // holds it. Cheap enough for every 50 ms, not for every round: threads that have written since the last time are not
  // asked after, unless `everything`.
  void end_dead_processes(bool everything);

  // For the end of a file: `open` events for all threads inside probed calls, `loss` events for losses that go on.
  void report_unfinished();

  uint64_t waiting_bytes() const;  // committed, not drained
  uint32_t live_threads() const;
  std::set<uint32_t> live_processes() const;
  // Records lost since the session began: rings full, or the disk.
  uint64_t dropped() const;

  // Processes, by pid with their names, whose waits are not seen since libvprof comes behind the C library in lookup
  // order: the first few of the session that recorded anything.
  const std::map<uint32_t, std::string> &uninterposed() const { return uninterposed_; }

  // Whether a thread has an open frame of a site in [first, first + count).
  bool has_open_frame(uint32_t first, uint32_t count) const;

 private:
  class GoneProcesses;

  // What is known of a slot's present thread.
  struct Thread {
    uint32_t uid = 0;  // 0: none
    uint64_t process_start = 0;
    uint64_t told_in_file = 0;
    uint64_t stored = 0;
    uint64_t unstored = 0;
    uint64_t seen = 0;           // committed at the last look
    uint64_t seen_at_check = 0;  // committed when its process was last asked after
    uint64_t drained_ns = 0;
    bool damaged = false;
    uint64_t strayed_in_file = 0;  // in which that was told last

    uint64_t taken() const { return stored + unstored; }
  };

  Ring::Span committed(Slot *slot, const Thread &thread) const {
    return slot->ring.peek({slot->records(), capacity_}, thread.taken());
  }
  void relieve_module_table();
  void find_threads();
  uint64_t longest_wait_ns() const;
  static bool wrote_since_check(const Slot *slot, Thread &thread);
  void meet(Slot *slot, Thread &thread, uint32_t pid);
  void tell_damage(const Slot *slot, Thread &thread);
  void drain_slot(Slot *slot, Thread &thread);
  void end_slot(Slot *slot, Thread &thread);
  void tell_thread(Slot *slot, Thread &thread);
  void tell_stray(const Slot *slot, Thread &thread);
  void tell_loss(const Slot *slot, const Thread &thread);
  void tell_open_frames(const Slot *slot, const Thread &thread);

  // Nothing that decides where we read or write is taken from the arena: a program may overwrite it.
  Arena *arena_;
  Recorder *recorder_;
  std::vector<Slot *> slots_;
  uint64_t capacity_;
  std::vector<Thread> threads_;  // as slots_
  std::vector<size_t> known_;    // slots that had a thread when all were looked at
  uint32_t newest_known_ = 0;    // of the session's threads, then
  bool all_known_ = false;
  uint64_t looked_ns_ = 0;
  uint64_t looked_for_gone_ns_ = 0;
  std::vector<Record> copy_;  // of what is being stored
  uint64_t ended_dropped_ = 0;
  std::map<uint32_t, std::string> uninterposed_;
};

}  // namespace vprof

#endif
