// Probes before bodies (PROBE_ABI.md): which functions have one, found once, before the module's code runs.
//
//     places of a module -> the function around each (.eh_frame_hdr) -> begins it with the no-op? -> pair, TextSite
//     -> the code becomes the session's (shared_text.h); refused: a jump to the stub, in this process alone
//
// A place is also in each copy that the compiler has expanded in a caller, so of a function with a no-op the first
// place is its own. The process's own jumps are written through /proc/self/mem: no page is ever writable and
// executable. Afterwards it writes nothing any more, the switch byte decides (as in a body), and forked children
// inherit all.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "restriction.h"
#include "session.h"
#include "shared_text.h"

namespace vprof {
namespace {

// The record of a place as __VPROF_PLACE makes it (vprof_prelude.h): what lies where, by its distance from the field
// that says it.
struct Place {
  int32_t code, site, stub, pair;
};

uint64_t target_of(const int32_t &field) {
  return reinterpret_cast<uint64_t>(&field) + static_cast<int64_t>(field);
}

// What a stub hands to the wrapper, which the begin object has.
struct Pair {
  uint64_t body;
  uint64_t site;  // its switch byte
};

// Where the functions of a module begin: the table in .eh_frame_hdr, in ascending order.
struct Functions {
  struct Entry {
    int32_t begin, description;  // from the header's start
  };

  uint64_t begin(uint32_t i) const { return base + static_cast<int64_t>(entries[i].begin); }

  // The function around an address; `count` if there is none.
  uint32_t around(uint64_t address) const {
    uint32_t low = 0, high = count;
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (begin(middle) <= address)
        low = middle + 1;
      else
        high = middle;
    }
    return low == 0 ? count : low - 1;
  }

  uint64_t base;
  const Entry *entries;
  uint32_t count;
};

struct Loaded {
  uint64_t records;
  uint64_t end_of_records;  // at the latest
  uint64_t bias;
  const ElfW(Phdr) * segments;
  int segment_count;
  Functions functions;
  char file[PATH_MAX];

  // Whether code lies there: of the other addresses some are not mapped.
  bool has_code(uint64_t address, uint64_t bytes) const {
    for (int i = 0; i < segment_count; ++i) {
      const uint64_t low = bias + segments[i].p_vaddr, size = segments[i].p_memsz;
      if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0 && address >= low && bytes <= size &&
          address - low <= size - bytes)
        return true;
    }
    return false;
  }

  // The pages of the segment with that code; no bytes: of none, or of one that may be written.
  Code code_around(uint64_t address) const {
    for (int i = 0; i < segment_count; ++i) {
      const ElfW(Phdr) &segment = segments[i];
      const uint64_t low = bias + segment.p_vaddr, into = low % kPage;
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || address - low >= segment.p_filesz) continue;
      if ((segment.p_flags & PF_W) != 0 || segment.p_offset % kPage != into) break;
      return {low - into, round_to_page(into + segment.p_filesz), file, segment.p_offset - into};
    }
    return {};
  }
};

// As linkers write it: pointers of 4 bytes, those of the table relative to its start.
Functions read_table(uint64_t header) {
  constexpr unsigned char kAsLinkersDo[4] = {1, 0x1b, 0x03, 0x3b};
  const unsigned char *bytes = reinterpret_cast<const unsigned char *>(header);
  if (memcmp(bytes, kAsLinkersDo, sizeof kAsLinkersDo) != 0) return {};
  uint32_t count;
  memcpy(&count, bytes + 8, sizeof count);
  return {header, reinterpret_cast<const Functions::Entry *>(bytes + 12), count};
}

int visit_module(dl_phdr_info *info, size_t, void *data) {
  Loaded *module = static_cast<Loaded *>(data);
  uint64_t header = 0, end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    const uint64_t low = info->dlpi_addr + segment.p_vaddr, high = low + segment.p_memsz;
    if (segment.p_type == PT_GNU_EH_FRAME) header = low;
    if (segment.p_type == PT_LOAD && module->records >= low && module->records <= high) end = high;
  }
  if (end == 0) return 0;
  module->end_of_records = end;
  module->bias = info->dlpi_addr;
  module->segments = info->dlpi_phdr;
  module->segment_count = info->dlpi_phnum;
  if (header != 0) module->functions = read_table(header);
  const char *name = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
  if (strlen(name) < sizeof module->file) strcpy(module->file, name);
  return 1;
}

