// Threads and what they meet at: creation, join, once, barriers. std::thread, std::call_once and <threads.h> are made
// of these; the variables in functions that C++ initialises once, of futexes (futex_interpose.cpp).
#include <threads.h>

#include <atomic>

#include "arguments.h"
#include "blocking.h"
#include "interpose.h"
#include "stacks.h"

namespace vprof {

// Creation

// What a new thread takes with it. Not from malloc: the thread's first use of that, to free it, would reserve 64 MB of
// addresses for the thread.
struct ThreadStart {
  std::atomic<bool> taken;
  void (*routine)();
  void *argument;
  Creator creator;
  size_t stack_bytes;
};

constexpr uint32_t kStarts = 1024;  // threads that were made and have not begun yet; further ones go without
static ThreadStart g_starts[kStarts];

static ThreadStart *take_start() {
  static std::atomic<uint32_t> hint;
  const uint32_t first = hint.fetch_add(1, std::memory_order_relaxed);
  for (uint32_t i = 0; i < kStarts; ++i) {
    ThreadStart &start = g_starts[(first + i) % kStarts];
    if (!start.taken.load(std::memory_order_relaxed) && !start.taken.exchange(true, std::memory_order_acquire))
      return &start;
  }
  return nullptr;
}

template <typename Result>
static Result start_thread(void *p) {
  ThreadStart *start = static_cast<ThreadStart *>(p);
  const auto routine = reinterpret_cast<Result (*)(void *)>(start->routine);
  void *const argument = start->argument;
  t_thread.creator = start->creator;
  t_stack = thread_stack(start->stack_bytes);
  start->taken.store(false, std::memory_order_release);
  current_slot();  // also a thread without probes has an end, which wakes who joins it
  return routine(argument);
}

// Of a thread that is made with these attributes, null: the usual ones.
static size_t stack_bytes(const pthread_attr_t *attributes) {
  size_t bytes = 0;
  pthread_attr_t usual;
  if (attributes != nullptr) {
    pthread_attr_getstacksize(attributes, &bytes);
  } else if (pthread_attr_init(&usual) == 0) {
    pthread_attr_getstacksize(&usual, &bytes);
    pthread_attr_destroy(&usual);
  }
  return bytes;
}

// `create` makes a thread that runs a routine with an argument; 0 if it could.
template <typename Result, typename Create>
static int create_thread(Result (*routine)(void *), void *argument, size_t bytes, Create create) {
  const Slot *slot = attached() ? current_slot() : nullptr;
  ThreadStart *start = slot != nullptr ? take_start() : nullptr;
  if (start == nullptr) return create(routine, argument);
  start->routine = reinterpret_cast<void (*)()>(routine);
  start->argument = argument;
  start->creator = {slot->uid, ticks()};
  start->stack_bytes = bytes;
  const int rc = create(start_thread<Result>, start);
  if (rc != 0) start->taken.store(false, std::memory_order_release);
  return rc;
}

VPROF_INTERPOSE(int, pthread_create,
                (pthread_t * thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument),
                (thread, attributes, routine, argument)) {
  return create_thread(routine, argument, stack_bytes(attributes), [=](void *(*start)(void *), void *with) {
    return real_pthread_create(thread, attributes, start, with);
  });
}

VPROF_INTERPOSE(int, thrd_create, (thrd_t * thread, thrd_start_t routine, void *argument),
                (thread, routine, argument)) {
  return create_thread(routine, argument, stack_bytes(nullptr),
                       [=](thrd_start_t start, void *with) { return real_thrd_create(thread, start, with); });
}

// Join

static uint64_t name_of(pthread_t thread) {
  return object_id(reinterpret_cast<void *>(thread));
}

template <typename Block>
static int join(pthread_t thread, void **result, Block block) {
  if (!attached()) return block();
  const int rc = pthread_tryjoin_np(thread, result);
  if (rc == 0) return 0;
  if (rc != EBUSY) return block();
  const Wait wait = begin_wait(ObjectClass::kJoin, name_of(thread));
  const int joined = within(wait, block);
  finish_wait(wait, joined, Trust::kAlways);
  return joined;
}

// Only for its real one.
VPROF_INTERPOSE(int, pthread_tryjoin_np, (pthread_t thread, void **result), (thread, result)) {
  return real_pthread_tryjoin_np(thread, result);
}

VPROF_INTERPOSE(int, pthread_join, (pthread_t thread, void **result), (thread, result)) {
  return join(thread, result, [=] { return real_pthread_join(thread, result); });
}

VPROF_INTERPOSE(int, pthread_timedjoin_np, (pthread_t thread, void **result, const timespec *until),
                (thread, result, until)) {
  if (until != nullptr && !is_time(until)) return real_pthread_timedjoin_np(thread, result, until);
  return join(thread, result, [=] { return real_pthread_timedjoin_np(thread, result, until); });
}

VPROF_INTERPOSE(int, pthread_clockjoin_np, (pthread_t thread, void **result, clockid_t clock, const timespec *until),
                (thread, result, clock, until)) {
  if (until != nullptr && !is_time(clock, until)) return real_pthread_clockjoin_np(thread, result, clock, until);
  return join(thread, result, [=] { return real_pthread_clockjoin_np(thread, result, clock, until); });
}

// In glibc a thrd_t is a pthread_t, whose result is the number.
VPROF_INTERPOSE(int, thrd_join, (thrd_t thread, int *result), (thread, result)) {
  void *number = nullptr;
  const auto done = [&] {
    if (result != nullptr) *result = static_cast<int>(reinterpret_cast<intptr_t>(number));
    return thrd_success;
  };
  if (!attached()) return real_thrd_join(thread, result);
  // By its name it may be a sanitizer's, which does not know the thread and ends the program.
  const int rc = real_pthread_tryjoin_np(thread, &number);
  if (rc == 0) return done();
  if (rc != EBUSY) return real_thrd_join(thread, result);
  const Wait wait = begin_wait(ObjectClass::kJoin, name_of(thread));
  const int joined = within(wait, [=] { return real_thrd_join(thread, result); });
  finish_wait(wait, joined == thrd_success ? 0 : EINVAL, Trust::kAlways);
  return joined;
}

// Once: who runs the routine says so at its end; who finds it running waits for that. A routine may run another.

struct Once {
  const void *control;
  void (*routine)();
  bool ran;
  Once *outer;
};

static __thread Once *t_once;

static void run_once() {
  Once *once = t_once;
  once->ran = true;
  once->routine();
  release_with_time(ObjectClass::kOnce, object_id(once->control), true);
}

// If nobody stamped the object since we came, we did not wait.
template <typename Real>
static int call_once(const void *control, void (*routine)(), Real real) {
  constexpr int kDone = 2;  // glibc's; another value only costs time
  if (!attached() || __atomic_load_n(static_cast<const int *>(control), __ATOMIC_ACQUIRE) == kDone)
    return real(routine);
  const uint64_t name = object_id(control);
  const uint64_t began = ticks();
  Once once = {control, routine, false, t_once};
  t_once = &once;
  const int rc = real(run_once);
  t_once = once.outer;
  const uint64_t resumed = ticks();
  const Peer peer = once.ran ? kNobody : released_within(ObjectClass::kOnce, name, began, resumed);
  if (peer.flags == 0) write_blocked({ObjectClass::kOnce, name, began, 0, nullptr}, peer, resumed);
  return rc;
}

VPROF_INTERPOSE(int, pthread_once, (pthread_once_t * control, void (*routine)()), (control, routine)) {
  return call_once(control, routine, [=](void (*run)()) { return real_pthread_once(control, run); });
}

VPROF_INTERPOSE(void, call_once, (once_flag * control, void (*routine)()), (control, routine)) {
  call_once(control, routine, [=](void (*run)()) {
    real_call_once(control, run);
    return 0;
  });
}

// Barriers: the last arriver of a round wakes the others. Who is last is counted here, as the barrier itself does.

VPROF_INTERPOSE(int, pthread_barrier_init,
                (pthread_barrier_t * barrier, const pthread_barrierattr_t *attributes, unsigned count),
                (barrier, attributes, count)) {
  const int rc = real_pthread_barrier_init(barrier, attributes, count);
  ObjectEntry *entry = rc == 0 && attached() ? entry_of(ObjectClass::kBarrier, object_id(barrier)) : nullptr;
  if (entry == nullptr) return rc;
  entry->barrier.arrivals.store(0, std::memory_order_relaxed);
  entry->barrier.parties.store(count, std::memory_order_release);
  return rc;
}

VPROF_INTERPOSE(int, pthread_barrier_wait, (pthread_barrier_t * barrier), (barrier)) {
  if (!attached()) return real_pthread_barrier_wait(barrier);
  const uint64_t name = object_id(barrier);
  const Wait wait = begin_wait(ObjectClass::kBarrier, name);
  const uint64_t parties = wait.entry != nullptr ? wait.entry->barrier.parties.load(std::memory_order_acquire) : 0;
  const bool is_last =
      parties != 0 && (wait.entry->barrier.arrivals.fetch_add(1, std::memory_order_acq_rel) + 1) % parties == 0;
  if (is_last) release_with_time(ObjectClass::kBarrier, name, false);
  const int rc = real_pthread_barrier_wait(barrier);
  if (is_last)
    end_wait(wait);
  else
    finish_wait(wait, rc == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : rc, Trust::kOnlyDuringWait);
  return rc;
}

}  // namespace vprof
