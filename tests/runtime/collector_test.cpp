// The collector as its users see it: flags, control requests, files.
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "recording.h"

namespace {

std::string run_collector(const std::vector<std::string> &options, int *code) {
  std::vector<std::string> argv = {COLLECTOR};
  argv.insert(argv.end(), options.begin(), options.end());
  Running running(argv, "");
  std::string output;
  *code = running.wait(&output);
  return output;
}

TEST(Collector, TraceHasInvocationsIntervalsLabelsAndAnEnd) {
  const WithoutOffCpu exact;
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("calls"), "100"});
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.of_kind(1).size(), 200u);
  EXPECT_EQ(trace.of_kind(3).size(), 100u);
  EXPECT_EQ(trace.of_kind(4).size(), 100u);
  const DecodedRecord begin = trace.of_kind(3)[0];
  ASSERT_EQ(trace.events_named("label").size(), 1u);
  EXPECT_EQ(number_in(trace.events_named("label")[0], "number"), begin.aux);
  EXPECT_EQ(trace.events.front().find("{\"event\":\"session\""), 0u);
  EXPECT_EQ(number_in(trace.events.back(), "records"), 400u);
  EXPECT_GE(trace.events_named("anchor").size(), 2u);
}

TEST(Collector, ProbesAreOffUntilSwitchedOn) {
  Recording recording;
  EXPECT_EQ(Running({program("calls"), "100"}, recording.session()).wait(), 0);
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.of_kind(1).size(), 0u);
  EXPECT_EQ(trace.of_kind(4).size(), 100u) << "intervals are on whenever a session is attached";
}

TEST(Collector, FlipsReachARunningProgram) {
  const WithoutOffCpu exact;
  Recording recording({"--hold"});
  std::unique_ptr<Running> running(recording.start_with_probes_on({program("lives"), "flip"}));
  ASSERT_EQ(running->read_line(), "running");
  running->write_line("");  // one character, one call
  ASSERT_TRUE(eventually([&] { return number_in(recording.ask("stats"), "records") == 3; }));
  const uint64_t base = number_in(recording.program_modules(), "base");
  const std::string sites = std::to_string(base + 64) + "-" + std::to_string(base + 4095);
  EXPECT_LE(number_in(recording.ask("off " + sites), "before"), number_in(recording.ask("stats"), "ticks"));
  ASSERT_EQ(running->read_line(), "called");
  running->write_line("");
  ASSERT_EQ(running->read_line(), "called");
  recording.ask("on " + sites);
  running->write_line("");
  running->close_input();
  EXPECT_EQ(running->wait(), 0);
  // Those of the third call come last: had the second left any, they would be there by then.
  EXPECT_TRUE(eventually([&] { return number_in(recording.ask("stats"), "records") >= 6; }));
  EXPECT_EQ(number_in(recording.ask("stats"), "records"), 6u);
  EXPECT_EQ(recording.finish().events_named("flip").size(), 3u);
}

TEST(Collector, RotateCompletesOneFileAndGoesOnInTheNext) {
  const WithoutOffCpu exact;
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("calls"), "10"});
  const std::string second = recording.file("second.trace");
  const std::string reply = recording.ask("rotate " + second);
  EXPECT_EQ(number_in(reply, "records"), 40u);
  const DecodedTrace first = decode_trace(recording.trace_path());
  EXPECT_EQ(first.events.back().find("{\"event\":\"end\""), 0u);
  EXPECT_EQ(Running({program("calls"), "10"}, recording.session()).wait(), 0);
  EXPECT_EQ(number_in(recording.ask("rotate -"), "records"), 40u);
  EXPECT_EQ(Running({program("calls"), "10"}, recording.session()).wait(), 0);
  const DecodedTrace rotated = decode_trace(second);
  EXPECT_EQ(rotated.count(), 40u);
  EXPECT_EQ(rotated.events_named("module").size(), 2u) << "libvprof and the program";
  EXPECT_EQ(rotated.events_named("label").size(), 1u);
  EXPECT_NE(rotated.events_named("plan")[0].find("\"on\":[["), std::string::npos);
}

