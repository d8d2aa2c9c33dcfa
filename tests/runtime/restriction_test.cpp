// What a program's filter of system calls says of a call, as the kernel would decide (seccomp(2)).
#include "restriction.h"

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include <vector>

#include "system_calls.h"

namespace vprof {
namespace {

constexpr uint32_t kNumber = offsetof(seccomp_data, nr), kArch = offsetof(seccomp_data, arch);
constexpr uint32_t kFirst = offsetof(seccomp_data, args), kPlace = offsetof(seccomp_data, instruction_pointer);

sock_filter load(uint32_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
}
sock_filter if_equal(uint32_t value, uint8_t yes, uint8_t no) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}
sock_filter answer(uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}

bool allows(std::vector<sock_filter> rules, uint32_t number, uint32_t first = 0) {
  return filter_allows({static_cast<unsigned short>(rules.size()), rules.data()}, number, first);
}

TEST(Filter, AllowsWhatItNames) {
  const std::vector<sock_filter> rules = {load(kNumber), if_equal(7, 0, 1), answer(SECCOMP_RET_ALLOW),
                                          answer(SECCOMP_RET_KILL_PROCESS)};
  EXPECT_TRUE(allows(rules, 7));
  EXPECT_FALSE(allows(rules, 8));
}

TEST(Filter, LooksAtTheArgumentAndTheMachine) {
  const std::vector<sock_filter> rules = {load(kArch),
                                          if_equal(kAuditArchitecture, 0, 3),
                                          load(kFirst),
                                          if_equal(3, 0, 1),
                                          answer(SECCOMP_RET_LOG),
                                          answer(SECCOMP_RET_ERRNO | 1)};
  EXPECT_TRUE(allows(rules, 7, 3));
  EXPECT_FALSE(allows(rules, 7, 4));
}

TEST(Filter, ComputesAndRemembers) {
  const std::vector<sock_filter> rules = {
      load(kNumber),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
      BPF_STMT(BPF_ST, 5),
      BPF_STMT(BPF_LDX | BPF_W | BPF_MEM, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_IMM, 9),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_X, 0, 0, 1),
      answer(SECCOMP_RET_ALLOW),
      answer(SECCOMP_RET_TRAP),
  };
  EXPECT_TRUE(allows(rules, 0x109));
  EXPECT_FALSE(allows(rules, 0x108));
}

TEST(Filter, WhatItDecidesByThingsUnknownIsNotAllowed) {
  const std::vector<sock_filter> by_place = {load(kPlace), if_equal(0, 0, 0), answer(SECCOMP_RET_ALLOW)};
  EXPECT_FALSE(allows(by_place, 7));
  EXPECT_FALSE(allows({load(kNumber)}, 7));  // no answer at all
}

}  // namespace
}  // namespace vprof
