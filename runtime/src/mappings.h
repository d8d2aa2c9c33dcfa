// The writable shared mappings of this process, so that what lies in one is named alike in every process that has it.
//
//     mmap, shmat (mapping_interpose.cpp) -> enter -> table -> find -> object_id (sync.h)
//
// A name is 64 bits for each byte: where the mapping's memory comes from (a hash of device and inode, or of a number
// drawn for each anonymous mapping) plus the offset in it. The table is private memory: fork copies it together with
// the mappings.
//
// Thread-safety: everything may be called by any thread and by signal handlers; nothing locks, allocates or makes a
// system call. An entry that changes while it is read is passed over: its range is being unmapped. A full table leaves
// further mappings unknown, their objects are then taken for private ones.
#ifndef VPROF_MAPPINGS_H
#define VPROF_MAPPINGS_H

#include <atomic>
#include <cstdint>

namespace vprof {

class Mappings {
 public:
  static constexpr uint32_t kEntries = 128;

  // Bytes [start, start + length) are shared; `name` is the name of the first.
  void enter(uint64_t start, uint64_t length, uint64_t name);

  // Bytes [start, start + length) are no longer what they were; what lies around them stays known.
  void forget(uint64_t start, uint64_t length);

  // The name of the byte at `address`, or 0 if it is not known to be shared. Cheap for addresses outside of all
  // shared mappings so far.
  uint64_t find(uint64_t address) const {
    if (address < low_.load(std::memory_order_relaxed) || address >= high_.load(std::memory_order_relaxed)) return 0;
    return find_in_table(address);
  }

  // The length of the mapping entered at `start`, 0 if there is none.
  uint64_t length_at(uint64_t start) const;

 private:
  struct Entry {
    std::atomic<uint32_t> version;  // odd: being changed
    std::atomic<uint64_t> start;
    std::atomic<uint64_t> end;  // == start: free
    std::atomic<uint64_t> name;
  };
  struct Range {
    uint64_t start;
    uint64_t end;
    uint64_t name;
  };

  static bool read(const Entry &entry, uint32_t *version, Range *range);
  static bool change(Entry &entry, uint32_t version, Range range);
  void widen(uint64_t start, uint64_t end);
  uint64_t find_in_table(uint64_t address) const;

  // Bounds of all that was ever entered.
  std::atomic<uint64_t> low_{~uint64_t{0}};
  std::atomic<uint64_t> high_{0};
  std::atomic<uint32_t> used_{0};  // no entry from here on was ever taken
  Entry entries_[kEntries] = {};
};

extern Mappings g_mappings;

// A well-mixed identity of memory from two numbers; never 0.
uint64_t memory_identity(uint64_t a, uint64_t b);

}  // namespace vprof

#endif