TEST(Collector, RecordsNothingUntilAFileIsNamed) {
  Recording recording({"--output", "-"});
  EXPECT_EQ(Running({program("calls"), "10"}, recording.session()).wait(), 0);
  const std::string reply = recording.ask("rotate " + recording.trace_path());
  EXPECT_NE(reply.find("\"file\":null"), std::string::npos) << reply;
  EXPECT_FALSE(std::filesystem::exists("-"));
  EXPECT_EQ(Running({program("calls"), "10"}, recording.session()).wait(), 0);
  EXPECT_EQ(recording.finish().of_kind(4).size(), 10u);
}

TEST(Collector, FilesAreClosedToOthersAndRemovedAtTheEnd) {
  const mode_t old = umask(0);
  Recording recording;
  umask(old);
  struct stat st;
  for (const char *name : {"/arena", "/switches", "/control"}) {
    ASSERT_EQ(stat((recording.session() + name).c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0600u) << name;
  }
  stat(recording.session().c_str(), &st);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  stat(recording.trace_path().c_str(), &st);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
  recording.finish();
  EXPECT_FALSE(std::filesystem::exists(recording.session()));
}

TEST(Collector, SaysInOneLineWhyItCannotStart) {
  Recording recording;
  int code = 0;
  std::string error = run_collector({"--session", recording.session(), "--output", recording.file("x")}, &code);
  EXPECT_EQ(code, 1);
  EXPECT_NE(error.find("a session is running there"), std::string::npos) << error;
  error = run_collector({"--session", recording.file("s"), "--output", recording.file("no/x")}, &code);
  EXPECT_EQ(code, 1);
  EXPECT_NE(error.find("cannot write"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(recording.file("s")));
  error = run_collector({"--session", recording.file("s"), "--output", recording.file("x"), "--slots", "60000",
                         "--ring-bytes", "1073741824"},
                        &code);
  EXPECT_EQ(code, 1);
  EXPECT_NE(error.find("cannot allocate"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(recording.file("s")));
  run_collector({"--session", recording.file("s"), "--output", recording.file("x"), "--ring-bytes", "5000"}, &code);
  EXPECT_EQ(code, 2);
}

TEST(Collector, RejectsBadRequests) {
  Recording recording;
  for (const char *request : {"", "dance", "on", "on x", "on 5-", "on 70", "off 9-7", "ack 3", "ack x", "rotate"})
    EXPECT_NE(recording.ask(request).find("{\"error\":"), std::string::npos) << request;
}

// A limit on the file's size is, for the collector, a full disk.
TEST(Collector, FullDiskEndsTheTraceAndNotTheSession) {
  const WithoutOffCpu exact;
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("calls"), "10"});
  ASSERT_TRUE(eventually([&] { return number_in(recording.ask("stats"), "records") == 40; }));
  const rlimit full = {std::filesystem::file_size(recording.trace_path()) + 100, RLIM_INFINITY};
  ASSERT_EQ(prlimit(recording.pid(), RLIMIT_FSIZE, &full, nullptr), 0);
  EXPECT_EQ(Running({program("calls"), "1000"}, recording.session()).wait(), 0);
  ASSERT_TRUE(eventually([&] { return number_in(recording.ask("stats"), "dropped") == 4000; }));
  EXPECT_NE(recording.ask("stats").find("\"ended\":\"File too large\""), std::string::npos);
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.count(), 40u);
  EXPECT_TRUE(trace.events_named("end").empty());
}

TEST(Collector, WritesOnlyToRegularFiles) {
  Recording recording;
  const std::string pipe = recording.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string &path : {pipe, std::string("/dev/null"), std::string("/dev/full")})
    EXPECT_NE(recording.ask("rotate " + path).find("not a regular file"), std::string::npos) << path;
}

