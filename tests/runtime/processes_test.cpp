// Many processes, as a server with one process per connection has them: each in slots of its own, nothing committed is
// lost however they end, and sessions that belong to another user.
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "recording.h"

namespace {

constexpr unsigned kInvocation = 1, kCreated = 11;

// Checks each thread's account and that it matches the records in the trace. Returns uids by pid.
std::map<uint64_t, uint32_t> check_accounts(const DecodedTrace &trace) {
  std::map<uint64_t, uint32_t> uids;
  for (const std::string &e : trace.events_named("thread"))
    uids[number_in(e, "pid")] = static_cast<uint32_t>(number_in(e, "uid"));
  std::set<uint32_t> ended;
  for (const std::string &e : trace.events_named("thread_end")) {
    const uint32_t uid = static_cast<uint32_t>(number_in(e, "uid"));
    EXPECT_TRUE(ended.insert(uid).second);
    EXPECT_EQ(number_in(e, "stored"), trace.count_of(uid));
    EXPECT_EQ(number_in(e, "written"), number_in(e, "stored") + number_in(e, "dropped"));
  }
  EXPECT_EQ(ended.size(), trace.events_named("thread").size());
  return uids;
}

TEST(Processes, ShortOnesReuseSlotsAndAreAllRecorded) {
  constexpr size_t kProcesses = 2000;
  // Some 6,000 end each second: slots enough for a collector that gets no CPU for a while.
  Recording recording({"--hold", "--ring-bytes", "4096", "--slots", "600"});
  recording.run_with_probes_on({program("processes"), "fork", std::to_string(kProcesses)});
  const DecodedTrace trace = recording.finish();
  check_accounts(trace);
  EXPECT_EQ(trace.of_kind(kInvocation).size(), 2 * kProcesses);
  EXPECT_EQ(trace.of_kind(kCreated).size(), kProcesses);
  EXPECT_EQ(trace.events_named("thread_end").size(), kProcesses + 1) << "and the parent";
  EXPECT_EQ(number_in(trace.events_named("end").at(0), "unslotted"), 0u);
}

std::map<uint64_t, uint64_t> dropped_by_uid(const DecodedTrace &trace) {
  std::map<uint64_t, uint64_t> dropped;
  for (const std::string &e : trace.events_named("thread_end")) dropped[number_in(e, "uid")] = number_in(e, "dropped");
  return dropped;
}

// kill -9, a crash, _exit in a signal handler, at random points: every call that was over is in the trace, or counted
// as dropped if the collector was too slow; and nothing but the call that was being made.
TEST(Processes, EndedAtRandomPointsLoseNoCommittedRecord) {
  const WithoutOffCpu exact;
  constexpr int kTrials = 300;
  // A slot for each, so that none goes unrecorded while a busy machine gives the collector no CPU.
  Recording recording({"--hold", "--ring-bytes", "262144", "--slots", "320"});
  std::istringstream output(recording.run_with_probes_on({program("processes"), "end", std::to_string(kTrials)}));
  const DecodedTrace trace = recording.finish();
  std::map<uint64_t, uint32_t> uids = check_accounts(trace);
  std::map<uint64_t, uint64_t> dropped = dropped_by_uid(trace);
  int trials = 0, lost = 0;
  uint64_t stored = 0;
  for (std::string line; std::getline(output, line);) {
    uint64_t pid, calls;
    if (!(std::istringstream(line) >> pid >> calls)) continue;  // an emulator's, about a crash
    ++trials;
    ASSERT_EQ(uids.count(pid), 1u);
    uint64_t found = 0;
    for (const DecodedRecord &r : trace.records.at(uids[pid])) found += r.kind == kInvocation;
    stored += found;
    found += dropped[uids[pid]];
    lost += found < 2 * calls;
    EXPECT_LE(found, 2 * calls + 2);
  }
  EXPECT_EQ(trials, kTrials);
  EXPECT_EQ(lost, 0);
  printf("%d processes ended at random points, %d of them lost committed records; %lu calls' records stored\n", trials,
         lost, stored);
}

TEST(Processes, WhatAServerChangesAfterItsStartDoesNotMatter) {
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("processes"), "change"});
  const DecodedTrace trace = recording.finish();
  check_accounts(trace);
  EXPECT_EQ(trace.records.size(), 3u);
  EXPECT_EQ(trace.of_kind(kInvocation).size(), 6u);
}

TEST(Processes, GoOnWhenTheCollectorIsKilled) {
  auto recording = std::make_unique<Recording>(std::vector<std::string>{"--hold"});
  std::unique_ptr<Running> running(recording->start_with_probes_on({program("processes"), "fork", "500"}));
  recording.reset();
  EXPECT_EQ(running->wait(), 0);
}

// `calls 10` as another user than root, who need not be able to enter the build directory: from copies beside the
// trace.
int calls_as_nobody(const Recording &recording) {
  const std::string copy = recording.file("calls"), library = recording.file("libvprof.so");
  std::filesystem::copy_file(program("calls"), copy);
  std::filesystem::copy_file(LIBVPROF, library);
  for (const std::string &path : {copy, library}) EXPECT_EQ(chmod(path.c_str(), 0755), 0);
  EXPECT_EQ(chmod(recording.file("").c_str(), 0711), 0);
  return Running({"/usr/bin/setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "/usr/bin/env",
                  "LD_LIBRARY_PATH=" + recording.file(""), copy, "10"},
                 recording.session())
      .wait();
}

TEST(Processes, OfAnotherUserJoinASessionMadeForThem) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Recording recording({"--user", "nobody"});
  EXPECT_EQ(calls_as_nobody(recording), 0);
  EXPECT_EQ(Running({program("calls"), "10"}, recording.session()).wait(), 0) << "root's: not its session";
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.of_kind(4).size(), 10u);
  EXPECT_EQ(trace.events_named("thread").size(), 1u);
}

TEST(Processes, OfAnotherUserAreNotRecordedByASessionOfOurs) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  Recording recording;
  EXPECT_EQ(calls_as_nobody(recording), 0);
  EXPECT_EQ(recording.finish().count(), 0u);
}

}  // namespace
