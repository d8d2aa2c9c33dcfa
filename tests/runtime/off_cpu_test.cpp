// Time off the CPU inside calls: as long as the thread itself and the kernel say, of the right kind, told before the
// event that comes next.
#include <cmath>
#include <sstream>

#include "recording.h"

namespace {

constexpr unsigned kIntervalBegin = 3, kIntervalEnd = 4, kOnBehalf = 5, kBlocked = 6;
constexpr unsigned kPreempted = 1, kAsleep = 2, kFault = 4;

struct Usage {
  double off_ns, run_delay_ns, sleeps, preemptions, faults;
};

struct Found {
  Usage usage;
  DecodedTrace trace;
  std::vector<DecodedRecord> off;  // of the thread that the scenario is about

  // ns in records that have all bits of `with` and none of `without`.
  double sum(unsigned with, unsigned without) const {
    double total = 0;
    for (const DecodedRecord &r : off)
      if ((r.aux & with) == with && (r.aux & without) == 0) total += static_cast<double>(r.w1);
    return total;
  }
};

Found run(const std::string &scenario) {
  Recording recording({"--hold"});
  const std::string output = recording.run_with_probes_on({program("off_cpu"), scenario});
  std::istringstream words(output);
  Found result = {};
  Usage &u = result.usage;
  EXPECT_TRUE(words >> u.off_ns >> u.run_delay_ns >> u.sleeps >> u.preemptions >> u.faults) << output;
  result.trace = recording.finish();
  result.off = result.trace.off_cpu[1];
  return result;
}

// Two readings of one thing: 10 % apart, or 2 ms, since the CPU may be taken between the readings.
void expect_near(double found, double expected, const char *what) {
  EXPECT_NEAR(found, expected, std::max(0.1 * expected, 2e6)) << what;
}

TEST(OffCpu, PreemptionLastsAsLongAsTheKernelsRunDelay) {
  const Found r = run("preempted");
  ASSERT_GT(r.usage.preemptions, 3) << "the competitor had no effect";
  expect_near(r.sum(0, 0), r.usage.off_ns, "all, against wall - cpu");
  expect_near(r.sum(kPreempted, kAsleep), r.usage.run_delay_ns, "preempted, against the run delay");
  EXPECT_LE(r.off.size(), r.usage.preemptions + r.usage.sleeps + 10);
}

TEST(OffCpu, SleepInASystemCallIsBlockedTime) {
  const Found r = run("sleeping");
  EXPECT_GE(r.usage.sleeps, 40);
  expect_near(r.sum(0, 0), r.usage.off_ns, "all, against wall - cpu");
  EXPECT_GE(r.sum(kAsleep, 0), 40 * 5e6) << "it slept so long at least";
  EXPECT_LE(r.sum(kPreempted, kAsleep), r.usage.run_delay_ns + 2e6);
}

TEST(OffCpu, BothKindsInOneRunStayApart) {
  const Found r = run("mixed");
  ASSERT_GT(r.usage.preemptions, 3) << "the competitor had no effect";
  expect_near(r.sum(0, 0), r.usage.off_ns, "all, against wall - cpu");
  EXPECT_GE(r.sum(kAsleep, 0), 40 * 3e6);
  // The run delay holds also the time from wake-up to run, which belongs to the sleeps.
  EXPECT_LE(r.sum(kPreempted, kAsleep), 1.1 * r.usage.run_delay_ns + 2e6);
  EXPECT_GT(r.sum(kPreempted, kAsleep), 0);
}

TEST(OffCpu, MajorFaultsAreTold) {
  const Found r = run("faulting");
  if (r.usage.faults < 100) GTEST_SKIP() << "no page had to be read from a disk here";
  expect_near(r.sum(0, 0), r.usage.off_ns, "all, against wall - cpu");
  EXPECT_GE(r.sum(kFault, 0), 0.8 * r.sum(kAsleep, 0));
}

TEST(OffCpu, AWaitThatIsRecordedAsSuchIsNotToldTwice) {
  const Found r = run("waiting");
  const std::vector<DecodedRecord> waits = r.trace.of_kind(kBlocked);
  ASSERT_GE(waits.size(), 1u) << "the wait for the lock";
  EXPECT_GE(r.sum(kAsleep, 0), 40e6) << "the sleeps before and after";
  EXPECT_LE(r.sum(0, 0), r.usage.off_ns - 100e6) << "without the wait";
}

TEST(OffCpu, IsToldBeforeTheEventThatComesNext) {
  const Found r = run("intervals");
  std::vector<std::pair<uint64_t, unsigned>> order;
  for (const DecodedRecord &e : r.trace.records.at(1))
    if (e.kind == kIntervalBegin || e.kind == kIntervalEnd || e.kind == kOnBehalf) order.emplace_back(e.time, e.kind);
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
  // Between them: time that a hypervisor steals is off the CPU, but at a signal no switch tells of it.
  EXPECT_GE(r.sum(0, 0), 0.9 * r.usage.run_delay_ns - 2e6);
  EXPECT_LE(r.sum(0, 0), 1.1 * r.usage.off_ns + 2e6);
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
