#include "fibers.h"

#include <sys/mman.h>

#include "described.h"
#include "off_cpu.h"
#include "restriction.h"
#include "shadow_stack.h"

namespace vprof {

namespace {

// What a flow has while it does not run.
struct Flow {
  ThreadState thread;
  Described described;
  OpenWaits waits;
  Stack stack;
  uint64_t left;           // ticks since when it has not run, or when it was made; 0: not known
  std::atomic<bool> runs;  // of a fiber
};

// Of a fiber's stack; high 0: none is here, or it is being made.
struct Place {
  std::atomic<uint64_t> low, high;
  std::atomic<bool> taken;

  Stack stack() const {
    const uint64_t end = high.load(std::memory_order_acquire);
    return end != 0 ? Stack{low.load(std::memory_order_relaxed), end} : Stack{0, 0};
  }
};

// Fibers, and behind them threads' own flows.
constexpr uint32_t kPlaces = kMostFibers + 1024, kNoPlace = kPlaces;

// Zero to begin with. Places come first, since all of them are looked at.
struct Fibers {
  std::atomic<uint32_t> used;  // places that were ever taken
  Place places[kPlaces];
  Flow flows[kPlaces];
};

}  // namespace

static std::atomic<Fibers *> g_fibers;
static std::atomic<bool> g_some_are_unknown;  // more fibers than places

// What runs on a stack that nobody knows, on any thread: never recorded, so nothing of it is kept.
static Flow g_elsewhere;

// Null: the thread's own flow runs. `t_own` keeps it while another one does; null until then. In the table of fibers,
// without a stack there: thread-local memory is scarce where the library is loaded late.
static __thread Flow *t_flow __attribute__((tls_model("initial-exec")));
static __thread Flow *t_own __attribute__((tls_model("initial-exec")));

static Fibers *known_fibers() {
  return g_fibers.load(std::memory_order_acquire);
}

// Null: no memory, or the program may not ask for it any more.
static Fibers *make_fibers() {
  if (Fibers *known = known_fibers()) return known;
  if (is_restricted()) return nullptr;
  void *memory =
      mmap(nullptr, sizeof(Fibers), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  Fibers *other = nullptr;
  if (g_fibers.compare_exchange_strong(other, static_cast<Fibers *>(memory))) return static_cast<Fibers *>(memory);
  munmap(memory, sizeof(Fibers));
  return other;
}

static uint32_t used(const Fibers *fibers) {
  const uint32_t n = fibers->used.load(std::memory_order_acquire);
  return n < kPlaces ? n : kPlaces;
}

// A free place among the first `most`, kNoPlace: there is none.
static uint32_t take_place(Fibers *fibers, uint32_t most) {
  for (uint32_t i = 0; i < most; ++i) {
    uint32_t n = used(fibers);
    if (i == n) fibers->used.compare_exchange_strong(n, i + 1, std::memory_order_acq_rel);
    std::atomic<bool> &taken = fibers->places[i].taken;
    if (!taken.load(std::memory_order_relaxed) && !taken.exchange(true, std::memory_order_acquire)) return i;
  }
  return kNoPlace;
}

// The smallest stack counts: one may lie within another, as a variable of it.
static Flow *fiber_at(uint64_t address) {
  Fibers *fibers = known_fibers();
  if (fibers == nullptr) return nullptr;
  Flow *found = nullptr;
  uint64_t least = ~uint64_t{0};
  for (uint32_t i = 0, n = used(fibers); i < n; ++i) {
    const Stack stack = fibers->places[i].stack();
    if (!stack.has(address) || stack.high - stack.low >= least) continue;
    least = stack.high - stack.low;
    found = &fibers->flows[i];
  }
  return found;
}

// For a thread that leaves its own flow for the first time. False: no place, it must not.
static bool keep_own_flow() {
  Fibers *fibers = make_fibers();
  const uint32_t place = fibers != nullptr ? take_place(fibers, kPlaces) : kNoPlace;
  if (place == kNoPlace) return false;
  t_own = &fibers->flows[place];
  t_own->left = 0;
  return true;
}

bool is_in_fiber() {
  return t_flow != nullptr;
}

// Null: the thread's own flow, which has never been left.
static Flow *running() {
  return t_flow != nullptr ? t_flow : t_own;
}

static Stack own_stack() {
  return t_flow != nullptr ? t_own->stack : t_stack;
}

// From here on `to` runs. A signal handler in the midst of it finds no slot, and counts what it misses. REQUIRES: a
// place for the flow that is left.
static void exchange(Flow &to) {
  static Flow nothing;  // of g_elsewhere
  Flow &from = t_flow == &g_elsewhere ? nothing : *running();
  t_thread.claiming = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  from.thread = t_thread;
  from.thread.claiming = false;
  t_thread.slot = t_thread.tsc_slot = nullptr;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  from.described = t_described;
  from.waits = t_waits;
  from.stack = t_stack;
  ThreadState next = to.thread;
  next.refused |= &to == &g_elsewhere;
  next.slot = next.tsc_slot = nullptr;
  next.claiming = true;
  next.missed = 0;
  t_thread = next;
  t_described = to.described;
  t_waits = to.waits;
  t_left_stack = t_stack;
  t_stack = to.stack;
  t_flow = &to == t_own ? nullptr : &to;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_thread.slot = to.thread.slot;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_thread.tsc_slot = to.thread.tsc_slot;
  t_thread.claiming = false;
  if (t_thread.missed != 0 && t_thread.slot != nullptr) t_thread.slot->ring.drop(t_thread.missed, ticks());
  t_thread.missed = 0;
}

// The end of the running flow's wait for its turn. A slot that its flow was preempted in while it wrote takes nothing.
static void write_resumed(uint64_t left, uint32_t waker, uint64_t now) {
  Slot *slot = current_slot();
  if (slot == nullptr || left == 0) return;
  const uint64_t resumed = now > slot->start_ticks ? now : slot->start_ticks;
  const uint64_t object = object_id(t_stack.low);
  const Record event[3] = {make_record(Kind::kBlocked, resumed, static_cast<uint32_t>(ObjectClass::kFiber), left),
                           make_record(Kind::kObject, 0, 0, object),
                           make_record(Kind::kPeer, waker != 0 ? now : resumed, waker != 0 ? 0 : kPeerUnknown, waker)};
  record(slot, event, 3, Space::kNormal, resumed);
}

static uint64_t time_of_leaving() {
  if (t_thread.slot != nullptr) return event_ticks(t_thread.slot);
  look_away();
  return ticks();
}

// Where the thread may not follow: another one runs that flow, so a switch was not seen.
static Flow &take(Flow *to) {
  if (to == t_own || to == &g_elsewhere || !to->runs.exchange(true, std::memory_order_acquire)) return *to;
  if (t_thread.slot != nullptr) note_stray(t_thread.slot);
  return g_elsewhere;
}

static void change_to(Flow *wanted) {
  if (running() == nullptr && !keep_own_flow()) return;
  const uint64_t now = time_of_leaving();
  const uint32_t waker = t_thread.slot != nullptr ? t_thread.slot->uid : 0;
  Flow &from = *running(), &to = take(wanted);
  const uint64_t left = to.left;
  exchange(to);
  if (&from != &g_elsewhere) {
    from.left = now;
    from.runs.store(false, std::memory_order_release);
  }
  if (&to != &g_elsewhere) write_resumed(left, waker, now);
}

// The flow whose stack it is; null as of running(). Nobody's stack: where fibers are that found no place, or the
// program's own switches lead. The pointer of an empty stack, with which contexts begin on aarch64, is behind its last
// byte.
static Flow *flow_at(uint64_t stack_pointer) {
  const uint64_t below = stack_pointer - 1;
  if (Flow *fiber = fiber_at(below)) return fiber;
  const Stack own = own_stack();
  if (!own.is_known() || own.has(below)) return t_own;
  if (is_on_signal_stack(below)) return running();
  if (t_thread.slot != nullptr && !g_some_are_unknown.load(std::memory_order_relaxed)) note_stray(t_thread.slot);
  return &g_elsewhere;
}

static void jump_within(Slot *slot, uint64_t stack_pointer) {
  leave_waits(stack_pointer);
  leave_for(slot, stack_pointer, event_ticks(slot));
}

void go_to(uint64_t stack_pointer) {
  if (!attached()) return;
  Slot *slot = t_thread.slot;
  if (slot != nullptr) note_if_astray(slot, reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
  Flow *to = flow_at(stack_pointer);
  if (to != running())
    change_to(to);
  else if (slot != nullptr)
    jump_within(slot, stack_pointer);
}

// Leaves the running flow for good.
static void abandon_for(Flow *wanted) {
  const uint64_t now = time_of_leaving();
  Slot *slot = t_thread.slot;
  const uint32_t waker = slot != nullptr ? slot->uid : 0;
  if (slot != nullptr) {
    end_records(slot, now);
    // That it ran until now.
    record(slot, make_record(Kind::kOffCpu, now, 0, 0), Space::kNormal, now);
  }
  Flow &from = *running(), &to = take(wanted);
  const uint64_t left = to.left;
  exchange(to);
  if (&from != &g_elsewhere) {
    from.thread = ThreadState{};
    from.runs.store(false, std::memory_order_release);
  }
  if (slot != nullptr) give_back(slot);
  if (&to != &g_elsewhere) write_resumed(left, waker, now);
}

static void free_place(Flow *flow) {
  Fibers *fibers = known_fibers();
  const ptrdiff_t i = flow - fibers->flows;
  fibers->places[i].high.store(0, std::memory_order_release);
  fibers->places[i].taken.store(false, std::memory_order_release);
}

void finish_fiber(uint64_t stack_pointer) {
  Flow *ended = t_flow;
  Flow *next = attached() ? flow_at(stack_pointer) : nullptr;
  if (next == nullptr || next == ended || ended == nullptr || ended == &g_elsewhere || fiber_at(t_stack.low) != ended) {
    go_to(stack_pointer);
    return;
  }
  abandon_for(next);
  free_place(ended);
}

void return_to_own_flow() {
  if (t_flow != nullptr) abandon_for(t_own);
  if (t_own != nullptr) free_place(t_own);
  t_own = nullptr;
}

// Whose stack is another's now: it was left for the last time when it did not run any more.
static void end_left_fiber(Flow &dead) {
  Slot *slot = dead.thread.slot;
  if (slot == nullptr || (running() == nullptr && !keep_own_flow())) return;
  Flow *const before = t_flow;
  exchange(dead);
  end_records(slot, dead.left);
  exchange(before != nullptr ? *before : *t_own);
  dead.thread = ThreadState{};
  give_back(slot);
}

// Ends the fibers whose stack is used again, but for the one around it.
static void end_fibers_within(Fibers *fibers, Stack stack) {
  for (uint32_t i = 0, n = used(fibers); i < n; ++i) {
    const Stack old = fibers->places[i].stack();
    const bool apart = !old.is_known() || old.high <= stack.low || stack.high <= old.low;
    const bool around = old.low <= stack.low && stack.high <= old.high && old.high - old.low > stack.high - stack.low;
    if (apart || around || fibers->flows[i].runs.exchange(true, std::memory_order_acquire)) continue;
    fibers->places[i].high.store(0, std::memory_order_release);
    end_left_fiber(fibers->flows[i]);
    free_place(&fibers->flows[i]);
  }
}

void begin_fiber(Stack stack) {
  if (!attached() || stack.low >= stack.high) return;
  Fibers *fibers = make_fibers();
  if (fibers != nullptr) end_fibers_within(fibers, stack);
  const uint32_t i = fibers != nullptr ? take_place(fibers, kMostFibers) : kNoPlace;
  if (i == kNoPlace) {
    g_some_are_unknown.store(true, std::memory_order_relaxed);
    g_session.arena->unslotted.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const Slot *creator = current_slot();
  const uint64_t now = ticks();
  Flow &flow = fibers->flows[i];
  flow.thread = ThreadState{};
  flow.thread.creator = {creator != nullptr ? creator->uid : 0, now};
  flow.described = Described{};
  flow.waits = OpenWaits{};
  flow.stack = stack;
  flow.left = now;
  flow.runs.store(false, std::memory_order_relaxed);
  fibers->places[i].low.store(stack.low, std::memory_order_relaxed);
  fibers->places[i].high.store(stack.high, std::memory_order_release);
}

static void forget(Flow &flow) {
  flow.thread = ThreadState{};
  flow.left = 0;
  flow.runs.store(&flow == t_flow, std::memory_order_relaxed);
}

void forget_fibers() {
  if (t_flow == &g_elsewhere) t_thread.refused = true;
  Fibers *fibers = known_fibers();
  for (uint32_t i = 0, n = fibers != nullptr ? used(fibers) : 0; i < n; ++i) {
    forget(fibers->flows[i]);
    const bool of_other_thread = !fibers->places[i].stack().is_known() && &fibers->flows[i] != t_own;
    if (of_other_thread) free_place(&fibers->flows[i]);
  }
}

}  // namespace vprof
