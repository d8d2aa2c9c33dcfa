#include "thread.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>

#include "fibers.h"
#include "off_cpu.h"
#include "restriction.h"
#include "shadow_stack.h"
#include "stacks.h"
#include "sync.h"

namespace vprof {

__thread ThreadState t_thread;

static pthread_key_t g_end_key;

// The round of key destructors that ends a thread's slot: the last. ThreadSanitizer ends the thread in that round,
// before our destructor, so code that it has instrumented must be done one round earlier.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VPROF_TSAN 1
#endif
#endif
#ifdef VPROF_TSAN
constexpr int kEndingRound = PTHREAD_DESTRUCTOR_ITERATIONS - 1;
#else
constexpr int kEndingRound = PTHREAD_DESTRUCTOR_ITERATIONS;
#endif

bool prepare_threads() {
  return pthread_key_create(&g_end_key, end_thread) == 0;
}

// Its call numbers are those of the same place.
static Slot *take_free_slot(uint32_t pid, uint16_t **calls) {
  const Layout layout = g_session.layout;
  const uint32_t first = g_session.arena->slot_hint.fetch_add(1, std::memory_order_relaxed) % layout.slots;
  for (uint32_t i = 0; i < layout.slots; ++i) {
    const uint32_t place = (first + i) % layout.slots;
    Slot *slot = layout.slot(g_session.arena, place);
    uint64_t expected = slot_owner(SlotState::kFree, 0);
    if (slot->owner.load(std::memory_order_relaxed) == expected &&
        slot->owner.compare_exchange_strong(expected, slot_owner(SlotState::kClaimed, pid),
                                            std::memory_order_acq_rel)) {
      *calls = g_session.call_numbers + size_t{place} * kMaxFrames;
      return slot;
    }
  }
  return nullptr;
}

static void write_created(Slot *slot, Creator by) {
  const Record event[2] = {make_record(Kind::kCreated, slot->start_ticks, 0, 0),
                           make_record(Kind::kPeer, by.ticks, 0, by.uid)};
  record(slot, event, 2, Space::kNormal, slot->start_ticks);
}

// The C library writes it where the owner of a mutex is. So it is had without a system call, which a program may have
// forbidden itself.
uint32_t own_tid() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_trylock(&mutex);
  const uint32_t owner = static_cast<uint32_t>(mutex.__data.__owner);
  pthread_mutex_unlock(&mutex);
  pthread_mutex_destroy(&mutex);
  return owner;
}

Slot *claim_slot() {
  if (!attached() || t_thread.refused) return nullptr;
  if (t_thread.claiming) {
    ++t_thread.missed;
    return nullptr;
  }
  const int saved_errno = errno;
  t_thread.claiming = true;
  const uint32_t pid = g_session.pid;
  uint16_t *calls = nullptr;
  Slot *slot = take_free_slot(pid, &calls);
  if (slot == nullptr) {
    t_thread.refused = true;
    g_session.arena->unslotted.fetch_add(1, std::memory_order_relaxed);
  } else {
    slot->uid = g_session.arena->newest_uid.fetch_add(1, std::memory_order_release) + 1;
    slot->tid = own_tid();
    slot->start_ticks = ticks();
    slot->program = g_session.program;
    slot->off_cpu = off_cpu_is_known() && may_look();
    slot->fiber = is_in_fiber();
    slot->behind_libc = g_session.behind_libc;
    slot->owner.store(slot_owner(SlotState::kLive, pid), std::memory_order_release);
    if (t_thread.creator.uid != 0) write_created(slot, t_thread.creator);
    pthread_setspecific(g_end_key, &t_thread);  // an early key: its place is in the thread, nothing is allocated
    t_thread.calls = calls;
    t_thread.slot = slot;
    t_thread.tsc_slot = g_session.clock == Clock::kTsc ? slot : nullptr;
    begin_looking();
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_thread.claiming = false;
  if (slot != nullptr && t_thread.missed != 0) slot->ring.drop(t_thread.missed, slot->start_ticks);
  errno = saved_errno;
  return slot;
}

// The thread writes no records any more.
static void end_slot(Slot *slot) {
  const uint64_t now = event_ticks(slot);
  end_looking();
  end_records(slot, now);
  wake_joiner(slot);
  t_thread.refused = true;
  t_thread.slot = nullptr;
  t_thread.tsc_slot = nullptr;
  give_back(slot);
}

void end_records(Slot *slot, uint64_t now) {
  leave_waits(kThreadEnd);
  abandon_all(slot, now);
  slot->ring.flush_loss(records_of(slot), now);
}

void give_back(Slot *slot) {
  slot->owner.store(slot_owner(SlotState::kEnded, g_session.pid), std::memory_order_release);
}

// Runs in every round of key destructors, so that probes in other destructors are recorded as well; the last one ends
// the slot.
void end_thread(void *) {
  if (!attached() || (t_thread.slot == nullptr && !is_in_fiber())) return;
  if (++t_thread.ending_rounds < kEndingRound) {
    pthread_setspecific(g_end_key, &t_thread);
    return;
  }
  return_to_own_flow();
  if (t_thread.slot != nullptr) end_slot(t_thread.slot);
}

void silence() {
  Slot *slot = t_thread.slot;
  if (slot != nullptr) end_slot(slot);
  t_thread.refused = true;
  g_silenced.store(true, std::memory_order_relaxed);
}

void forget_slot(Creator by) {
  t_thread = ThreadState{};
  t_thread.creator = by;
}

bool frame_is_dead(uint64_t address, uint64_t stack_pointer) {
  constexpr uint64_t kFar = uint64_t{64} << 20;  // farther apart than one stack: a stack of its own (ucontext)
  stack_t alt;
  if (!is_restricted() && sigaltstack(nullptr, &alt) == 0 && !(alt.ss_flags & SS_DISABLE)) {
    const uint64_t low = reinterpret_cast<uint64_t>(alt.ss_sp), high = low + alt.ss_size;
    const bool inside = address >= low && address < high;
    const bool on_it = stack_pointer >= low && stack_pointer < high;
    // On the signal stack the interrupted frames are alive; off it, those that a handler left behind are dead.
    if (inside != on_it) return inside;
  }
  if (t_stack.has(address) && !t_stack.has(stack_pointer)) return false;  // the caller is in the midst of a switch
  return address < stack_pointer && stack_pointer - address < kFar;
}

bool writer_is_alive(Slot *slot, uint64_t stack_pointer) {
  return !frame_is_dead(slot->writing.load(std::memory_order_relaxed), stack_pointer);
}

}  // namespace vprof
