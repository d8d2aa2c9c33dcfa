#include "off_cpu.h"

#include <errno.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "restriction.h"
#include "wait_stacks.h"

// The C library's registration (glibc 2.35 and later): where each thread's struct rseq is, and its size, 0 if there is
// none.
extern "C" {
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));

int64_t vprof_switch_word = 0;
}

namespace vprof {

namespace {

// struct rseq_cs of linux/rseq.h, with pointers.
struct alignas(32) CriticalSection {
  uint32_t version, flags;
  const void *start;
  uint64_t length;
  const void *abort;
};
constexpr ptrdiff_t kPlaceInRseq = 8;  // of rseq_cs in struct rseq

// The kernel reads the word before the abort address and kills the program if it is not the registered signature.
constexpr uint32_t kAbort[2] = {kRseqSignature, 0};

// Its only byte is its own first one: nothing executes there.
const CriticalSection kNowhere = {0, 0, &kNowhere, 1, &kAbort[1]};

struct Sample {
  uint64_t ticks;
  uint64_t wall_ns;
  uint64_t cpu_ns;
  int64_t preemptions, sleeps, faults, reads, minor_faults;
};

constexpr uint64_t kNever = ~uint64_t{0};

// Waits since the last look that no look followed: each has a record of its own, and is taken for one sleep.
struct Granted {
  uint64_t ticks;  // how long they were, together
  uint64_t until;  // when the last one ended
  uint32_t waits;
  uint32_t counted;  // so many of them when the counts of `last` were taken anew
};

// What the thread's waits were when a look said so.
struct Habit {
  uint64_t cpu_ns;  // one takes so much of the CPU
  int32_t most;     // so many in a row are granted; negative: so many have to be mere sleeps first
};

constexpr int32_t kMostGranted = 15;
constexpr int32_t kDoubtful = -16;

struct Looks {
  Sample last;
  uint32_t count;  // of changes of `last`: a signal handler may look in the middle of a look
  Granted granted;
  Habit habit;
};

}  // namespace

static __thread Looks t_looks __attribute__((tls_model("initial-exec")));

static uint64_t load_word() {
  return load_thread_word(vprof_switch_word);
}

static void store_word(uint64_t value) {
  store_thread_word(vprof_switch_word, value);
}

static uint64_t our_word() {
  return reinterpret_cast<uint64_t>(&kNowhere);
}

static void arm() {
  if (load_word() == 0) store_word(our_word());
}

static uint64_t read_ns(clockid_t clock) {
  timespec t;
  return clock_gettime(clock, &t) == 0
             ? static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec)
             : 0;
}

// The raw clock: NTP does not slew it, nor the CPU clock.
static Sample read_sample() {
  const uint64_t now = ticks();
  const uint64_t wall_ns = read_ns(CLOCK_MONOTONIC_RAW);
  const uint64_t cpu_ns = read_ns(CLOCK_THREAD_CPUTIME_ID);
  rusage u;
  if (getrusage(RUSAGE_THREAD, &u) != 0) u = {};
  return {now, wall_ns, cpu_ns, u.ru_nivcsw, u.ru_nvcsw, u.ru_majflt, u.ru_inblock, u.ru_minflt};
}

static uint32_t switches_between(const Sample &a, const Sample &b, const Granted &granted) {
  return (b.preemptions > a.preemptions ? kOffPreempted : 0) |
         (b.sleeps - a.sleeps > int64_t{granted.waits} ? kOffBlocked : 0);
}

static uint32_t faults_between(const Sample &a, const Sample &b) {
  return (b.faults > a.faults ? kOffFault : 0) | (b.reads > a.reads ? kOffRead : 0);
}

static uint64_t off_ns_between(const Sample &a, const Sample &b) {
  const uint64_t wall_ns = b.wall_ns - a.wall_ns, cpu_ns = b.cpu_ns - a.cpu_ns;
  return wall_ns > cpu_ns && cpu_ns < uint64_t{1} << 63 ? wall_ns - cpu_ns : 0;
}

// So many ns, between two samples.
static uint64_t ticks_of(uint64_t ns, const Sample &a, const Sample &b) {
  const uint64_t wall_ns = b.wall_ns - a.wall_ns;
  return wall_ns == 0 ? 0
                      : static_cast<uint64_t>(static_cast<double>(ns) * static_cast<double>(b.ticks - a.ticks) /
                                              static_cast<double>(wall_ns));
}

