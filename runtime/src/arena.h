// The layout of a session's shared memory (SESSION.md): the file `arena`, mapped MAP_SHARED by the collector and every
// process.
//
//     arena    = header | module table | label table | stack table | object table | slot 0 + ring 0 | slot 1 + ring 1 |
//     ... switches = one byte per site number (TRACE_FORMAT.md section 3)
//
// The collector makes both files, fully allocated and zero but for header and frames; processes only
// map them. Offsets, not pointers: every process has its own addresses. A process may die between any two stores;
// nobody waits for it.
//
// Every process of the session may write anything anywhere in it, and some may be less privileged than others. So what
// decides where a process reads or writes, how often, or how long it waits is private memory (Layout, Records), a
// constant, or checked after it was read once (SESSION.md "Who trusts whom").
#ifndef VPROF_ARENA_H
#define VPROF_ARENA_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "clock.h"
#include "labels.h"
#include "objects.h"
#include "ring.h"
#include "stack_table.h"

namespace vprof {

constexpr char kArenaMagic[8] = {'V', 'P', 'R', 'O', 'F', 'A', 'R', '7'};
constexpr uint32_t kPage = 4096;
constexpr uint32_t kMaxFrames = 1024;
constexpr uint32_t kMaxModules = 256;
constexpr uint32_t kMaxSites = 4u << 20;  // bytes of `switches`
static_assert(kMaxSites <= 1u << kSiteBits);
constexpr uint32_t kSwitchHeaderBytes = 64;  // PROBE_ABI.md: no sites in the first bytes of a module's range
constexpr uint32_t kLockEventsAt = 12;       // PROBE_ABI.md: one of them

// The value of a word that others may change meanwhile, for a check and a use of the same value.
template <typename T>
T read_once(const T &shared) {
  return *static_cast<const volatile T *>(&shared);
}

// An instrumented executable or library. Entries are appended under `module_lock` and then never change, but for
// `acked`.
struct Module {
  enum State : uint32_t { kMapped = 1, kUnaligned = 2 };
  uint32_t base;  // first site number
  uint32_t count;
  uint64_t section_addr;  // link-time address of vprof_switch
  uint64_t device;
  uint64_t inode;
  uint64_t changed_ns;  // the file's modification time: a library built anew in place has other sites
  State state;
  std::atomic<uint32_t> acked;  // by the collector: the plan is on, main may start
  char path[976];               // cut if longer: then the module has no metadata
};
static_assert(sizeof(Module) == 1024);

// One open call of a probed function. `address` is the frame of PROBE_ABI.md; kNoFrame in entries that are not (yet)
// open.
constexpr uint64_t kNoFrame = ~uint64_t{0};
struct alignas(32) Frame {
  std::atomic<uint64_t> address;
  std::atomic<uint64_t> start;  // ticks
  std::atomic<uint64_t> tag;    // call_tag()
  uint64_t head;                // w0 of its INVOCATION but for the time: constant
};

// A lock that the thread holds, and since when (holds.h). Only its thread uses it.
constexpr uint32_t kMaxHolds = 32;
struct Hold {
  uint64_t key;    // 0: none
  uint64_t since;  // ticks
  uint64_t again;  // how many times more it was taken meanwhile
};

// A slot's owner word: pid and state. The state only goes round: free -> claimed -> live -> ended -> (collector) free.
enum class SlotState : uint32_t { kFree = 0, kClaimed = 1, kLive = 2, kEnded = 3 };
constexpr uint64_t slot_owner(SlotState state, uint32_t pid) {
  return uint64_t{pid} << 8 | static_cast<uint64_t>(state);
}
constexpr SlotState owner_state(uint64_t owner) {
  return static_cast<SlotState>(owner & 0xff);
}
constexpr uint32_t owner_pid(uint64_t owner) {
  return static_cast<uint32_t>(owner >> 8);
}

// What belongs to one thread while it lives. Written by its thread; read by the collector, also after a kill -9.
struct Slot {
  alignas(64) std::atomic<uint64_t> owner;
  uint32_t uid;  // written before the slot is live, constant then
  uint32_t tid;
  uint64_t start_ticks;
  uint64_t program;               // that the thread runs (session.h): after an exec it is another
  std::atomic<uint64_t> writing;  // stack position of the active record writer, 0 = none (thread.h)
  std::atomic<uint32_t> depth;    // open frames
  uint32_t off_cpu;               // 1: OFF_CPU records tell when the thread was off the CPU; constant while live
  uint32_t fiber;                 // 1: of a fiber, not of a thread; constant while live
  uint32_t behind_libc;           // 1: the program's waits are not seen (session.h); constant while live
  std::atomic<uint64_t> strayed;  // ticks when the thread was first found on a stack that is not its own; 0 = never
  Ring ring;
  Frame frames[kMaxFrames];
  Hold holds[kMaxHolds];

