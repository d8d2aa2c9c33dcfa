#include "readiness.h"

#include <errno.h>

#include "signals.h"

namespace vprof {

namespace {

// Which descriptor an event of an epoll means, by a hash of the epoll and the event's data.
struct Place {
  std::atomic<uint64_t> key;  // 0: free
  std::atomic<int> fd;
};

constexpr uint32_t kPlaces = 16384, kTries = 4;
Place g_places[kPlaces];

uint64_t key_of(int poller, const epoll_event &event) {
  return memory_identity(static_cast<uint64_t>(poller), event.data.u64);
}

Place &place(uint64_t key, uint32_t i) {
  return g_places[(key + i) % kPlaces];
}

}  // namespace

void remember_in_epoll(int poller, int fd, const epoll_event *event) {
  if (event == nullptr) return;
  const uint64_t key = key_of(poller, *event);
  uint32_t free = 0;
  for (uint32_t i = kTries; i-- > 0;) {
    const uint64_t k = place(key, i).key.load(std::memory_order_relaxed);
    if (k == 0 || k == key) free = i;
  }
  place(key, free).fd.store(fd, std::memory_order_relaxed);
  place(key, free).key.store(key, std::memory_order_release);
  watch(fd, (event->events & EPOLLIN) != 0, (event->events & EPOLLOUT) != 0);
}

void watch(int fd, bool reading, bool writing) {
  const Descriptor d = descriptor(fd);
  if (reading && d.in != 0 && d.kind != DescriptorKind::kSignals) entry_of(ObjectClass::kDescriptor, d.in);
  if (writing && d.out != 0) entry_of(ObjectClass::kDescriptor, room(d.out));
}

void ReadinessWait::consider(ObjectClass cls, uint64_t object) {
  if (object == 0) return;
  if (resumed_ == 0) resumed_ = ticks();
  const Peer peer = released_within(cls, object, wait_.began, resumed_);
  const Peer last = later(peer_, peer);
  if (wait_.object == 0 || last.uid != peer_.uid || last.time != peer_.time) {
    wait_.cls = cls;
    wait_.object = object;
  }
  peer_ = last;
}

void ReadinessWait::found(int fd, bool reading, bool writing) {
  const Descriptor d = descriptor(fd);
  const bool signals = d.kind == DescriptorKind::kSignals;
  if (reading) consider(signals ? ObjectClass::kSignal : ObjectClass::kDescriptor, d.in);
  if (writing && d.out != 0) consider(ObjectClass::kDescriptor, room(d.out));
}

void ReadinessWait::found(int poller, const epoll_event &event) {
  const uint64_t key = key_of(poller, event);
  for (uint32_t i = 0; i < kTries; ++i)
    if (place(key, i).key.load(std::memory_order_acquire) == key) {
      const bool reading = (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) != 0;
      return found(place(key, i).fd.load(std::memory_order_relaxed), reading, (event.events & EPOLLOUT) != 0);
    }
}

void ReadinessWait::finish(long result) {
  const int error = errno;
  if (resumed_ == 0) resumed_ = ticks();
  if (result >= 0)
    write_blocked(wait_, result == 0 ? kTimedOut : peer_, resumed_);
  else if (error == EINTR)
    write_blocked(wait_, sender_of_signal(wait_.began, resumed_), resumed_);
  errno = error;
}

}  // namespace vprof