static uint64_t ns_of(uint64_t ticks, const Sample &a, const Sample &b) {
  return b.ticks == a.ticks
             ? 0
             : static_cast<uint64_t>(static_cast<double>(ticks) * static_cast<double>(b.wall_ns - a.wall_ns) /
                                     static_cast<double>(b.ticks - a.ticks));
}

// Off the CPU and in none of these waits: so after the last of them.
static uint64_t off_ns_outside(const Sample &a, const Sample &b, const Granted &granted, const Habit &habit) {
  const uint64_t off_ns = off_ns_between(a, b);
  if (granted.waits == 0) return off_ns;
  const uint64_t waited_ns = ns_of(granted.ticks, a, b), ran_ns = granted.waits * habit.cpu_ns;
  const uint64_t within_ns = waited_ns > ran_ns ? waited_ns - ran_ns : 0;
  return off_ns > within_ns ? std::min(off_ns - within_ns, ns_of(b.ticks - granted.until, a, b)) : 0;
}

struct Finding {
  uint64_t now;  // ticks
  uint64_t off_ns, off_ticks;
  uint32_t kinds;   // 0: nothing to tell
  bool has_mapped;  // pages, without reading them; false if they may be of long ago
};

// What the kernel counted between two looks. No switch, and elapsed time beyond the CPU clock: the CPU itself was
// taken, which is told as preemption.
static uint32_t kinds_between(const Sample &a, const Sample &b, const Granted &granted, uint64_t off_ns) {
  const uint32_t switches = switches_between(a, b, granted);
  if (switches != 0) return switches | faults_between(a, b);
  return was_taken(off_ns, b.wall_ns - a.wall_ns, b.ticks - a.ticks) ? kOffPreempted : 0;
}

// Arms first, so that a switch in the midst of reading shows; then it reads again. After some tries it leaves `last` as
// it is, and the word cleared: the next event looks again.
static Finding find() {
  constexpr int kTries = 4;
  const int saved_errno = errno;
  Finding found = {0, 0, 0, 0, false};
  for (int i = 0; i < kTries; ++i) {
    arm();
    const uint32_t count = t_looks.count;
    const Sample before = t_looks.last;
    const Granted granted = t_looks.granted;
    const Sample sample = read_sample();
    found.now = sample.ticks;
    if (was_switched() || t_looks.count != count) continue;
    t_looks.last = sample;
    t_looks.granted = {};
    ++t_looks.count;
    t_thread.look_by = sample.ticks + kLookTicks;
    found.off_ns = off_ns_outside(before, sample, granted, t_looks.habit);
    found.off_ticks = ticks_of(found.off_ns, before, sample);
    found.kinds = kinds_between(before, sample, granted, found.off_ns);
    found.has_mapped = granted.waits == granted.counted && sample.minor_faults > before.minor_faults;
    break;
  }
  errno = saved_errno;
  return found;
}

// `cause` as in tell_sleep.
static uint32_t cause_of(const Finding &found, uint32_t cause) {
  const bool holds = (cause & kOnlyWithFaults) == 0 || found.has_mapped;
  return holds && (found.kinds & kOffBlocked) != 0 ? cause & ~kOnlyWithFaults : 0;
}

// A handler that interrupts a record cannot write one: it leaves the look to the next event.
static Finding tell(Slot *slot, uint32_t cause) {
  if (is_being_written(slot, reinterpret_cast<uint64_t>(__builtin_frame_address(0)))) return {ticks(), 0, 0, 0, false};
  if (!may_look()) {
    arm();
    t_thread.look_by = kNever;
    return {ticks(), 0, 0, 0, false};
  }
  const Finding found = find();
  // Whether the next such sleep has to do with faults is known if those of former requests are not counted.
  if ((cause & kOnlyWithFaults) != 0 && (found.kinds & kOffBlocked) != 0) t_looks.habit.most = 0;
  const uint32_t what = found.kinds | cause_of(found, cause);
  if (what != 0 && found.off_ns != 0)
    record(slot, make_record(Kind::kOffCpu, found.now, what, found.off_ns), Space::kNormal, found.now);
  return found;
}

uint64_t look(Slot *slot) {
  return tell(slot, 0).now;
}

void tell_sleep(Slot *slot, uint32_t cause) {
  const Finding found = tell(slot, cause);
  if ((found.kinds & kOffBlocked) != 0) sample_wait(slot, found.off_ticks, found.now);
}

void look_away() {
  if (was_switched() && may_look()) find();
}

