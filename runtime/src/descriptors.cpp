#include "descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/vfs.h>

#include "arguments.h"
#include "raw_syscall.h"
#include "signals.h"
#include "unix_peer.h"
#include "vfork.h"

namespace vprof {

namespace {

enum Origin : uint64_t { kInode = 16, kDrawn, kUnixEnd, kInternet, kPort, kPath };

constexpr uint32_t kMayBlock = 1;

struct Entry {
  std::atomic<uint32_t> kind;
  std::atomic<uint32_t> flags;
  std::atomic<uint64_t> in;
  std::atomic<uint64_t> out;
};

constexpr int kEntries = 65536;
Entry g_entries[kEntries];
std::atomic<int> g_used;  // no entry from here on was ever taken

Entry *entry_at(int fd) {
  return fd >= 0 && fd < kEntries ? &g_entries[fd] : nullptr;
}

// A child of vfork has its parent's memory and descriptors of its own: what it does to them is not told to the parent.
Entry *own_entry_at(int fd) {
  return vprof_in_vfork_child ? nullptr : entry_at(fd);
}

void enter(int fd, const Descriptor &d) {
  Entry *e = own_entry_at(fd);
  if (e == nullptr) return;
  int used = g_used.load(std::memory_order_relaxed);
  while (used <= fd && !g_used.compare_exchange_weak(used, fd + 1, std::memory_order_relaxed)) continue;
  e->in.store(d.in, std::memory_order_relaxed);
  e->out.store(d.out, std::memory_order_relaxed);
  e->flags.store(d.may_block ? kMayBlock : 0, std::memory_order_relaxed);
  e->kind.store(static_cast<uint32_t>(d.kind), std::memory_order_release);
}

Descriptor read(const Entry &e) {
  const auto kind = static_cast<DescriptorKind>(e.kind.load(std::memory_order_acquire));
  const uint32_t flags = e.flags.load(std::memory_order_relaxed);
  return {kind, (flags & kMayBlock) != 0, e.in.load(std::memory_order_relaxed), e.out.load(std::memory_order_relaxed)};
}

bool flags_allow_waiting(int fd) {
  return (vprof_raw_syscall(SYS_fcntl, long{fd}, long{F_GETFL}) & O_NONBLOCK) == 0;
}

constexpr Descriptor kNone = {DescriptorKind::kOther, false, 0, 0};
constexpr Descriptor kNotYet = {DescriptorKind::kUnknown, false, 0, 0};

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size) {
  uint64_t hash = memory_identity(seed, size);
  for (size_t i = 0; i < size; ++i) hash = memory_identity(hash, static_cast<const unsigned char *>(bytes)[i]);
  return hash;
}

// Addresses of sockets

struct Address {
  sockaddr_storage storage;
  socklen_t size;
  const sockaddr *get() const { return reinterpret_cast<const sockaddr *>(&storage); }
};

struct Internet {
  uint64_t high, low;  // an IPv4 address as IPv6 writes it
  uint64_t port;
  bool is_loopback() const {
    const bool is_v4 = high == 0 && (low & 0xffffffff) == 0xffff0000;
    return (is_v4 && (low >> 32 & 0xff) == 127) || (high == 0 && low == uint64_t{1} << 56);
  }
};

bool read_internet(const sockaddr *a, socklen_t size, Internet *i) {
  unsigned char bytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (a->sa_family == AF_INET && size >= sizeof(sockaddr_in)) {
    const auto *v4 = reinterpret_cast<const sockaddr_in *>(a);
    memcpy(bytes + 12, &v4->sin_addr, 4);
    i->port = v4->sin_port;
  } else if (a->sa_family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    const auto *v6 = reinterpret_cast<const sockaddr_in6 *>(a);
    memcpy(bytes, &v6->sin6_addr, 16);
    i->port = v6->sin6_port;
  } else {
    return false;
  }
  memcpy(&i->high, bytes, 8);
  memcpy(&i->low, bytes + 8, 8);
  return true;
}

uint64_t one_way(const Internet &from, const Internet &to) {
  const uint64_t sender = memory_identity(memory_identity(kInternet, from.high), from.low);
  const uint64_t target = memory_identity(memory_identity(sender, to.high), to.low);
  return memory_identity(target, from.port << 16 | to.port);
}

int option(int fd, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, SOL_SOCKET, name, &value, &size) == 0 ? value : 0;
}