// Its reader has it mapped: a file that shrinks under it would be the end of the reader (SIGBUS).
TEST(Collector, AnOlderTraceOfThatNameStaysWholeForItsReader) {
  Recording recording;
  const std::string path = recording.file("again.trace"), old(1000, 'x');
  std::ofstream(path) << old;
  std::ifstream reader(path);
  EXPECT_EQ(recording.ask("rotate " + path).find("error"), std::string::npos);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(reader), {}), old);
  char magic[8] = {};
  std::ifstream(path).read(magic, sizeof magic);
  EXPECT_EQ(std::string(magic, sizeof magic), "VPROFTRC");
}

// Records found in the trace, those told as lost in it, and those not kept: everything the program wrote.
TEST(Collector, AFullTraceIsCompleteAndTheSessionGoesOn) {
  const WithoutOffCpu exact;
  constexpr uint64_t kLimit = 1 << 20;
  Recording recording({"--hold", "--max-bytes", std::to_string(kLimit)});
  recording.run_with_probes_on({program("calls"), "2000"});  // a ring holds all its records
  for (int i = 0; i < 15; ++i) EXPECT_EQ(Running({program("calls"), "2000"}, recording.session()).wait(), 0);
  const std::string report = recording.ask("rotate -");
  EXPECT_NE(report.find("\"ended\":\"it has reached its greatest size\""), std::string::npos) << report;
  EXPECT_LE(std::filesystem::file_size(recording.trace_path()), kLimit);
  EXPECT_GE(std::filesystem::file_size(recording.trace_path()), kLimit / 4);
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.events_named("end").size(), 1u);
  EXPECT_EQ(number_in(report, "records"), trace.count());
  EXPECT_EQ(number_in(trace.events_named("end")[0], "dropped"), number_in(report, "dropped"));
  uint64_t lost = 0;
  for (const DecodedRecord &r : trace.of_kind(13)) lost += r.w1;
  for (const std::string &e : trace.events_named("loss")) lost += number_in(e, "count");
  EXPECT_EQ(lost, number_in(report, "dropped")) << "what is lost is told";
  EXPECT_GT(number_in(report, "not_kept"), 0u);
  EXPECT_EQ(trace.count() + lost + number_in(report, "not_kept"), 16 * 8000u);
}

TEST(Collector, TheNewestFilesAreKept) {
  const WithoutOffCpu exact;
  constexpr uint64_t kLimit = 4 << 20;
  Recording recording({"--hold", "--max-bytes", std::to_string(kLimit), "--newest", "--ring-bytes", "65536"});
  for (int i = 0; i < 60; ++i)
    if (i == 0)
      recording.run_with_probes_on({program("calls"), "2000"});
    else
      EXPECT_EQ(Running({program("calls"), "2000"}, recording.session()).wait(), 0);
  const std::string report = recording.ask("rotate -");
  uint64_t bytes = 0, records = 0;
  std::vector<std::string> files;
  for (const auto &entry : std::filesystem::directory_iterator(recording.file("")))
    if (entry.path().filename().string().find("run.trace.") == 0) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  ASSERT_EQ(files.size(), 8u);
  for (const std::string &file : files) {
    bytes += std::filesystem::file_size(file);
    const DecodedTrace trace = decode_trace(file);
    records += trace.count();
    EXPECT_EQ(trace.events_named("end").size(), 1u);
  }
  EXPECT_LE(bytes, kLimit);
  EXPECT_GT(bytes, kLimit / 2);
  EXPECT_NE(report.find("\"oldest\":\"" + files.front() + "\""), std::string::npos) << report;
  EXPECT_NE(report.find("\"file\":\"" + files.back() + "\""), std::string::npos) << report;
  EXPECT_EQ(number_in(report, "records"), records);
  EXPECT_GT(number_in(report, "not_kept"), 0u);
}

// Threads without end: what the collector knows of a thread goes with it.
TEST(Collector, MemoryDoesNotGrowWithTheThreadsThatEnded) {
  Recording recording({"--hold", "--ring-bytes", "4096"});
  recording.run_with_probes_on({program("lives"), "churn"});
  const uint64_t before = recording.anonymous_kb();
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Running({program("lives"), "churn"}, recording.session()).wait(), 0);
  EXPECT_LE(recording.anonymous_kb(), before + 256);
  recording.finish();
}

}  // namespace
