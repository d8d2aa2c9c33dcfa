#include "async_io.h"

#include <errno.h>

#include "descriptor_waits.h"

namespace vprof {

namespace {

// A request on its way. Whoever reads a place while it is being filled takes a wrong time or submitter from it.
struct Place {
  std::atomic<uint64_t> key;  // 0: free
  std::atomic<uint64_t> submitted;
  std::atomic<uint32_t> uid;
  std::atomic<int> fd;
  std::atomic<uint32_t> what;  // kReading, kWriting, kOfFile, and above these the number of the queue's load
};

// How many requests for files a queue has, since when it has had some, and who submitted the first of these. It may be
// that of two queues.
struct Load {
  std::atomic<uint32_t> files;
  std::atomic<uint64_t> since;
  std::atomic<uint32_t> uid;
};

constexpr uint32_t kReading = 1, kWriting = 2, kOfFile = 4, kLoadShift = 8;
constexpr uint32_t kPlaces = 8192, kTries = 4, kLoads = 256;
Place g_places[kPlaces];
Load g_loads[kLoads];

uint64_t key_of(uint64_t queue, uint64_t cookie) {
  return memory_identity(queue, cookie);
}

uint32_t load_of(uint64_t queue) {
  return static_cast<uint32_t>(memory_identity(queue, 0) % kLoads);
}

void add_file(Load &load, uint64_t now) {
  if (load.files.fetch_add(1, std::memory_order_acq_rel) != 0) return;
  load.uid.store(own_uid(), std::memory_order_relaxed);
  load.since.store(now, std::memory_order_release);
}

// One that was forgotten with all others is not counted any more.
void take_file(Load &load) {
  uint32_t files = load.files.load(std::memory_order_relaxed);
  while (files != 0 && !load.files.compare_exchange_weak(files, files - 1, std::memory_order_acq_rel)) continue;
}

Peer peer_of(uint32_t uid, uint64_t time) {
  return uid != 0 ? Peer{uid, time, 0} : kNobody;
}

Place &place(uint64_t key, uint32_t i) {
  return g_places[(key + i) % kPlaces];
}

Place *find(uint64_t key) {
  for (uint32_t i = 0; i < kTries; ++i)
    if (place(key, i).key.load(std::memory_order_acquire) == key) return &place(key, i);
  return nullptr;
}

// Of several threads that free it at once, one does.
void free_place(Place &p) {
  const uint32_t what = p.what.load(std::memory_order_relaxed);
  if (p.key.exchange(0, std::memory_order_acq_rel) != 0 && (what & kOfFile) != 0)
    take_file(g_loads[what >> kLoadShift]);
}

Place &place_for(uint64_t key) {
  uint32_t free = 0;
  for (uint32_t i = kTries; i-- > 0;) {
    const uint64_t k = place(key, i).key.load(std::memory_order_relaxed);
    if (k == 0 || k == key) free = i;
  }
  return place(key, free);
}

bool is_for_file(const Asked &asked) {
  if (asked.of_file) return true;
  const DescriptorKind kind = descriptor(asked.fd).kind;
  return kind == DescriptorKind::kFile || kind == DescriptorKind::kLockedFile;
}

}  // namespace

bool remember_request(uint64_t queue, uint64_t cookie, Asked asked) {
  if (!asked.reading && !asked.writing && !asked.of_file) {
    forget_request(queue, cookie);
    return false;
  }
  const bool of_file = is_for_file(asked);
  if (!of_file) watch(asked.fd, asked.reading, asked.writing);
  const uint64_t key = key_of(queue, cookie);
  const uint32_t load = load_of(queue);
  const uint64_t now = ticks();
  Place &p = place_for(key);
  free_place(p);
  if (of_file) add_file(g_loads[load], now);
  p.submitted.store(now, std::memory_order_relaxed);
  p.uid.store(own_uid(), std::memory_order_relaxed);
  p.fd.store(asked.fd, std::memory_order_relaxed);
  p.what.store(
      (asked.reading ? kReading : 0) | (asked.writing ? kWriting : 0) | (of_file ? kOfFile : 0) | load << kLoadShift,
      std::memory_order_relaxed);
  p.key.store(key, std::memory_order_release);
  return of_file;
}

void forget_request(uint64_t queue, uint64_t cookie) {
  Place *p = find(key_of(queue, cookie));
  if (p != nullptr) free_place(*p);
}

void forget_requests_for_files(uint64_t queue) {
  g_loads[load_of(queue)].files.store(0, std::memory_order_relaxed);
}

// The thread's life begins before its first wait, not after it.
AsyncWait::AsyncWait(uint64_t queue) : queue_(queue) {
  current_slot();
  look_before_call();
  switches_ = voluntary_switches();
  readiness_ = ReadinessWait();
}

// A call that was had at once, or was preempted only, is no wait.
void AsyncWait::returned() {
  const int error = errno;
  resumed_ = ticks();
  waited_ = voluntary_switches() != switches_;
  errno = error;
  const Load &load = g_loads[load_of(queue_)];
  if (load.files.load(std::memory_order_acquire) == 0) return;
  submitted_ = load.since.load(std::memory_order_acquire);
  submitter_ = peer_of(load.uid.load(std::memory_order_relaxed), submitted_);
}

void AsyncWait::found(uint64_t cookie) {
  Place *p = find(key_of(queue_, cookie));
  if (p == nullptr) return;
  some_known_ = true;
  const uint32_t what = p->what.load(std::memory_order_relaxed);
  const uint64_t submitted = p->submitted.load(std::memory_order_relaxed);
  const uint32_t uid = p->uid.load(std::memory_order_relaxed);
  const int fd = p->fd.load(std::memory_order_relaxed);
  free_place(*p);
  if ((what & kOfFile) == 0) {
    if (waited_) readiness_.found(fd, (what & kReading) != 0, (what & kWriting) != 0);
    return;
  }
  file_known_ = true;
  if (submitted >= submitted_) return;
  submitted_ = submitted;
  submitter_ = peer_of(uid, submitted);
}

void AsyncWait::write_for_storage() {
  const uint64_t began = readiness_.wait().began, since = submitted_ < resumed_ ? submitted_ : resumed_;
  if (since > began) write_blocked({ObjectClass::kDescriptor, queue_, began, 0, nullptr}, submitter_, since);
  write_blocked({ObjectClass::kStorage, queue_, since > began ? since : began, 0, nullptr}, kNobody, resumed_);
}

void AsyncWait::finish(long result, bool none_left) {
  if (!waited_) return;
  const int error = errno;
  look_away();  // perhaps two records of one sleep
  const bool is_late = result == 0 && submitted_ != kNever && !none_left;
  if (file_known_ || is_late)
    write_for_storage();
  else if (result <= 0 || some_known_)
    readiness_.finish(result);
  errno = error;
}

}  // namespace vprof