Descriptor look_at_unix_socket(const struct stat &st) {
  const uint64_t peer = unix_peer(static_cast<uint32_t>(st.st_ino));
  if (peer == 0) return kNotYet;  // accepted later, perhaps
  return {DescriptorKind::kStream, false, memory_identity(kUnixEnd, st.st_ino), memory_identity(kUnixEnd, peer)};
}

Descriptor look_at_socket(int fd, const struct stat &st) {
  Address own, peer;
  own.size = peer.size = sizeof(sockaddr_storage);
  if (getsockname(fd, reinterpret_cast<sockaddr *>(&own.storage), &own.size) != 0) return kNone;
  const sa_family_t family = own.get()->sa_family;
  if (family != AF_UNIX && family != AF_INET && family != AF_INET6) return kNone;
  if (option(fd, SO_ACCEPTCONN)) {
    Internet i;
    const bool is_internet = read_internet(own.get(), own.size, &i);
    const uint64_t name = is_internet ? memory_identity(kPort, i.port) : hash_bytes(kPath, &own.storage, own.size);
    return {DescriptorKind::kListening, false, name, 0};
  }
  if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer.storage), &peer.size) != 0) return kNotYet;
  if (family == AF_UNIX) return look_at_unix_socket(st);
  Internet here, there;
  if (!read_internet(own.get(), own.size, &here) || !read_internet(peer.get(), peer.size, &there)) return kNone;
  return {DescriptorKind::kStream, false, one_way(there, here), one_way(here, there)};
}

// Of POSIX message queues, which are files of a file system of their own.
constexpr long kQueueFileSystem = 0x19800202;

bool is_queue(int fd, const struct stat &st) {
  struct statfs fs;
  return S_ISREG(st.st_mode) && fstatfs(fd, &fs) == 0 && fs.f_type == kQueueFileSystem;
}

uint64_t identity_of(const struct stat &st) {
  return memory_identity(memory_identity(kInode, st.st_dev), st.st_ino);
}

Descriptor look_at(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0) return kNotYet;
  Descriptor d = kNone;
  if (S_ISSOCK(st.st_mode)) {
    d = look_at_socket(fd, st);
  } else if (S_ISFIFO(st.st_mode) || is_queue(fd, st)) {
    const uint64_t object = identity_of(st);
    d = {DescriptorKind::kStream, false, object, object};
  } else if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)) {
    d.kind = DescriptorKind::kFile;
  }
  if (d.kind != DescriptorKind::kOther) d.may_block = flags_allow_waiting(fd);
  return d;
}

}  // namespace

Descriptor descriptor(int fd) {
  const Entry *e = entry_at(fd);
  if (e == nullptr || is_restricted()) return kNone;
  Descriptor known = read(*e);
  if (known.kind == DescriptorKind::kSignals) known.in = process_target(g_session.pid);  // of who reads it
  if (__builtin_expect(known.kind != DescriptorKind::kUnknown, 1)) return known;
  const int saved_errno = errno;
  const Descriptor d = look_at(fd);
  if (d.kind != DescriptorKind::kUnknown) enter(fd, d);
  errno = saved_errno;
  return d;
}

Descriptor known_descriptor(int fd) {
  const Entry *e = entry_at(fd);
  return e != nullptr && !is_restricted() ? read(*e) : kNone;
}

void forget_received(const void *received) {
  auto *message = static_cast<msghdr *>(const_cast<void *>(received));
  for (cmsghdr *c = CMSG_FIRSTHDR(message); c != nullptr; c = CMSG_NXTHDR(message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
      int fd;
      memcpy(&fd, reinterpret_cast<const char *>(c) + at, sizeof fd);
      forget_descriptor(fd);
    }
  }
}

void forget_descriptor(int fd) {
  Entry *e = own_entry_at(fd);
  if (e != nullptr) e->kind.store(static_cast<uint32_t>(DescriptorKind::kUnknown), std::memory_order_release);
}