  // The ring lies behind the slot.
  Record *records() { return reinterpret_cast<Record *>(this + 1); }

  // How many frames are open: within `frames`, whatever the shared word says.
  uint32_t open_frames() const {
    const uint32_t n = depth.load(std::memory_order_relaxed);
    return n < kMaxFrames ? n : kMaxFrames;
  }

  // For a new thread, whatever the slot's memory was. REQUIRES: nobody uses the slot.
  void prepare() {
    ring.reset();
    writing.store(0, std::memory_order_relaxed);
    depth.store(0, std::memory_order_relaxed);
    strayed.store(0, std::memory_order_relaxed);
    for (Hold &hold : holds) hold = {};
    for (uint32_t d = 0; d < kMaxFrames; ++d) {
      frames[d].address.store(kNoFrame, std::memory_order_relaxed);
      frames[d].head = make_record(Kind::kInvocation, 0, d, 0).w0;
    }
  }
};

constexpr size_t round_to_page(size_t n) {
  return (n + kPage - 1) / kPage * kPage;
}

struct Arena;

// Where the slots of an arena lie.
struct Layout {
  static constexpr uint32_t kMaxSlots = 65536, kLeastRingRecords = 256, kMostRingRecords = 1u << 26;

  uint32_t slots;
  uint32_t ring_records;  // of each slot, a power of two

  bool is_possible() const {
    return slots >= 1 && slots <= kMaxSlots && ring_records >= kLeastRingRecords && ring_records <= kMostRingRecords &&
           (ring_records & (ring_records - 1)) == 0;
  }
  // Bytes from slot to slot, ring included.
  size_t stride() const { return round_to_page(sizeof(Slot) + size_t{ring_records} * sizeof(Record)); }
  inline size_t arena_size() const;
  // REQUIRES: i < slots.
  inline Slot *slot(Arena *arena, uint32_t i) const;
  Records records(Slot *slot) const { return {slot->records(), ring_records}; }
};

// A magic is written last and read first: who sees it sees what was written before, though nothing else orders the two
// processes.
using MagicWord = uint64_t __attribute__((may_alias));
inline void publish(char (&magic)[8], const char (&text)[8]) {
  MagicWord word;
  __builtin_memcpy(&word, text, sizeof word);
  __atomic_store_n(reinterpret_cast<MagicWord *>(&magic), word, __ATOMIC_RELEASE);
}
inline bool is_published(const char (&magic)[8], const char (&text)[8]) {
  MagicWord word;
  __builtin_memcpy(&word, text, sizeof word);
  return __atomic_load_n(reinterpret_cast<const MagicWord *>(&magic), __ATOMIC_ACQUIRE) == word;
}

struct Arena {
  alignas(8) char magic[8];
  uint64_t size;  // of the file
  Layout layout;  // each process keeps its own copy
  Clock clock;
  uint32_t hold;         // module constructors wait for `acked`
  uint32_t lock_events;  // LOCK records are wanted
  uint8_t session_id[16];
  alignas(64) std::atomic<uint64_t> heartbeat_ns;  // CLOCK_MONOTONIC, by the collector; 0 = it has ended
  alignas(64) std::atomic<uint32_t> newest_uid;
  std::atomic<uint32_t> slot_hint;
  std::atomic<uint64_t> unslotted;    // threads that found no free slot
  std::atomic<uint32_t> module_lock;  // pid of the process that appends
  std::atomic<uint32_t> module_count;
  std::atomic<uint32_t> sites_used;          // bytes of `switches` given to modules
  std::atomic<uint64_t> anonymous_mappings;  // shared ones, numbered as they are made (mapping_interpose.cpp)
  std::atomic<uint32_t> without_room;        // processes that stay dormant: their limits leave no room (lifecycle.cpp)
  std::atomic<uint32_t> not_wrapped;         // functions whose jump could not be written (wrappers.cpp)
  std::atomic<uint32_t> own_text;            // modules whose jumps a process wrote for itself alone (wrappers.cpp)
  std::atomic<uint32_t> own_text_why;        // Sharing (shared_text.h)
  alignas(64) std::atomic<uint64_t> stacks_paid;  // ticks: until then is paid for stacks (wait_stacks.h)
  alignas(64) Module modules[kMaxModules];
  LabelTable labels;
  NameTable names;
  std::atomic<uint64_t> unnamed;  // names that found no room there
  StackTable stacks;
  ObjectTable objects;

  static size_t slots_offset() { return round_to_page(sizeof(Arena)); }
};

inline size_t Layout::arena_size() const {
  return Arena::slots_offset() + slots * stride();
}
inline Slot *Layout::slot(Arena *arena, uint32_t i) const {
  return reinterpret_cast<Slot *>(reinterpret_cast<char *>(arena) + Arena::slots_offset() + i * stride());
}

}  // namespace vprof

#endif
