// Programs, threads and processes that come and go in every way: nothing committed is lost, and the end says so.
#include <sys/stat.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "recording.h"

namespace {

constexpr unsigned kInvocation = 1, kAbandoned = 14;

uint64_t sum_over(const DecodedTrace &trace, const std::string &event, const std::string &key) {
  uint64_t sum = 0;
  for (const std::string &e : trace.events_named(event)) sum += number_in(e, key);
  return sum;
}

// Depths of the invocations of the only thread, in the order of their exits.
std::vector<unsigned> depths(const std::vector<DecodedRecord> &records, unsigned kind) {
  std::vector<unsigned> found;
  for (const DecodedRecord &r : records)
    if (r.kind == kind) found.push_back(r.aux);
  return found;
}

TEST(Lifecycle, ProbesKeepTheRegistersAlsoTheFirstTime) {
  Recording recording({"--hold"});
  EXPECT_EQ(recording.run_with_probes_on({program("registers")}), "");
  const DecodedTrace trace = recording.finish();
  ASSERT_EQ(trace.records.size(), 1u);
  EXPECT_EQ(depths(trace.records.at(1), kInvocation), (std::vector<unsigned>{0, 0, 0, 0}));
}

TEST(Lifecycle, ForkedChildRecordsAsAProcessOfItsOwnCreatedByItsParent) {
  Recording recording({"--hold"});
  std::istringstream output(recording.run_with_probes_on({program("lives"), "fork"}));
  std::string parent, child;
  output >> parent >> child;
  const DecodedTrace trace = recording.finish();
  ASSERT_EQ(trace.records.size(), 2u);
  std::map<std::string, uint64_t> uids;
  for (const std::string &e : trace.events_named("thread"))
    uids[std::to_string(number_in(e, "pid"))] = number_in(e, "uid");
  const std::vector<DecodedRecord> &records = trace.records.at(static_cast<uint32_t>(uids[child]));
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].kind, 11u);
  EXPECT_EQ(records[1].kind, 8u);
  EXPECT_EQ(records[1].w1, uids[parent]);
  EXPECT_EQ(depths(records, kInvocation), (std::vector<unsigned>{2, 1, 0}));
}

TEST(Lifecycle, KillInsideProbesLeavesTheOpenFrames) {
  Recording recording({"--hold"});
  std::unique_ptr<Running> running(recording.start_with_probes_on({program("lives"), "hang"}));
  ASSERT_EQ(running->read_line(), "inside");
  running->kill_hard();
  EXPECT_EQ(running->wait(), 128 + SIGKILL);
  const DecodedTrace trace = recording.finish();
  const std::vector<std::string> open = trace.events_named("open");
  ASSERT_EQ(open.size(), 1u);
  const std::string frames = open[0].substr(open[0].find("\"frames\":") + 9);
  const unsigned outermost = static_cast<unsigned>(std::stoul(frames.substr(2)));
  for (unsigned i = 0; i < 3; ++i) EXPECT_NE(frames.find("[" + std::to_string(outermost + i) + ","), std::string::npos);
}

TEST(Lifecycle, QuickExitLosesNothing) {
  const WithoutOffCpu exact;
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("lives"), "exit"});
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.of_kind(kInvocation).size(), 3u);
  EXPECT_EQ(trace.events_named("open").size(), 1u);
  EXPECT_EQ(sum_over(trace, "thread_end", "written"), 3u);
}

TEST(Lifecycle, ExecEndsTheThreadsOfTheFormerProgram) {
  Recording recording;
  EXPECT_EQ(Running({program("lives"), "exec"}, recording.session()).wait(), 0);
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.events_named("module").size(), 3u);  // libvprof's own is the first
  EXPECT_EQ(trace.events_named("thread").size(), 2u);
  EXPECT_EQ(trace.events_named("thread_end").size(), 2u);
  EXPECT_EQ(trace.of_kind(4).size(), 10u);
}

// Two processes of one program share its range of site numbers, so one flip reaches both.
TEST(Lifecycle, ProcessesOfOneProgramShareItsSites) {
  Recording recording({"--hold"});
  std::unique_ptr<Running> first(recording.start_with_probes_on({program("lives"), "flip"}));
  Running second({program("lives"), "flip"}, recording.session());
  for (Running *running : {first.get(), &second}) {
    EXPECT_EQ(running->read_line(), "running");
    running->write_line("");
    running->close_input();
    EXPECT_EQ(running->wait(), 0);
  }
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.events_named("module").size(), 2u) << "libvprof and the program";
  EXPECT_EQ(trace.of_kind(kInvocation).size(), 6u);
}