void forget_descriptors(unsigned first, unsigned last) {
  const unsigned used = static_cast<unsigned>(g_used.load(std::memory_order_relaxed));
  for (unsigned fd = first; fd < used && fd <= last; ++fd) forget_descriptor(static_cast<int>(fd));
}

void copy_descriptor(int from, int to) {
  const Entry *e = entry_at(from);
  if (e != nullptr) enter(to, read(*e));
}

void set_may_block(int fd, bool may_block) {
  Entry *e = own_entry_at(fd);
  if (e == nullptr) return;
  if (may_block)
    e->flags.fetch_or(kMayBlock, std::memory_order_relaxed);
  else
    e->flags.fetch_and(~kMayBlock, std::memory_order_relaxed);
}

void enter_eventfd(int fd) {
  if (is_restricted()) return;
  const int saved_errno = errno;
  const uint64_t number = g_session.arena->anonymous_mappings.fetch_add(1, std::memory_order_relaxed);
  const uint64_t object = memory_identity(kDrawn, number);
  enter(fd, {DescriptorKind::kStream, flags_allow_waiting(fd), object, object});
  errno = saved_errno;
}

void enter_signalfd(int fd) {
  if (is_restricted()) return;
  const int saved_errno = errno;
  const bool may_block = flags_allow_waiting(fd);
  enter(fd, {DescriptorKind::kSignals, may_block, process_target(g_session.pid), 0});
  errno = saved_errno;
}

void enter_pair(int a, int b) {
  if (is_restricted()) return;
  const int saved_errno = errno;
  struct stat of_a, of_b;
  if (fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0) {
    const bool may_block = flags_allow_waiting(a);
    const uint64_t to_a = memory_identity(kUnixEnd, of_a.st_ino), to_b = memory_identity(kUnixEnd, of_b.st_ino);
    enter(a, {DescriptorKind::kStream, may_block, to_a, to_b});
    enter(b, {DescriptorKind::kStream, may_block, to_b, to_a});
  }
  errno = saved_errno;
}

uint64_t enter_locked_file(int fd) {
  if (is_restricted()) return 0;
  const int saved_errno = errno;
  struct stat st;
  const bool known = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
  errno = saved_errno;
  if (!known) return 0;
  enter(fd, {DescriptorKind::kLockedFile, true, identity_of(st), 0});
  return identity_of(st);
}

uint64_t listener_at(const void *address, uint32_t size) {
  const auto *a = static_cast<const sockaddr *>(address);
  if (size < sizeof(sa_family_t) || size > sizeof(sockaddr_storage) || !is_readable(a, size)) return 0;
  if (a->sa_family == AF_UNIX) {
    // getsockname of the listener counts the zero behind a path, which connect may leave out, or more than it.
    const auto *u = static_cast<const sockaddr_un *>(address);
    const size_t most = size - offsetof(sockaddr_un, sun_path);
    if (size > sizeof(sockaddr_un) || most == 0 || u->sun_path[0] == '\0') return hash_bytes(kPath, a, size);
    sockaddr_un terminated = {};
    terminated.sun_family = AF_UNIX;
    const size_t length = strnlen(u->sun_path, most);
    memcpy(terminated.sun_path, u->sun_path, length);
    return hash_bytes(kPath, &terminated, offsetof(sockaddr_un, sun_path) + length + 1);
  }
  Internet i;
  return read_internet(a, size, &i) && i.is_loopback() ? memory_identity(kPort, i.port) : 0;
}

void release_closed(const Descriptor &d) {
  if (d.kind == DescriptorKind::kStream) {
    release_with_time(ObjectClass::kDescriptor, d.out, false);
    release_with_time(ObjectClass::kDescriptor, room(d.in), false);
  } else if (d.kind == DescriptorKind::kLockedFile) {
    release_with_time(ObjectClass::kFileLock, d.in, false);
  }
}

void release_all_descriptors() {
  const int used = g_used.load(std::memory_order_relaxed);
  for (int fd = 0; fd < used; ++fd) release_closed(read(g_entries[fd]));
}

}  // namespace vprof
