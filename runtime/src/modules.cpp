// Registration of an instrumented module: its switch bytes become a range of the session's file, shared by all
// processes.
//
//     constructor of vprof_begin.o -> __vprof_register -> entry of the module table -> mapping -> wait for `acked`
//
// The table is shared memory, which others may overwrite: what is taken from it is checked, and how long a process
// waits for others is limited for its whole life, whatever they do.
//
// The bytes are mapped by duplicating the process's mapping of `switches` (mremap with old size 0), where that is
// possible, not from a descriptor: a server that closes all its descriptors can still load instrumented libraries.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "restriction.h"
#include "wait_stacks.h"

extern "C" __attribute__((visibility("default"))) void __vprof_register(unsigned char *start, unsigned char *stop);

namespace vprof {
namespace {

constexpr char kSwitchMagic[8] = {'V', 'P', 'R', 'O', 'F', 'S', 'W', '4'};
// Of all waits of this process together.
constexpr uint64_t kLockPatience_ns = 1000000000;
constexpr uint64_t kAckPatience_ns = 60000000000;
constexpr uint64_t kFreshHeartbeat_ns = 5000000000;  // a disk may hold the collector up

// Where the module with `address` lies: fills path and link-time address, and where its code is.
struct Search {
  uintptr_t address;
  Module *module;
  uintptr_t bias, code_low, code_high;
  bool is_ours;  // libvprof itself: nobody asks where in it a thread waits
};

void find_code(const dl_phdr_info *info, Search *search) {
  const uintptr_t own = reinterpret_cast<uintptr_t>(&__vprof_register);
  search->bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const uintptr_t low = info->dlpi_addr + segment.p_vaddr, high = low + segment.p_memsz;
    search->code_low = search->code_high == 0 ? low : std::min(search->code_low, low);
    search->code_high = std::max(search->code_high, high);
  }
  const bool is_program = info->dlpi_name[0] == '\0';
  search->is_ours = !is_program && own >= search->code_low && own < search->code_high;
}

int visit_module(dl_phdr_info *info, size_t, void *data) {
  Search *search = static_cast<Search *>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || search->address < start || search->address >= start + segment.p_memsz) continue;
    search->module->section_addr = search->address - info->dlpi_addr;
    find_code(info, search);
    const char *name = info->dlpi_name[0] != '\0' ? info->dlpi_name : "/proc/self/exe";
    char path[PATH_MAX];
    if (realpath(name, path) != nullptr && strlen(path) < sizeof search->module->path)
      strcpy(search->module->path, path);
    return 1;
  }
  return 0;
}

Search describe(unsigned char *start, unsigned char *stop, Module &m) {
  m.count = static_cast<uint32_t>(stop - start);
  Search search = {reinterpret_cast<uintptr_t>(start), &m, 0, 0, 0, false};
  dl_iterate_phdr(visit_module, &search);
  struct stat st;
  if (m.path[0] != '\0' && stat(m.path, &st) == 0) {
    m.device = st.st_dev;
    m.inode = st.st_ino;
    m.changed_ns = static_cast<uint64_t>(st.st_mtim.tv_sec) * 1000000000 + static_cast<uint64_t>(st.st_mtim.tv_nsec);
  }
  const bool aligned = reinterpret_cast<uintptr_t>(start) % kPage == 0 && m.count % kPage == 0;
  m.state = aligned && memcmp(start, kSwitchMagic, sizeof kSwitchMagic) == 0 ? Module::kMapped : Module::kUnaligned;
  return search;
}

// REQUIRES: the table is locked. `b` is ours.
bool same_module(const Module &a, const Module &b) {
  return a.device == b.device && a.inode == b.inode && a.section_addr == b.section_addr && a.count == b.count &&
         a.changed_ns == b.changed_ns && a.state == b.state && strcmp(a.path, b.path) == 0;
}

// Not nanosleep, which the program's probes may see (external_interpose.cpp).
void pause_ms(long ms) {
  const timespec t = {0, ms * 1000000};
  syscall(SYS_nanosleep, &t, nullptr);
}

// Whether `done()` before *patience_ns is over, which is what all waits share.
template <typename Done>
bool wait_until(Done done, uint64_t *patience_ns) {
  const uint64_t start = monotonic_ns();
  for (;;) {
    const bool is_done = done();
    const uint64_t waited_ns = monotonic_ns() - start;
    if (is_done || waited_ns >= *patience_ns) {
      *patience_ns -= waited_ns < *patience_ns ? waited_ns : *patience_ns;
      return is_done;
    }
    pause_ms(1);
  }
}

