// A module's code -> the session's copy of it, executed by this process (shared_text.h).
//
//     open `text` -> the module's region; none: make it (file -> copy, sites -> table) -> compare -> map over the code
//
// What is mapped is first compared with what is there: a file that was exchanged since, breakpoints of a debugger or
// relocated code keep the process's own pages. System calls are made directly, not by the C library's functions, which
// the program's probes may see (external_interpose.cpp).
#include "shared_text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "session.h"

namespace vprof {
namespace {

constexpr uint64_t kLockPatience_ns = 1000000000;

class File {
 public:
  explicit File(long descriptor) : descriptor_(static_cast<int>(descriptor)) {}
  File(const File &) = delete;
  File &operator=(const File &) = delete;
  ~File() {
    if (is_open()) syscall(SYS_close, descriptor_);
  }

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }

  uint64_t size() const {
    struct stat st;
    return fstat(descriptor_, &st) == 0 ? static_cast<uint64_t>(st.st_size) : 0;
  }

 private:
  int descriptor_;
};

class Mapping {
 public:
  Mapping(const File &file, uint64_t offset, uint64_t bytes, int protection, int kind = MAP_SHARED)
      : bytes_(bytes), address_(syscall(SYS_mmap, nullptr, bytes, protection, kind, file.descriptor(), offset)) {}
  Mapping(const Mapping &) = delete;
  Mapping &operator=(const Mapping &) = delete;
  ~Mapping() {
    if (is_there()) syscall(SYS_munmap, address_, bytes_);
  }

  bool is_there() const { return address_ != -1; }
  unsigned char *begin() const { return reinterpret_cast<unsigned char *>(address_); }

  // Replaces what is there, at once. False, and nothing has changed, if it is refused.
  bool move_to(uint64_t address) {
    if (syscall(SYS_mremap, address_, bytes_, bytes_, long{MREMAP_MAYMOVE | MREMAP_FIXED}, address) == -1) return false;
    address_ = -1;
    return true;
  }

 private:
  uint64_t bytes_;
  long address_;
};

// Of this session: the environment may name another one by now.
bool is_ours(const TextHeader &header) {
  return memcmp(header.magic, kTextMagic, sizeof kTextMagic) == 0 &&
         memcmp(header.session_id, g_session.arena->session_id, sizeof header.session_id) == 0;
}

const TextRegion *find(const TextHeader &header, uint32_t base) {
  const uint32_t count = header.known();
  for (uint32_t i = 0; i < count; ++i)
    if (header.regions[i].base == base) return &header.regions[i];
  return nullptr;
}

// A holder that dies gives it up.
bool lock(const File &text) {
  const uint64_t start = monotonic_ns();
  while (syscall(SYS_flock, text.descriptor(), LOCK_EX | LOCK_NB) != 0) {
    if (monotonic_ns() - start >= kLockPatience_ns) return false;
    const timespec t = {0, 1000000};
    syscall(SYS_nanosleep, &t, nullptr);
  }
  return true;
}

// The file's bytes, not those in memory: there a debugger may have its breakpoints.
bool read_code(const Code &code, unsigned char *copy) {
  const File file(syscall(SYS_openat, AT_FDCWD, code.file, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) return false;
  for (uint64_t done = 0; done < code.bytes;) {
    const long n = syscall(SYS_pread64, file.descriptor(), copy + done, code.bytes - done, code.offset + done);
    if (n < 0) return false;
    if (n == 0) break;  // the last page is zero behind the file's end
    done += static_cast<uint64_t>(n);
  }
  return true;
}

// Whether both are the same but for the probes.
bool is_same(const unsigned char *copy, const Code &code, const TextSite *sites, uint32_t count) {
  const unsigned char *own = reinterpret_cast<const unsigned char *>(code.begin);
  uint64_t done = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = sites[i].at;
    if (at < done || memcmp(copy + done, own + done, at - done) != 0) return false;
    uint64_t instruction = 0;
    if (can_be_switched(at))
      instruction = read_instruction(copy + at);
    else
      memcpy(&instruction, copy + at, kJumpBytes);
    if (!is_probe(instruction, sites[i].distance)) return false;
    done = at + kJumpBytes;
  }
  return memcmp(copy + done, own + done, code.bytes - done) == 0;
}

// As the switch bytes are now; the collector goes on. What cannot be switched is a jump from now on. Returns how many
// entries the table has.
uint32_t write_table(unsigned char *copy, TextSite *table, const TextSite *sites, uint32_t count,
                     const unsigned char *switches) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const TextSite &site = sites[i];
    if (can_be_switched(site.at)) {
      write_instruction(copy + site.at, site.distance, switches[site.site] == 1);
      table[used++] = site;
    } else {
      const uint64_t jump = jump_of(site.distance);
      memcpy(copy + site.at, &jump, kJumpBytes);
    }
  }
  return used;
}

