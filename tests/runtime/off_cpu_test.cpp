// Time off the CPU inside calls: as long as the thread itself and the kernel say, of the right kind, told before the
// event that comes next.
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "recording.h"

namespace {

constexpr unsigned kIntervalBegin = 3, kIntervalEnd = 4, kOnBehalf = 5, kBlocked = 6;
constexpr uint64_t kStart = 77, kEnd = 78;  // programs/off_cpu.c
constexpr unsigned kPreempted = 1, kAsleep = 2, kFault = 4, kStorage = 16;

struct Usage {
  double off_ns, run_delay_ns, sleeps, preemptions, faults, looks, unsure_ns;
  double stolen_ns;  // what a hypervisor took of all CPUs at most, meanwhile
};

struct Found {
  Usage usage;
  DecodedTrace trace;
  // Of the thread that the scenario is about, in the time of `usage`.
  std::vector<DecodedRecord> off, waits;

  // ns in records that have all bits of `with` and none of `without`.
  double sum(unsigned with, unsigned without) const {
    double total = 0;
    for (const DecodedRecord &r : off)
      if ((r.aux & with) == with && (r.aux & without) == 0) total += static_cast<double>(r.w1);
    return total;
  }
};

double stolen_ticks() {
  std::ifstream stat("/proc/stat");
  std::string cpu;
  double of[8] = {};  // user, nice, system, idle, iowait, irq, softirq, steal
  stat >> cpu;
  for (double &ticks : of) stat >> ticks;
  return of[7];
}

// With rings that hold all of a run: a collector on a busy machine may come too late, and what is lost is not
// off_cpu's.
Found run_once(const std::string &scenario) {
  Recording recording({"--hold", "--slots", "4", "--ring-bytes", "33554432"});
  const std::string output = recording.run_with_probes_on({program("off_cpu"), scenario});
  std::istringstream words(output);
  Found result = {};
  Usage &u = result.usage;
  EXPECT_TRUE(words >> u.off_ns >> u.run_delay_ns >> u.sleeps >> u.preemptions >> u.faults >> u.looks >> u.unsure_ns)
      << output;
  result.trace = recording.finish();
  EXPECT_TRUE(result.trace.events_named("loss").empty());
  uint64_t start = 0, end = 0;
  for (const DecodedRecord &r : result.trace.of_kind(kOnBehalf))
    if (r.w1 == kStart || r.w1 == kEnd) (r.w1 == kStart ? start : end) = r.time;
  for (const DecodedRecord &r : result.trace.off_cpu[1])
    if (r.time > start && r.time < end) result.off.push_back(r);
  for (const DecodedRecord &r : result.trace.records.at(1))
    if (r.kind == kBlocked && r.time > start && r.time < end) result.waits.push_back(r);
  return result;
}

// A run of which a hypervisor took nothing, or of some the one of which it took least. The kernel counts that in ticks,
// of which one may not be over yet; where no hypervisor ever took any, none is missing.
Found run(const std::string &scenario) {
  const double tick = 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
  Found best = {};
  for (int i = 0; i < 8 && (i == 0 || best.usage.stolen_ns > tick); ++i) {
    const double before = stolen_ticks();
    Found found = run_once(scenario);
    const double after = stolen_ticks();
    found.usage.stolen_ns = after > 0 ? (after - before + 1) * tick : 0;
    if (i == 0 || found.usage.stolen_ns < best.usage.stolen_ns) best = std::move(found);
  }
  return best;
}

// Two readings of one thing, some microseconds apart at each of up to some thousand switches. What a hypervisor takes
// is only in elapsed time less the CPU clock, and belongs to the switches around it or to none.
double tolerance(double expected, const Usage &usage) {
  return std::max(0.02 * expected, 1e6) + usage.stolen_ns;
}

void expect_near(double found, const Usage &usage, const char *what) {
  EXPECT_NEAR(found, usage.off_ns, tolerance(usage.off_ns, usage)) << what;
}

// What a thread that is never blocked is off the CPU for is at least the time it waited for it.
void expect_run_delay(double found, const Usage &usage) {
  EXPECT_GE(found, usage.run_delay_ns - tolerance(usage.run_delay_ns, usage));
  EXPECT_LE(found, usage.off_ns + tolerance(usage.off_ns, usage));
}

TEST(OffCpu, PreemptionLastsAsLongAsTheKernelsRunDelay) {
  const Found r = run("preempted");
  ASSERT_GT(r.usage.preemptions, 3) << "the competitor had no effect";
  expect_near(r.sum(0, 0), r.usage, "all, against wall - cpu");
  expect_run_delay(r.sum(0, 0), r.usage);
  EXPECT_LT(r.sum(kAsleep, kPreempted), 0.1 * r.usage.off_ns) << "hardly ever it sleeps, in the kernel";
  EXPECT_LE(r.off.size(), r.usage.preemptions + r.usage.sleeps + 10);
}

TEST(OffCpu, SleepInASystemCallIsBlockedTime) {
  const Found r = run("sleeping");
  EXPECT_GE(r.usage.sleeps, 40);
  expect_near(r.sum(0, 0), r.usage, "all, against wall - cpu");
  EXPECT_GE(r.sum(kAsleep, 0), 40 * 5e6) << "it slept so long at least";
  EXPECT_LE(r.sum(kPreempted, kAsleep), r.usage.run_delay_ns + 2e6);
}

TEST(OffCpu, BothKindsInOneRunStayApart) {
  const Found r = run("mixed");
  ASSERT_GT(r.usage.preemptions, 3) << "the competitor had no effect";
  expect_near(r.sum(0, 0), r.usage, "all, against wall - cpu");
  EXPECT_GE(r.sum(kAsleep, 0), 40 * 3e6);
  // The run delay holds also the time from wake-up to run, which belongs to the sleeps.
  EXPECT_LE(r.sum(kPreempted, kAsleep), 1.1 * r.usage.run_delay_ns + 2e6);
  EXPECT_GT(r.sum(kPreempted, kAsleep), 0);
}

TEST(OffCpu, ACallOfTheCLibraryIsToldApartFromWhatWasBeforeIt) {
  const Found r = run("calling");
  ASSERT_GT(r.usage.preemptions, 3) << "the competitor had no effect";
  expect_near(r.sum(0, 0), r.usage, "all, against wall - cpu");
  EXPECT_GE(r.sum(kAsleep, kPreempted), 40 * 3e6 - r.sum(kAsleep | kPreempted, 0)) << "the sleeps";
  EXPECT_GT(r.sum(kPreempted, kAsleep), 0.5 * (r.usage.off_ns - r.sum(kAsleep, 0)));
  EXPECT_LT(r.sum(kPreempted | kAsleep, 0), 0.2 * r.usage.off_ns) << "a preemption within a sleep's call only";
}

TEST(OffCpu, CallsForStorageAreNamed) {
  const Found r = run("storing");
  expect_near(r.sum(0, 0), r.usage, "all, against wall - cpu");
  EXPECT_GE(r.sum(kStorage, 0), 20 * 2.5e6) << "20 changes of a file, each waited 3 ms";
  EXPECT_GE(r.sum(kAsleep, kStorage), 20e6) << "another sleep is not named so";
  expect_near(r.sum(kAsleep, kStorage) + r.sum(kStorage, 0) + r.sum(kPreempted, kAsleep), r.usage, "the kinds");
}

TEST(OffCpu, MajorFaultsAreTold) {
  const Found r = run("faulting");
  expect_near(r.sum(0, 0), r.usage, "all, against wall - cpu");
  if (r.usage.faults < 100 || r.usage.sleeps < 100) GTEST_SKIP() << "nobody had to sleep for a page of a disk here";
  EXPECT_GE(r.sum(kFault, 0), 0.8 * r.sum(kAsleep, 0));
}

TEST(OffCpu, AWaitThatIsRecordedAsSuchIsNotToldTwice) {
  const Found r = run("waiting");
  ASSERT_GE(r.waits.size(), 1u) << "the wait for the lock";
  EXPECT_GE(r.sum(kAsleep, 0), 40e6) << "the sleeps before and after";
  EXPECT_LE(r.sum(0, 0), r.usage.off_ns - 100e6 + r.usage.stolen_ns) << "without the wait";
}

constexpr double kAsked = 480, kSleeps = 30;  // programs/off_cpu.c

void expect_all_outside_of_waits(const Found &r) {
  EXPECT_GE(r.sum(0, 0), r.usage.off_ns - tolerance(r.usage.off_ns, r.usage));
  EXPECT_LE(r.sum(0, 0), r.usage.off_ns + r.usage.unsure_ns + tolerance(r.usage.off_ns, r.usage));
}

// A call of poll() that was preempted and had not to wait is told as a wait, and taken for a sleep: the next one
// outside of the waits is not told as such (docs/design/time-off-the-cpu.md).
double sleeps_taken_for_waits(const Found &r) {
  const double waits_that_slept = r.usage.sleeps - kSleeps;
  return std::max(0.0, static_cast<double>(r.waits.size()) - waits_that_slept);
}

void expect_sleeps_outside_of_waits(const Found &r) {
  const double taken = sleeps_taken_for_waits(r);
  ASSERT_LT(taken, 0.5 * kSleeps) << "hardly any wait slept";
  EXPECT_GE(r.sum(kAsleep, 0), (kSleeps - taken) * 2e6) << "it slept so long at least";
}

TEST(OffCpu, MostRecordedWaitsTakeNoLook) {
  const Found r = run("serving");
  ASSERT_GE(r.usage.sleeps, 0.9 * kAsked + kSleeps) << "it waited for hardly any question";
  EXPECT_LT(r.usage.looks, static_cast<double>(r.off.size()) + 0.5 * kAsked);
  expect_all_outside_of_waits(r);
  expect_sleeps_outside_of_waits(r);
}

// Half of the calls of poll() find their question there. Most are not tried first: one that was preempted looks like a
// wait.
TEST(OffCpu, ACallThatHadNotToWaitLeavesNoRecord) {
  const Found r = run("serving");
  EXPECT_GE(r.waits.size(), 0.9 * kAsked);
  EXPECT_LE(r.waits.size(), kAsked + r.usage.preemptions + 5);
}

TEST(OffCpu, OutsideOfRecordedWaitsItIsAsLongAndOfTheKindThatItWas) {
  const Found r = run("serving_preempted");
  ASSERT_GT(r.usage.preemptions, 20) << "the competitor had no effect";
  expect_all_outside_of_waits(r);
  expect_sleeps_outside_of_waits(r);
  EXPECT_GE(r.sum(kPreempted, kAsleep), 0.5 * (r.usage.off_ns - r.sum(kAsleep, kPreempted)));
}

TEST(OffCpu, IsToldBeforeTheEventThatComesNext) {
  const Found r = run("intervals");
  std::vector<std::pair<uint64_t, unsigned>> order;
  for (const DecodedRecord &e : r.trace.records.at(1))
    if (e.kind == kIntervalBegin || e.kind == kIntervalEnd || (e.kind == kOnBehalf && e.w1 < kStart))
      order.emplace_back(e.time, e.kind);
  ASSERT_EQ(order.size(), 4u);
  const double slept[] = {10e6, 20e6, 30e6};
  for (size_t i = 0; i < 3; ++i) {
    double told = 0;
    for (const DecodedRecord &o : r.off)
      if (o.time > order[i].first && o.time <= order[i + 1].first) told += static_cast<double>(o.w1);
    EXPECT_GE(told, slept[i]) << "before event " << i + 1;
  }
}

TEST(OffCpu, ProgramsWithRestartableSequencesOfTheirOwnKeepThem) {
  const Found r = run("own");
  ASSERT_GT(r.usage.preemptions, 3) << "the competitor had no effect";
  expect_run_delay(r.sum(0, 0), r.usage);
}

TEST(OffCpu, TheTraceSaysWhetherItIsKnown) {
  const Found known = run("intervals");
  EXPECT_NE(known.trace.events_named("thread").at(0).find("\"off_cpu\":\"rseq\""), std::string::npos);
  const WithoutOffCpu without;
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("off_cpu"), "intervals"});
  const DecodedTrace trace = recording.finish();
  EXPECT_NE(trace.events_named("thread").at(0).find("\"off_cpu\":\"unknown\""), std::string::npos);
  EXPECT_TRUE(trace.off_cpu.empty());
}

}  // namespace