static bool is_mere_sleep(ObjectClass cls) {
  switch (cls) {
    case ObjectClass::kMutex:
    case ObjectClass::kSemaphore:
    case ObjectClass::kJoin:
    case ObjectClass::kReadWriteLock:
    case ObjectClass::kBarrier:
    case ObjectClass::kFutex:
    case ObjectClass::kDescriptor:
    case ObjectClass::kSignal:
      return true;
    default:
      return false;
  }
}

static Granted with(const Granted &granted, uint64_t began, uint64_t resumed) {
  const uint64_t lasted = resumed > began ? resumed - began : 0;
  return {granted.ticks + lasted, resumed, granted.waits + 1, granted.counted};
}

// Arms first: a switch that comes then is none of the wait's.
static void grant(uint64_t began, uint64_t resumed) {
  arm();
  t_looks.granted = with(t_looks.granted, began, resumed);
  t_thread.look_by = resumed + kLookTicks;
}

// Between two looks there was nothing but these waits and running.
static void learn(const Sample &a, const Sample &b, const Granted &waits) {
  Habit &habit = t_looks.habit;
  if (b.sleeps - a.sleeps != int64_t{waits.waits} || b.preemptions != a.preemptions) {
    habit.most = kDoubtful;
    return;
  }
  const uint64_t off_ns = off_ns_between(a, b), waited_ns = ns_of(waits.ticks, a, b);
  if (waited_ns <= off_ns) return;
  habit.cpu_ns = (waited_ns - off_ns) / waits.waits;
  habit.most = habit.most < 0 ? habit.most + 1 : std::min(2 * habit.most + 1, kMostGranted);
}

static bool is_habitual() {
  return int64_t{t_looks.granted.waits} < t_looks.habit.most;
}

bool tells_sleep() {
  return off_cpu_is_known() && !was_switched() && t_thread.slot != nullptr && may_look() && is_habitual();
}

void look_after_wait(ObjectClass cls, uint64_t began, uint64_t resumed) {
  if (!was_switched() || !may_look()) return;
  if (!is_mere_sleep(cls)) {
    find();
    return;
  }
  if (is_habitual()) return grant(began, resumed);
  const Sample before = t_looks.last;
  const Granted waits = with(t_looks.granted, began, resumed);
  const uint32_t count = t_looks.count;
  find();
  if (t_looks.count == count + 1) learn(before, t_looks.last, waits);
}

// Until here there was no switch but in the waits: all that was counted is theirs.
void recount() {
  const Granted granted = t_looks.granted;
  if (granted.waits == granted.counted || was_switched() || !may_look()) return;
  const uint32_t count = t_looks.count;
  rusage u;
  if (getrusage(RUSAGE_THREAD, &u) != 0 || was_switched() || t_looks.count != count) return;
  Sample &last = t_looks.last;
  last.preemptions = u.ru_nivcsw;
  last.sleeps = u.ru_nvcsw - int64_t{granted.waits};
  last.faults = u.ru_majflt;
  last.reads = u.ru_inblock;
  last.minor_faults = u.ru_minflt;
  t_looks.granted.counted = granted.waits;
}

uint64_t count_sleeps() {
  if (t_looks.granted.waits != 0 && may_look()) find();
  return static_cast<uint64_t>(t_looks.last.sleeps);
}

void begin_looking() {
  t_thread.look_by = kNever;
  if (!off_cpu_is_known() || !may_look()) return;
  t_looks = {};
  find();
}

void end_looking() {
  if (off_cpu_is_known() && load_word() == our_word()) store_word(0);
}

// A short sleep need not be a switch: its time can be over before the thread is off the CPU, above all where a
// hypervisor takes the CPU meanwhile. Only a sleep that was counted as a switch is a test; longer ones follow until one
// was.
static bool kernel_clears_the_word() {
  for (long sleep_ns = 1000; sleep_ns <= 10000000; sleep_ns *= 10) {
    arm();
    const Sample before = read_sample();
    const timespec least = {0, sleep_ns};
    syscall(SYS_nanosleep, &least, nullptr);
    if (read_sample().sleeps > before.sleeps) return was_switched();
  }
  return false;
}

void prepare_off_cpu() {
  const int saved_errno = errno;
  if (&__rseq_offset != nullptr && &__rseq_size != nullptr && __rseq_size != 0) {
    vprof_switch_word = __rseq_offset + kPlaceInRseq;
    const bool works = kernel_clears_the_word();
    end_looking();
    if (!works) vprof_switch_word = 0;
  }
  errno = saved_errno;
}

}  // namespace vprof