struct Sites {
  const TextSite *first;
  uint32_t count;
};

// REQUIRES: the file is locked.
Sharing append(const File &text, TextHeader &header, const Code &code, Sites sites, const unsigned char *switches,
               uint32_t base) {
  const uint64_t size = text.size(), from = header.used,
                 bytes = code.bytes + round_to_page(sites.count * sizeof(TextSite));
  const uint32_t known = header.known();
  if (known == kMaxModules || from < kTextHeaderBytes || from % kPage != 0 || from > size || bytes > size - from)
    return kNoRoom;
  // Not sparse: memory that is missing later would kill the program.
  if (syscall(SYS_fallocate, text.descriptor(), 0, from, bytes) != 0) return kNoRoom;
  const Mapping mapping(text, from, bytes, PROT_READ | PROT_WRITE);
  if (!mapping.is_there()) return kNoRoom;
  unsigned char *copy = mapping.begin();
  if (!read_code(code, copy) || !is_same(copy, code, sites.first, sites.count)) return kDifferent;
  TextSite *table = reinterpret_cast<TextSite *>(copy + code.bytes);
  const uint32_t used = write_table(copy, table, sites.first, sites.count, switches);
  header.regions[known] = {base, used, from, code.bytes, from + code.bytes};
  header.used = from + bytes;
  header.count.store(known + 1, std::memory_order_release);
  return kShared;
}

// By its first process.
Sharing make_region(const Code &code, Sites sites, const unsigned char *switches, uint32_t base) {
  const File text(open_session_file("text", O_RDWR));
  if (!text.is_open()) return kNoSession;
  if (!lock(text)) return kNoRoom;
  const Mapping mapping(text, 0, kTextHeaderBytes, PROT_READ | PROT_WRITE);
  if (!mapping.is_there()) return kNoRoom;
  TextHeader &header = *reinterpret_cast<TextHeader *>(mapping.begin());
  return find(header, base) != nullptr ? kShared : append(text, header, code, sites, switches, base);
}

}  // namespace

Sharing share_text(const Code &code, const TextSite *sites, uint32_t count, const unsigned char *switches) {
  const File text(open_session_file("text", O_RDONLY));
  if (!text.is_open()) return kNoSession;
  const Mapping mapping(text, 0, kTextHeaderBytes, PROT_READ);
  if (!mapping.is_there()) return kNoRoom;
  const TextHeader &header = *reinterpret_cast<const TextHeader *>(mapping.begin());
  uint32_t base;
  memcpy(&base, switches + sizeof(char[8]), sizeof base);
  if (!is_ours(header)) return kNoSession;
  const TextRegion *found = find(header, base);
  if (found == nullptr) {
    if (const Sharing why = make_region(code, {sites, count}, switches, base); why != kShared) return why;
    found = find(header, base);
  }
  if (found == nullptr) return kNoRoom;
  const TextRegion region = *found;
  if (!region.is_possible(text.size()) || region.bytes != code.bytes) return kDifferent;
  // Private, as a program's own code is: a page is the file's, which the collector changes, until somebody writes
  // there, such as a debugger.
  Mapping copy(text, region.copy, region.bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE);
  if (!copy.is_there()) return kRefused;
  if (!is_same(copy.begin(), code, sites, count)) return kDifferent;
  return copy.move_to(code.begin) ? kShared : kRefused;
}

}  // namespace vprof