// Whether there is a record, rather than what follows the last one: its stub hands out its pair.
bool is_record(const Place &place, const Loaded &module) {
  const uint64_t stub = target_of(place.stub);
  if (!module.has_code(stub, kLoadBytes)) return false;
  const unsigned char *code = reinterpret_cast<const unsigned char *>(stub);
  int32_t distance;
  memcpy(&distance, code + sizeof kLoad, sizeof distance);
  return memcmp(code, kLoad, sizeof kLoad) == 0 &&
         stub + kLoadBytes + static_cast<int64_t>(distance) == target_of(place.pair);
}

uint32_t count_records(const Place *places, const Loaded &module) {
  uint32_t count = 0;
  while (reinterpret_cast<uint64_t>(places + count + 1) <= module.end_of_records && is_record(places[count], module))
    ++count;
  return count;
}

// Whether that is there; a breakpoint may hide its first byte.
bool lies_there(const unsigned char *code, const void *wanted, size_t bytes) {
  const unsigned char *first = static_cast<const unsigned char *>(wanted);
  return (code[0] == first[0] || code[0] == kBreakpoint) && memcmp(code + 1, first + 1, bytes - 1) == 0;
}

// The function's no-op, behind endbr64 if there is one; 0 if it has none.
uint64_t no_op_of(uint64_t function) {
  const unsigned char *code = reinterpret_cast<const unsigned char *>(function);
  if (lies_there(code, kLanding, sizeof kLanding)) code += sizeof kLanding;
  return lies_there(code, &kNoOp, kJumpBytes) ? reinterpret_cast<uint64_t>(code) : 0;
}

// Writes into the program's text, in pieces rather than by one system call each. REQUIRES: ascending addresses.
class TextWriter {
 public:
  static constexpr size_t kPieceBytes = 16384;

  TextWriter(int memory, unsigned char *piece) : memory_(memory), piece_(piece) {}

  void jump(uint64_t from, int32_t distance) {
    if (used_ != 0 && from + kJumpBytes > begin_ + kPieceBytes) flush();
    if (used_ == 0) begin_ = from;
    const uint64_t written = begin_ + used_, end = from + kJumpBytes - begin_, jump = jump_of(distance);
    memcpy(piece_ + used_, reinterpret_cast<const void *>(written), end - used_);
    memcpy(piece_ + (from - begin_), &jump, kJumpBytes);
    used_ = end;
    ++jumps_;
  }

  void flush() {
    for (uint64_t done = 0; done < used_;) {
      const long n = syscall(SYS_pwrite64, memory_, piece_ + done, used_ - done, begin_ + done);
      if (n <= 0) {
        refused_ += jumps_;
        break;
      }
      done += static_cast<uint64_t>(n);
    }
    used_ = jumps_ = 0;
  }

  uint32_t refused() const { return refused_; }

 private:
  int memory_;
  unsigned char *piece_;
  uint64_t begin_ = 0, used_ = 0;     // of the piece
  uint32_t jumps_ = 0, refused_ = 0;  // in the piece; of all that was asked for
};

// The number (from 1) of the first place in each function, 0: none. `first` is as long as the table, and zero.
void find_first(const Place *places, uint32_t count, const Functions &functions, uint32_t *first) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t place = target_of(places[i].code);
    const uint32_t function = functions.around(place);
    if (function == functions.count) continue;
    uint32_t &found = first[function];
    if (found == 0 || place < target_of(places[found - 1].code)) found = i + 1;
  }
}

// A function whose probe stands before its body, and its jump.
struct Wrapped {
  uint64_t no_op;
  int32_t distance;
  uint32_t site;  // its switch byte, from the module's first
};

// Fills the pairs, and the list in ascending order, which has room for all functions. Returns its length; `left` counts
// those whose stub no jump reaches, or where somebody has a breakpoint: who takes it away would spoil the jump.
uint32_t find_wrapped(const Place *places, const Functions &functions, const uint32_t *first,
                      const unsigned char *switches, Wrapped *list, uint32_t *left) {
  uint32_t count = 0;
  for (uint32_t function = 0; function < functions.count; ++function) {
    if (first[function] == 0) continue;
    const uint64_t no_op = no_op_of(functions.begin(function));
    if (no_op == 0) continue;  // only copies of others
    const Place &own = places[first[function] - 1];
    const int64_t distance = static_cast<int64_t>(target_of(own.stub) - (no_op + kJumpBytes));
    const bool has_breakpoint = *reinterpret_cast<const unsigned char *>(no_op) == kBreakpoint;
    if (distance != static_cast<int32_t>(distance) || has_breakpoint) {
      ++*left;
      continue;
    }
    Pair *pair = reinterpret_cast<Pair *>(target_of(own.pair));
    pair->body = no_op + kJumpBytes;
    pair->site = target_of(own.site);
    const uint64_t site = pair->site - reinterpret_cast<uint64_t>(switches);
    list[count++] = {no_op, static_cast<int32_t>(distance), static_cast<uint32_t>(site)};
  }
  return count;
}

