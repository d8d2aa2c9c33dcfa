// The layout of a session's shared memory (SESSION.md): the file `arena`, mapped MAP_SHARED by the collector and every
// process.
//
//     arena    = header | module table | label table | object table | slot 0 + ring 0 | slot 1 + ring 1 | ...
//     switches = one byte per site number (TRACE_FORMAT.md section 3)
//
// The collector makes both files, fully allocated and zero but for the header and the rings' constants; processes only
// map them. Offsets, not pointers: every process has its own addresses. A process may die between any two stores;
// nobody waits for it.
#ifndef VPROF_ARENA_H
#define VPROF_ARENA_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "clock.h"
#include "labels.h"
#include "objects.h"
#include "ring.h"

namespace vprof {

constexpr char kArenaMagic[8] = {'V', 'P', 'R', 'O', 'F', 'A', 'R', '3'};
constexpr uint32_t kPage = 4096;
constexpr uint32_t kMaxFrames = 1024;
constexpr uint32_t kMaxModules = 256;
constexpr uint32_t kMaxSites = 4u << 20;  // bytes of `switches`
static_assert(kMaxSites <= 1u << kSiteBits);
constexpr uint32_t kSwitchHeaderBytes = 64;  // PROBE_ABI.md: no sites in the first bytes of a module's range

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
  Ring ring;
  Frame frames[kMaxFrames];

  // The ring lies behind the slot.
  const Record *records() const { return reinterpret_cast<const Record *>(this + 1); }

  // For a new thread, whatever the slot's memory was; the ring has `capacity` records. REQUIRES: nobody uses the slot.
  void prepare(uint64_t capacity) {
    ring.init(capacity, sizeof(Slot) - offsetof(Slot, ring));
    ring.reset();
    writing.store(0, std::memory_order_relaxed);
    depth.store(0, std::memory_order_relaxed);
    for (uint32_t d = 0; d < kMaxFrames; ++d) {
      frames[d].address.store(kNoFrame, std::memory_order_relaxed);
      frames[d].head = make_record(Kind::kInvocation, 0, d, 0).w0;
    }
  }
};

struct Arena {
  char magic[8];
  uint64_t size;  // of the file
  uint32_t slot_count;
  uint32_t slot_stride;  // bytes from slot to slot, ring included
  Clock clock;
  uint32_t hold;  // module constructors wait for `acked`
  uint8_t session_id[16];
  alignas(64) std::atomic<uint64_t> heartbeat_ns;  // CLOCK_MONOTONIC, by the collector; 0 = it has ended
  alignas(64) std::atomic<uint32_t> newest_uid;
  std::atomic<uint32_t> slot_hint;
  std::atomic<uint64_t> unslotted;    // threads that found no free slot
  std::atomic<uint32_t> module_lock;  // pid of the process that appends
  std::atomic<uint32_t> module_count;
  std::atomic<uint32_t> sites_used;          // bytes of `switches` given to modules
  std::atomic<uint64_t> anonymous_mappings;  // shared ones, numbered as they are made (mapping_interpose.cpp)
  alignas(64) Module modules[kMaxModules];
  LabelTable labels;
  ObjectTable objects;

  Slot *slot(uint32_t i) {
    return reinterpret_cast<Slot *>(reinterpret_cast<char *>(this) + slots_offset() + size_t{i} * slot_stride);
  }

  uint32_t index_of(const Slot *s) {
    return static_cast<uint32_t>((reinterpret_cast<const char *>(s) - reinterpret_cast<char *>(slot(0))) / slot_stride);
  }

  static constexpr size_t round_to_page(size_t n) { return (n + kPage - 1) / kPage * kPage; }
  static size_t slots_offset() { return round_to_page(sizeof(Arena)); }
  static size_t stride_for(uint64_t ring_bytes) { return round_to_page(sizeof(Slot) + ring_bytes); }
  static size_t size_for(uint32_t slots, uint64_t ring_bytes) {
    return slots_offset() + slots * stride_for(ring_bytes);
  }
};

}  // namespace vprof

#endif