TEST(Lifecycle, ALibraryLoadedLaterHasProbesOfItsOwn) {
  Recording recording;
  Running running({program("lives"), "dlopen"}, recording.session());
  ASSERT_EQ(running.read_line(), "loaded");
  const std::string modules = recording.ask("modules");
  const std::string library = modules.substr(modules.find("\"index\":2"));
  EXPECT_NE(library.find("libplugin.so"), std::string::npos);
  const uint64_t base = number_in(library, "base");
  recording.ask("on " + std::to_string(base + 64) + "-" + std::to_string(base + 255));
  running.write_line("");
  EXPECT_EQ(running.wait(), 0);
  EXPECT_EQ(recording.finish().of_kind(kInvocation).size(), 1u);
}

// Linked with the begin object behind others: reported, never mapped, and the program runs.
TEST(Lifecycle, AnUnalignedModuleIsOnlyReported) {
  Recording recording;
  EXPECT_EQ(Running({program("calls_unaligned"), "10"}, recording.session()).wait(), 0);
  const DecodedTrace trace = recording.finish();
  ASSERT_EQ(trace.events_named("module").size(), 2u) << "libvprof and the program";
  EXPECT_NE(trace.events_named("module")[1].find("\"state\":\"unaligned\""), std::string::npos);
  EXPECT_EQ(trace.of_kind(4).size(), 10u);
}

TEST(Lifecycle, LongjmpAbandonsTheFramesItLeft) {
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("lives"), "longjmp"});
  const DecodedTrace trace = recording.finish();
  ASSERT_EQ(trace.records.size(), 1u);
  EXPECT_EQ(depths(trace.records.begin()->second, kAbandoned), (std::vector<unsigned>{2, 1, 0}));
  EXPECT_EQ(depths(trace.records.begin()->second, kInvocation), (std::vector<unsigned>{2, 1, 0}));
}

TEST(Lifecycle, ThreadExitAbandonsItsFrames) {
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("lives"), "thread-exit"});
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.of_kind(kAbandoned).size(), 3u);
  EXPECT_EQ(trace.events_named("open").size(), 0u);
}

// More than the collector can take, into a ring too small: what is lost is told, and all intervals keep their times.
TEST(Lifecycle, AFloodLosesInvocationsButNoInterval) {
  const WithoutOffCpu exact;
  Recording recording({"--hold", "--ring-bytes", "262144"});
  const uint64_t wanted = std::stoull(recording.run_with_probes_on({program("lives"), "flood"}));
  const DecodedTrace trace = recording.finish();
  uint64_t lost = sum_over(trace, "loss", "count");
  for (const DecodedRecord &r : trace.of_kind(13)) lost += r.w1;
  EXPECT_EQ(trace.of_kind(kInvocation).size() + trace.of_kind(3).size() + trace.of_kind(4).size() + lost, wanted);
  EXPECT_EQ(lost, sum_over(trace, "thread_end", "dropped"));
  EXPECT_EQ(trace.of_kind(3).size(), 2000u);
  EXPECT_EQ(trace.of_kind(4).size(), 2000u);
}

// How many of the 2,000 threads of `churn` are in the trace; each with its creator, its calls and its end.
uint64_t recorded_of_churn(const char *slots, uint64_t *unslotted) {
  Recording recording({"--hold", "--slots", slots, "--ring-bytes", "4096"});
  recording.run_with_probes_on({program("lives"), "churn"});
  const DecodedTrace trace = recording.finish();
  std::set<uint64_t> uids;
  for (const std::string &e : trace.events_named("thread")) EXPECT_TRUE(uids.insert(number_in(e, "uid")).second);
  const uint64_t recorded = trace.of_kind(11).size();
  EXPECT_EQ(uids.size(), recorded + 1) << "and the main thread";
  EXPECT_EQ(trace.events_named("thread_end").size(), uids.size());
  EXPECT_EQ(trace.of_kind(kInvocation).size(), 3 * recorded);
  for (const std::string &e : trace.events_named("thread_end"))
    EXPECT_EQ(number_in(e, "written"), number_in(e, "stored") + number_in(e, "dropped"));
  EXPECT_EQ(sum_over(trace, "thread_end", "stored"), trace.count());
  *unslotted = number_in(trace.events_named("end").at(0), "unslotted");
  return recorded;
}

