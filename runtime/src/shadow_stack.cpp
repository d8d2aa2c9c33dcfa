#include "shadow_stack.h"

#include <sys/mman.h>

#include "off_cpu.h"
#include "stacks.h"

namespace vprof {

bool renew_call_numbers(Layout layout) {
  void *numbers = mmap(nullptr, call_numbers_bytes(layout), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (numbers == MAP_FAILED) return false;
  g_session.call_numbers = static_cast<uint16_t *>(numbers);
  return true;
}

// Closes frame number `depth` (0 = outermost), the topmost one, at `now`.
static void close_top(Slot *slot, uint32_t depth, uint64_t now, Kind kind) {
  Frame &f = slot->frames[depth];
  const bool filled = f.address.load(std::memory_order_relaxed) != kNoFrame;
  const uint64_t start = f.start.load(std::memory_order_relaxed);
  const uint64_t tag = f.tag.load(std::memory_order_relaxed);
  clear_call(depth);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  f.address.store(kNoFrame, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot->depth.store(depth, std::memory_order_relaxed);
  if (__builtin_expect(!filled, 0)) return;
  const uint64_t duration = now > start ? now - start : 0;  // clocks of two CPUs may differ by a little
  if (__builtin_expect(duration < kLongDuration, 1)) {
    record(slot, make_record(kind, now, depth, tag | duration), Space::kNormal, now);
    return;
  }
  const Record event[2] = {make_record(Kind::kLongStart, now, 0, start),
                           make_record(kind, now, depth, tag | kLongDuration)};
  record(slot, event, 2, Space::kNormal, now);
}

void finish_record(Slot *slot, Record r, uint64_t now) {
  slot->ring.push(records_of(slot), &r, 1, Space::kNormal, now);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  slot->writing.store(0, std::memory_order_relaxed);
}

static void abandon_down_to(Slot *slot, uint32_t depth, uint64_t now) {
  for (uint32_t d = slot->open_frames(); d > depth; --d) close_top(slot, d - 1, now, Kind::kAbandoned);
}

void abandon_all(Slot *slot, uint64_t now) {
  abandon_down_to(slot, 0, now);
}

// Closes the dead frames on top. A frame that lies below the new one was left by a jump, or is one of another stack.
static void abandon_dead(Slot *slot, uint64_t address, uint64_t stack_pointer, uint64_t now) {
  uint32_t depth = slot->open_frames();
  if (depth != 0) note_if_astray(slot, address);
  for (; depth != 0; --depth) {
    const uint64_t open = slot->frames[depth - 1].address.load(std::memory_order_relaxed);
    const bool below = open < stack_pointer && frame_is_dead(open, stack_pointer);
    if (open <= address) note_if_astray(slot, open);
    if (open > address || (open != address && !below)) break;
    close_top(slot, depth - 1, now, Kind::kAbandoned);
  }
}

void leave_for(Slot *slot, uint64_t stack_pointer, uint64_t now) {
  uint32_t depth = slot->open_frames();
  for (; depth != 0; --depth) {
    const uint64_t open = slot->frames[depth - 1].address.load(std::memory_order_relaxed);
    if (open != kNoFrame && !frame_is_dead(open, stack_pointer)) break;
    close_top(slot, depth - 1, now, Kind::kAbandoned);
  }
}

void look_before_top(Slot *slot) {
  look(slot);
  const uint32_t depth = slot->open_frames();
  if (depth != 0) slot->frames[depth - 1].start.store(ticks(), std::memory_order_relaxed);
}

uint16_t *enter(Slot *slot, uint32_t called, uint64_t address, uint64_t stack_pointer) {
  uint16_t *call = nullptr;
  if (!enter_quickly(slot, called, address, ticks, &call)) {
    abandon_dead(slot, address, stack_pointer, ticks());
    const uint32_t depth = slot->open_frames();
    if (depth != kMaxFrames) call = push_frame(slot, depth, called, address, ticks);
  }
  if (call == nullptr)
    slot->ring.drop(1, ticks());
  else if (should_look(ticks()))
    look_before_top(slot);
  return call;
}

// The calls above the one that is left have no exit: a jump left them, or they are open on another stack.
static void note_if_left_astray(Slot *slot, uint32_t depth, uint64_t address) {
  const uint32_t open = slot->open_frames();
  if (depth < open) note_if_astray(slot, address);
  for (uint32_t d = depth; d < open; ++d) {
    const uint64_t above = slot->frames[d].address.load(std::memory_order_relaxed);
    if (above != kNoFrame) note_if_astray(slot, above);
  }
}

void leave(Slot *slot, uint64_t address, uint64_t now) {
  if (leave_quickly(slot, address, now)) return;
  uint32_t depth = slot->open_frames();
  // A full stack means calls that were not pushed: their exits, deeper than the top, need no search.
  if (depth == kMaxFrames && address < slot->frames[depth - 1].address.load(std::memory_order_relaxed)) return;
  while (depth != 0 && slot->frames[depth - 1].address.load(std::memory_order_relaxed) != address) --depth;
  if (depth == 0) return;
  note_if_left_astray(slot, depth, address);
  abandon_down_to(slot, depth, now);
  close_top(slot, depth - 1, now, Kind::kInvocation);
}

}  // namespace vprof
