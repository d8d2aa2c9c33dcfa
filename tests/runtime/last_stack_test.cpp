// A stack is known again by its return addresses. x86-64: elsewhere none is kept.
#include "last_stack.h"

#include <gtest/gtest.h>

#include <vector>

namespace vprof {
namespace {

LastStack g_last;
uint32_t g_unwound;  // so often: the number of the last stack

_Unwind_Reason_Code visit(_Unwind_Context *context, void *) {
  g_last.saw(context);
  return _URC_NO_REASON;
}

__attribute__((noinline)) uint32_t sample(uint32_t modules) {
  const uint64_t frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (const uint32_t same = g_last.number_at(frame, modules)) return same;
  g_last.begin(frame, modules);
  _Unwind_Backtrace(visit, nullptr);
  g_last.keep(++g_unwound);
  return g_unwound;
}

// Each goes on after its call, so none is left out of the stack.
__attribute__((noinline)) uint32_t wait_for_page(uint32_t modules) {
  const uint32_t number = sample(modules);
  asm volatile("");
  return number;
}

__attribute__((noinline)) uint32_t read_row(uint32_t modules) {
  const uint32_t number = wait_for_page(modules);
  asm volatile("" : : "r"(1));
  return number;
}

__attribute__((noinline)) uint32_t write_row(uint32_t modules) {
  const uint32_t number = wait_for_page(modules);
  asm volatile("" : : "r"(2));
  return number;
}

struct Step {
  uint32_t (*statement)(uint32_t);
  uint32_t modules = 1;
  bool is_on_top = false;  // the frames further out lie outside of what is known of the stack
};

// The numbers of the steps' stacks. One call makes them all: they differ below it alone.
__attribute__((noinline)) std::vector<uint32_t> serve(const std::vector<Step> &steps) {
  const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const Stack known = main_stack();
  std::vector<uint32_t> numbers;
  for (const Step &step : steps) {
    t_stack = {known.low, step.is_on_top ? here : known.high};
    numbers.push_back(step.statement(step.modules));
  }
  return numbers;
}

class LastStackTest : public testing::Test {
 protected:
  void SetUp() override {
    before_ = t_stack;
    g_last = {};
    g_unwound = 0;
  }
  void TearDown() override { t_stack = before_; }

 private:
  Stack before_;
};

using Numbers = std::vector<uint32_t>;

TEST_F(LastStackTest, TheSameIsUnwoundOnce) {
  EXPECT_EQ(serve({{read_row}, {read_row}, {read_row}}), (Numbers{1, 1, 1}));
}

TEST_F(LastStackTest, AnotherCallerFurtherOutIsSeen) {
  EXPECT_EQ(serve({{read_row}, {write_row}, {read_row}, {read_row}}), (Numbers{1, 2, 3, 3}));
}

TEST_F(LastStackTest, MoreCodeMayMeanOtherPlaces) {
  EXPECT_EQ(serve({{read_row}, {read_row}, {read_row, 2}, {read_row, 2}}), (Numbers{1, 1, 2, 2}));
}

TEST_F(LastStackTest, NothingIsReadOutsideOfTheRunningStack) {
  EXPECT_EQ(serve({{read_row}, {read_row, 1, true}, {read_row, 1, true}, {read_row}}), (Numbers{1, 2, 3, 4}));
}

}  // namespace
}  // namespace vprof
