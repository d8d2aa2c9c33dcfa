// The call stack of a thread's last sample, so that the next one need not be unwound where it is the same
// (wait_stacks.h): a server waits in the same places again and again.
//
//     begin(frame) -> saw(context) for each frame, outwards -> keep(number)        later: number_at(frame)
//
// Where a frame ends follows from its place in the code, but for those of a size that changes (alloca). So if from the
// innermost frame on the same return addresses lie in the same places, the stack is the same. It is kept only if each
// return address was found where x86-64 calls put it: not with frames that a signal interrupted, nor elsewhere.
//
// Each thread has its own; not for signal handlers that interrupt its functions.
#ifndef VPROF_LAST_STACK_H
#define VPROF_LAST_STACK_H

#include <unwind.h>

#include <cstdint>

#include "stack_table.h"
#include "stacks.h"

namespace vprof {

class LastStack {
 public:
  // `frame` is of the one function that begins, of a constant size, in the running stack. `modules`: how much code is
  // known by now; with more of it the same addresses may be other places.
  void begin(uint64_t frame, uint32_t modules) {
    frame_ = frame;
    modules_ = modules;
    number_ = count_ = 0;
    is_outside_ = false;
    can_be_kept_ = true;
  }

  void saw(_Unwind_Context *context) {
    int is_interrupted = 0;
    const uint64_t address = _Unwind_GetIPInfo(context, &is_interrupted);
    if (!is_outside_) {  // the frame that began
      is_outside_ = true;
      return;
    }
    if (address == 0) return;  // the end
    const uint64_t at = _Unwind_GetCFA(context) - sizeof address, words = (at - frame_) / sizeof address;
    const bool is_further_out = words <= UINT16_MAX && words > (count_ == 0 ? 0 : words_[count_ - 1]);
    can_be_kept_ = can_be_kept_ && is_interrupted == 0 && count_ < kMostFrames && is_further_out && t_stack.has(at) &&
                   word_at(words) == address;
    if (!can_be_kept_) return;
    words_[count_] = static_cast<uint16_t>(words);
    addresses_[count_++] = address;
  }

  void keep(uint32_t number) {
    if (can_be_kept_ && count_ != 0) number_ = number;
  }

  // The number that was kept, if the stack is the same; else 0.
  uint32_t number_at(uint64_t frame, uint32_t modules) const {
    if (number_ == 0 || frame != frame_ || modules != modules_) return 0;
    if (!t_stack.has(frame + words_[count_ - 1] * sizeof(uint64_t))) return 0;
    for (uint32_t i = 0; i < count_; ++i)
      if (word_at(words_[i]) != addresses_[i]) return 0;
    return number_;
  }

 private:
  static constexpr uint32_t kMostFrames = kMaxStackPlaces;

  uint64_t word_at(uint64_t words) const { return reinterpret_cast<const uint64_t *>(frame_)[words]; }

  uint64_t frame_;
  uint32_t modules_, number_, count_;
  bool is_outside_, can_be_kept_;
  uint16_t words_[kMostFrames];  // from `frame_` to where the return address lies, ascending
  uint64_t addresses_[kMostFrames];
};

}  // namespace vprof

#endif
