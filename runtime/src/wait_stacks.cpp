#include "wait_stacks.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unwind.h>

#include <algorithm>

#include "last_stack.h"
#include "stacks.h"

extern "C" int _dl_find_object(void *address, struct dl_find_object *found) noexcept __attribute__((weak));

namespace vprof {
namespace {

// What unwinding needs at most, with its records.
constexpr uint64_t kLeastRoom = 24 << 10;

struct Code {
  uint64_t low, high, bias;
  uint32_t module;
};
constexpr uint32_t kMostCode = 2 * kMaxModules;
Code g_code[kMostCode];
std::atomic<uint32_t> g_code_count;

std::atomic<bool> g_may_unwind;

struct Sampling {
  bool is_taking;   // what the unwinder calls is not asked where it waits, nor is a signal handler that interrupts it
  uint64_t waited;  // ticks since the last multiple of the period
  uint64_t last_release;  // when a stack was taken at one
  LastStack last;
};
__thread Sampling t_sampling __attribute__((tls_model("initial-exec")));

// The newest first: a library may have taken the place of one that was unloaded.
const Code *code_at(uint64_t address) {
  for (uint32_t i = g_code_count.load(std::memory_order_acquire); i-- > 0;)
    if (address - g_code[i].low < g_code[i].high - g_code[i].low) return &g_code[i];
  return nullptr;
}

_Unwind_Reason_Code visit(_Unwind_Context *context, void *data) {
  CallStack *stack = static_cast<CallStack *>(data);
  t_sampling.last.saw(context);
  int is_exact = 0;  // of a frame that a signal interrupted; others go on behind their call
  const uint64_t address = _Unwind_GetIPInfo(context, &is_exact) - (is_exact != 0 ? 0 : 1);
  const Code *code = code_at(address);
  if (code != nullptr) stack->places[stack->count++] = place_in(code->module, address - code->bias);
  return stack->count < kMaxStackPlaces ? _URC_NO_REASON : _URC_END_OF_STACK;
}

bool has_room() {
  const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  return t_stack.is_known() && t_stack.has(here) && here - t_stack.low >= kLeastRoom;
}

// How much of the reserve is used up: 0 to kLevels - 1, or kLevels: all of it.
unsigned level(uint64_t now) {
  const uint64_t after = g_session.arena->stacks_paid.load(std::memory_order_relaxed);
  if (now >= after || after - now > 2 * kReserve) return 0;  // overwritten, or a clock that jumped
  return after - now < kReserve ? static_cast<unsigned>((after - now) / (kReserve / kLevels)) : kLevels;
}

void pay(uint64_t now, uint64_t ticks) {
  std::atomic<uint64_t> &paid = g_session.arena->stacks_paid;
  const uint64_t until = std::clamp(paid.load(std::memory_order_relaxed), now, now + kReserve);
  paid.store(until + kShareOfStacks * ticks, std::memory_order_relaxed);
}

// The number of the calling thread's stack; 0: there is none, or the table is full. A frame of its own.
__attribute__((noinline)) uint32_t number_of_stack() {
  const uint64_t frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const uint32_t modules = g_code_count.load(std::memory_order_acquire);
  if (const uint32_t same = t_sampling.last.number_at(frame, modules)) return same;
  CallStack stack;
  stack.count = 0;
  t_sampling.last.begin(frame, modules);
  _Unwind_Backtrace(visit, &stack);
  const uint32_t number = stack.count != 0 ? g_session.arena->stacks.intern(stack) : 0;
  t_sampling.last.keep(number);
  return number;
}

void take(Slot *slot, uint32_t aux, uint64_t waited, uint64_t now) {
  if (slot == nullptr || t_sampling.is_taking || !g_may_unwind.load(std::memory_order_relaxed) || !has_room()) return;
  t_sampling.is_taking = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const uint64_t begun = ticks();
  const uint32_t number = number_of_stack();
  const uint64_t ended = ticks();
  if (ended > begun) pay(ended, ended - begun);
  if (number != 0)
    record(slot, make_record(Kind::kExtended, now, aux, waited << kStackNumberBits | number), Space::kNormal, now);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_sampling.is_taking = false;
}

}  // namespace

// A static program has no dynamic linker, which would have a base address.
void prepare_wait_stacks() {
  if (getauxval(AT_BASE) == 0 || &_dl_find_object == nullptr) return;
  g_may_unwind.store(true, std::memory_order_relaxed);
  CallStack nowhere;
  nowhere.count = 0;
  _Unwind_Backtrace(visit, &nowhere);
}

void stop_taking_stacks() {
  g_may_unwind.store(false, std::memory_order_relaxed);
}

void know_code(uint32_t module, uint64_t low, uint64_t high, uint64_t bias) {
  const uint32_t count = g_code_count.load(std::memory_order_relaxed);
  if (count == kMostCode) return;
  g_code[count] = {low, high, bias, module};
  g_code_count.store(count + 1, std::memory_order_release);
}

void sample_wait(Slot *slot, uint64_t waited, uint64_t now) {
  if (waited >= uint64_t{1} << kWaitedBits) return;
  const unsigned used = level(now);
  const uint64_t period = kStackPeriod << used, all = t_sampling.waited + waited;
  t_sampling.waited = all % period;
  if (all >= period && used < kLevels) take(slot, kStack, all - all % period, now);
}

void sample_release(uint64_t now) {
  const unsigned used = level(now);
  if (used == kLevels || now - t_sampling.last_release < kReleasePeriod << used) return;
  t_sampling.last_release = now;
  take(slot_unless_claiming(), kStack | kStackOfRelease, 0, now);
}

}  // namespace vprof
