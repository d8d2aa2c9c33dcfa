// The collector as its users see it: flags, control requests, files.
#include <sys/stat.h>

#include <filesystem>

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
  Recording recording({"--hold"});
  std::unique_ptr<Running> running(recording.start_with_probes_on({program("lives"), "flip"}));
  ASSERT_EQ(running->read_line(), "running");
  running->write_line("");  // one character, one call
  ASSERT_TRUE(eventually([&] { return number_in(recording.ask("stats"), "records") == 3; }));
  const uint64_t base = number_in(recording.program_modules(), "base");
  const std::string sites = std::to_string(base + 64) + "-" + std::to_string(base + 8191);
  EXPECT_LE(number_in(recording.ask("off " + sites), "before"), number_in(recording.ask("stats"), "ticks"));
  running->write_line("");
  usleep(100000);
  EXPECT_EQ(number_in(recording.ask("stats"), "records"), 3u);
  recording.ask("on " + sites);
  running->write_line("");
  EXPECT_TRUE(eventually([&] { return number_in(recording.ask("stats"), "records") == 6; }));
  running->close_input();
  EXPECT_EQ(running->wait(), 0);
  EXPECT_EQ(recording.finish().events_named("flip").size(), 3u);
}

TEST(Collector, RotateCompletesOneFileAndGoesOnInTheNext) {
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

TEST(Collector, FullDiskIsCountedAndDoesNotStopIt) {
  ASSERT_EQ(access("/dev/full", W_OK), 0);
  Recording recording({"--hold"});
  EXPECT_NE(recording.ask("rotate /dev/full").find("No space left"), std::string::npos);
  recording.run_with_probes_on({program("calls"), "10"});
  EXPECT_EQ(recording.finish().count(), 0u);
}

}  // namespace
