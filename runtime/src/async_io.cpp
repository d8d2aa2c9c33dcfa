#include "async_io.h"

#include <errno.h>

#include "descriptor_waits.h"
#include "off_cpu.h"

namespace vprof {

namespace {

// A request on its way. Whoever reads a place while it is being filled takes a wrong time or submitter from it.
struct Place {
  std::atomic<uint64_t> key;  // 0: free
  std::atomic<uint64_t> submitted;
  std::atomic<uint32_t> uid;
  std::atomic<int> fd;
  std::atomic<uint32_t> what;  // kReading, kWriting, kOfFile, and above these the number of the queue's count
};

constexpr uint32_t kReading = 1, kWriting = 2, kOfFile = 4, kCountShift = 8;
constexpr uint32_t kPlaces = 8192, kTries = 4, kCounts = 256;
Place g_places[kPlaces];
std::atomic<int32_t> g_files[kCounts];  // requests for files on their way; queues may share one

uint64_t key_of(uint64_t queue, uint64_t cookie) {
  return memory_identity(queue, cookie);
}

uint32_t count_of(uint64_t queue) {
  return static_cast<uint32_t>(memory_identity(queue, 0) % kCounts);
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
    g_files[what >> kCountShift].fetch_sub(1, std::memory_order_relaxed);
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
  if (asked.of_file || asked.fd < 0) return asked.of_file;
  const DescriptorKind kind = descriptor(asked.fd).kind;
  return kind == DescriptorKind::kFile || kind == DescriptorKind::kLockedFile;
}

}  // namespace

bool remember_request(uint64_t queue, uint64_t cookie, Asked asked) {
  const bool of_file = is_for_file(asked);
  if (!of_file && asked.fd >= 0) watch(asked.fd, asked.reading, asked.writing);
  const uint64_t key = key_of(queue, cookie);
  const uint32_t count = count_of(queue);
  Place &p = place_for(key);
  free_place(p);
  if (of_file) g_files[count].fetch_add(1, std::memory_order_relaxed);
  p.submitted.store(ticks(), std::memory_order_relaxed);
  p.uid.store(own_uid(), std::memory_order_relaxed);
  p.fd.store(asked.fd, std::memory_order_relaxed);
  p.what.store(
      (asked.reading ? kReading : 0) | (asked.writing ? kWriting : 0) | (of_file ? kOfFile : 0) | count << kCountShift,
      std::memory_order_relaxed);
  p.key.store(key, std::memory_order_release);
  return of_file;
}

void forget_request(uint64_t queue, uint64_t cookie) {
  Place *p = find(key_of(queue, cookie));
  if (p != nullptr) free_place(*p);
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
  if ((what & kOfFile) != 0 && submitted < submitted_) {
    submitted_ = submitted;
    submitter_ = uid != 0 ? Peer{uid, submitted, 0} : kNobody;
  } else if (waited_ && (what & (kReading | kWriting)) != 0) {
    readiness_.found(fd, (what & kReading) != 0, (what & kWriting) != 0);
  }
}

void AsyncWait::write_for_storage(uint64_t submitted, Peer submitter) {
  const uint64_t began = readiness_.wait().began, since = submitted < resumed_ ? submitted : resumed_;
  if (since > began) write_blocked({ObjectClass::kDescriptor, queue_, began, 0, nullptr}, submitter, since);
  write_blocked({ObjectClass::kStorage, queue_, since > began ? since : began, 0, nullptr}, kNobody, resumed_);
}

void AsyncWait::finish(long result) {
  if (!waited_) return;
  const int error = errno;
  if (submitted_ != ~uint64_t{0})
    write_for_storage(submitted_, submitter_);
  else if (result == 0 && g_files[count_of(queue_)].load(std::memory_order_relaxed) > 0)
    write_for_storage(0, kNobody);
  else if (result <= 0 || some_known_)
    readiness_.finish(result);
  errno = error;
}

}  // namespace vprof