// Serializes the processes that append a module; the collector relieves a holder that died. A holder with our own pid
// is what this process was before exec: libraries are loaded by one thread at a time. False if another holds it until
// our patience is over: who holds it for ever costs each process a second.
bool lock_table(Arena *arena) {
  static uint64_t patience_ns = kLockPatience_ns;
  const auto lock = [arena] {
    uint32_t holder = 0;
    return arena->module_lock.compare_exchange_strong(holder, g_session.pid, std::memory_order_acquire) ||
           holder == g_session.pid;
  };
  return wait_until(lock, &patience_ns);
}

// A module's entry, and its first site number as it was checked: `bytes` from there on lie in `switches`.
struct Place {
  Module *entry;
  uint32_t base;
};

bool lies_in_switches(uint32_t base, uint32_t bytes) {
  return base <= kMaxSites && bytes <= kMaxSites - base;
}

// REQUIRES: the table is locked. Null if the table or the switch file is full, or overwritten.
Place find_or_append(Arena *arena, const Module &described) {
  const uint32_t bytes = described.state == Module::kMapped ? described.count : 0;
  const uint32_t count = arena->module_count.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count && i < kMaxModules; ++i) {
    if (!same_module(arena->modules[i], described)) continue;
    const uint32_t base = read_once(arena->modules[i].base);
    return lies_in_switches(base, bytes) ? Place{&arena->modules[i], base} : Place{};
  }
  const uint32_t base = arena->sites_used.load(std::memory_order_relaxed);
  if (count >= kMaxModules || !lies_in_switches(base, bytes)) return {};
  Module &m = arena->modules[count];
  memcpy(static_cast<void *>(&m), static_cast<const void *>(&described), sizeof m);
  m.base = base;
  if (bytes != 0) {
    memcpy(g_session.switches + base, kSwitchMagic, sizeof kSwitchMagic);
    memcpy(g_session.switches + base + sizeof kSwitchMagic, &base, sizeof base);
    g_session.switches[base + kLockEventsAt] = g_session.lock_events;
  }
  arena->sites_used.store(base + bytes, std::memory_order_relaxed);
  arena->module_count.store(count + 1, std::memory_order_release);
  return {&m, base};
}

// Emulators of system calls may not know how to duplicate a mapping (qemu-user does not): then from a descriptor. By
// system calls, since mremap and mmap are ours and would tell how long the process has waited for us.
void map_switches(uint32_t base, uint32_t bytes, unsigned char *start) {
  if (syscall(SYS_mremap, g_session.switches + base, size_t{0}, size_t{bytes}, long{MREMAP_MAYMOVE | MREMAP_FIXED},
              start) != -1)
    return;
  const long file = open_session_file("switches", O_RDWR);
  if (file < 0) return;
  syscall(SYS_mmap, start, size_t{bytes}, long{PROT_READ | PROT_WRITE}, long{MAP_SHARED | MAP_FIXED}, file, long{base});
  syscall(SYS_close, file);
}

// Until the plan is on, and only while the collector is alive.
void wait_for_ack(Arena *arena, const Module &m) {
  static uint64_t patience_ns = kAckPatience_ns;
  const auto may_start = [&] {
    return m.acked.load(std::memory_order_acquire) != 0 ||
           monotonic_ns() - arena->heartbeat_ns.load(std::memory_order_relaxed) > kFreshHeartbeat_ns;
  };
  wait_until(may_start, &patience_ns);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void __vprof_register(unsigned char *start, unsigned char *stop) {
  start_once();
  if (!attached() || is_restricted()) return;
  const int saved_errno = errno;
  Arena *arena = g_session.arena;
  Module described{};
  const Search found = describe(start, stop, described);
  Place place = {};
  if (lock_table(arena)) {
    place = find_or_append(arena, described);
    arena->module_lock.store(0, std::memory_order_release);
  }
  if (place.entry != nullptr && !found.is_ours)
    know_code(static_cast<uint32_t>(place.entry - arena->modules), found.code_low, found.code_high, found.bias);
  if (place.entry != nullptr && described.state == Module::kMapped) {
    map_switches(place.base, described.count, start);
    if (g_session.hold) wait_for_ack(arena, *place.entry);
  }
  errno = saved_errno;
}

}  // namespace vprof
