#include "restriction.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include <optional>

#include "system_calls.h"

namespace vprof {

namespace {

using Word = std::optional<uint32_t>;  // empty: not known

// The machine of seccomp(2), which takes whole words and jumps forward only. What depends on a word that is not known
// is not known.
class Machine {
 public:
  Machine(const sock_fprog &filter, uint32_t number, uint32_t first_argument)
      : filter_(filter), number_(number), first_argument_(first_argument) {}

  Word run() {
    for (uint32_t at = 0; at < filter_.len; ++at) {
      const sock_filter &i = filter_.filter[at];
      switch (BPF_CLASS(i.code)) {
        case BPF_RET:
          return BPF_RVAL(i.code) == BPF_A ? a_ : Word(i.k);
        case BPF_JMP: {
          const Word jump = distance(i);
          if (!jump) return jump;
          at += *jump;
          break;
        }
        default:
          step(i);
      }
    }
    return std::nullopt;
  }

 private:
  Word input(uint32_t offset) const {
    if (offset == offsetof(seccomp_data, nr)) return number_;
    if (offset == offsetof(seccomp_data, arch)) return kAuditArchitecture;
    if (offset == offsetof(seccomp_data, args)) return first_argument_;
    if (offset == offsetof(seccomp_data, args) + 4) return 0;
    return std::nullopt;
  }

  Word loaded(const sock_filter &i) const {
    switch (BPF_MODE(i.code)) {
      case BPF_IMM:
        return i.k;
      case BPF_ABS:
        return input(i.k);
      case BPF_MEM:
        return i.k < BPF_MEMWORDS ? memory_[i.k] : Word();
      case BPF_LEN:
        return sizeof(seccomp_data);
      default:
        return std::nullopt;
    }
  }

  Word operand(const sock_filter &i) const { return BPF_SRC(i.code) == BPF_X ? x_ : Word(i.k); }

  Word computed(const sock_filter &i) const {
    const Word other = operand(i);
    if (!a_ || !other) return std::nullopt;
    const uint32_t a = *a_, b = *other;
    switch (BPF_OP(i.code)) {
      case BPF_ADD:
        return a + b;
      case BPF_SUB:
        return a - b;
      case BPF_MUL:
        return a * b;
      case BPF_AND:
        return a & b;
      case BPF_OR:
        return a | b;
      case BPF_XOR:
        return a ^ b;
      case BPF_LSH:
        return b < 32 ? a << b : 0;
      case BPF_RSH:
        return b < 32 ? a >> b : 0;
      case BPF_NEG:
        return 0 - a;
      default:  // a division, which nobody needs here
        return std::nullopt;
    }
  }

  Word distance(const sock_filter &i) const {
    if (BPF_OP(i.code) == BPF_JA) return i.k;
    const Word other = operand(i);
    if (!a_ || !other) return std::nullopt;
    const uint32_t a = *a_, b = *other;
    const auto op = BPF_OP(i.code);
    const bool holds = op == BPF_JEQ ? a == b : op == BPF_JGT ? a > b : op == BPF_JGE ? a >= b : (a & b) != 0;
    return holds ? i.jt : i.jf;
  }

  void step(const sock_filter &i) {
    switch (BPF_CLASS(i.code)) {
      case BPF_LD:
        a_ = loaded(i);
        break;
      case BPF_LDX:
        x_ = loaded(i);
        break;
      case BPF_ST:
      case BPF_STX:
        if (i.k < BPF_MEMWORDS) memory_[i.k] = BPF_CLASS(i.code) == BPF_ST ? a_ : x_;
        break;
      case BPF_ALU:
        a_ = computed(i);
        break;
      default:  // BPF_MISC
        (BPF_MISCOP(i.code) == BPF_TAX ? x_ : a_) = BPF_MISCOP(i.code) == BPF_TAX ? a_ : x_;
    }
  }

  const sock_fprog &filter_;
  const uint32_t number_, first_argument_;
  Word a_ = 0, x_ = 0, memory_[BPF_MEMWORDS];
};

}  // namespace

bool filter_allows(const sock_fprog &filter, uint32_t number, uint32_t first_argument) {
  const Word answer = Machine(filter, number, first_argument).run();
  const uint32_t action = answer ? *answer & SECCOMP_RET_ACTION_FULL : SECCOMP_RET_KILL_PROCESS;
  return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG;
}

void restrict_system_calls(const sock_fprog *filter) {
  g_restricted.store(true, std::memory_order_relaxed);
  if (filter != nullptr && filter_allows(*filter, SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID) &&
      filter_allows(*filter, SYS_getrusage, static_cast<uint32_t>(RUSAGE_THREAD)))
    return;
  g_may_not_look.store(true, std::memory_order_relaxed);
}

}  // namespace vprof