TEST(Lifecycle, ShortThreadsReuseSlots) {
  uint64_t unslotted = 0;
  const uint64_t recorded = recorded_of_churn("200", &unslotted);
  EXPECT_GT(recorded, 400u) << "slots were used several times";
  EXPECT_EQ(recorded + unslotted, 2000u);
}

TEST(Lifecycle, ThreadsWithoutASlotAreCounted) {
  uint64_t unslotted = 0;
  EXPECT_EQ(recorded_of_churn("3", &unslotted) + unslotted, 2000u);
  EXPECT_GT(unslotted, 0u);
}

class Signals : public testing::TestWithParam<const char *> {};

TEST_P(Signals, NeverUnpairProbes) {
  const WithoutOffCpu exact;
  Recording recording({"--hold"});
  const uint64_t calls = std::stoull(recording.run_with_probes_on({program("lives"), GetParam()}));
  const DecodedTrace trace = recording.finish();
  const uint64_t lost = sum_over(trace, "thread_end", "dropped");
  EXPECT_EQ(trace.of_kind(kAbandoned).size(), 0u);
  EXPECT_EQ(trace.of_kind(kInvocation).size() + lost, 3 * calls);
  EXPECT_EQ(trace.events_named("open").size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Stacks, Signals, testing::Values("signals", "signals-alternate"),
                         [](const auto &info) { return info.index == 0 ? "OwnStack" : "AlternateStack"; });

std::ptrdiff_t open_files(const Running &running) {
  return std::distance(std::filesystem::directory_iterator("/proc/" + std::to_string(running.pid()) + "/fd"), {});
}

// A program without vprof, which has what we have open, and no more.
std::ptrdiff_t inherited_files() {
  Running plain({"/bin/cat"}, "");
  plain.write_line("started");
  EXPECT_EQ(plain.read_line(), "started");
  return open_files(plain);
}

// Whatever sessions others have on this machine meanwhile.
TEST(Lifecycle, WithoutASessionNothingIsTouched) {
  const std::ptrdiff_t inherited = inherited_files();
  Running running({program("lives"), "flip"}, "");
  ASSERT_EQ(running.read_line(), "running");
  running.write_line("");
  ASSERT_EQ(running.read_line(), "called");
  const std::string process = "/proc/" + std::to_string(running.pid());
  std::ifstream maps(process + "/maps");
  for (std::string line; std::getline(maps, line);)
    EXPECT_EQ(line.find("s ", line.find(' ')), std::string::npos) << "shared memory: " << line;
  EXPECT_EQ(open_files(running), inherited);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(process + "/task"), {}), 1);
  running.close_input();
  EXPECT_EQ(running.wait(), 0);
}

// A directory that others can write to, or a symlink, is not ours: the program runs, unrecorded.
TEST(Lifecycle, ForeignSessionDirectoryIsRefused) {
  Recording recording;
  ASSERT_EQ(chmod(recording.session().c_str(), 0755), 0);
  EXPECT_EQ(Running({program("calls"), "10"}, recording.session()).wait(), 0);
  ASSERT_EQ(chmod(recording.session().c_str(), 0700), 0);
  const std::string link = recording.file("link");
  std::filesystem::create_symlink(recording.session(), link);
  EXPECT_EQ(Running({program("calls"), "10"}, link).wait(), 0);
  EXPECT_EQ(Running({program("calls"), "10"}, recording.file("absent")).wait(), 0);
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.count(), 0u);
  EXPECT_EQ(trace.events_named("module").size(), 0u);
}

TEST(Lifecycle, AHeldProgramGoesOnWhenTheCollectorHasDied) {
  auto recording = std::make_unique<Recording>(std::vector<std::string>{"--hold"});
  Running running({program("calls"), "10"}, recording->session());
  ASSERT_TRUE(eventually([&] { return recording->ask("modules").find("\"index\":0") != std::string::npos; }));
  recording.reset();  // kills it
  std::string output;
  EXPECT_EQ(running.wait(&output), 0);
}

}  // namespace