// In this process alone. How many jumps could not be written.
uint32_t write_jumps(const Wrapped *list, uint32_t count, unsigned char *piece) {
  const int memory = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC));
  TextWriter text(memory, piece);
  for (uint32_t i = 0; i < count; ++i) text.jump(list[i].no_op, list[i].distance);
  text.flush();
  if (memory >= 0) syscall(SYS_close, memory);
  return text.refused();
}

// All in one segment, as linkers lay code out by themselves. `sites` has room for all.
Sharing share(const Loaded &module, const Wrapped *list, uint32_t count, const unsigned char *switches,
              TextSite *sites) {
  const Code code = module.code_around(list[0].no_op);
  if (list[count - 1].no_op + kJumpBytes > code.begin + code.bytes) return kScattered;
  for (uint32_t i = 0; i < count; ++i)
    sites[i] = {static_cast<uint32_t>(list[i].no_op - code.begin), list[i].distance, list[i].site};
  return share_text(code, sites, count, switches);
}

// Memory for what is needed until all are wrapped; given back at its end.
class Scratch {
 public:
  explicit Scratch(uint32_t functions)
      : functions_(functions),
        address_(syscall(SYS_mmap, nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L)) {}
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  ~Scratch() {
    if (is_there()) syscall(SYS_munmap, address_, bytes());
  }

  bool is_there() const { return address_ != -1; }
  unsigned char *piece() const { return reinterpret_cast<unsigned char *>(address_); }
  // Of each function one.
  Wrapped *wrapped() const { return reinterpret_cast<Wrapped *>(piece() + TextWriter::kPieceBytes); }
  TextSite *sites() const { return reinterpret_cast<TextSite *>(wrapped() + functions_); }
  uint32_t *first() const { return reinterpret_cast<uint32_t *>(sites() + functions_); }

 private:
  size_t bytes() const {
    return TextWriter::kPieceBytes + functions_ * (sizeof(Wrapped) + sizeof(TextSite) + sizeof(uint32_t));
  }

  size_t functions_;
  long address_;
};

// How many functions could not be wrapped.
uint32_t wrap_all(const Place *places, uint32_t count, const Loaded &module, const unsigned char *switches) {
  if (module.functions.count == 0) return count;
  const Scratch scratch(module.functions.count);
  if (!scratch.is_there()) return count;
  find_first(places, count, module.functions, scratch.first());
  uint32_t left = 0;
  const uint32_t wrapped = find_wrapped(places, module.functions, scratch.first(), switches, scratch.wrapped(), &left);
  if (wrapped == 0) return left;
  const Sharing why = share(module, scratch.wrapped(), wrapped, switches, scratch.sites());
  if (why == kShared) return left;
  g_session.arena->own_text.fetch_add(1, std::memory_order_relaxed);
  g_session.arena->own_text_why.fetch_or(why, std::memory_order_relaxed);
  return left + write_jumps(scratch.wrapped(), wrapped, scratch.piece());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void __vprof_wrap_bodies(const char *records,
                                                                           const unsigned char *switches);

// By the begin object's constructor. What cannot be written stays as it is, unrecorded, and the session counts it. Not
// by the wrapped functions of the C library, which the program's probes may see (external_interpose.cpp).
void __vprof_wrap_bodies(const char *records, const unsigned char *switches) {
  if (!attached() || is_restricted()) return;
  const int saved_errno = errno;
  Loaded module = {};
  module.records = reinterpret_cast<uint64_t>(records);
  dl_iterate_phdr(visit_module, &module);
  const Place *places = reinterpret_cast<const Place *>(records);
  const uint32_t count = count_records(places, module);
  const uint32_t refused = count != 0 ? wrap_all(places, count, module, switches) : 0;
  g_session.arena->not_wrapped.fetch_add(refused, std::memory_order_relaxed);
  errno = saved_errno;
}

}  // namespace vprof
