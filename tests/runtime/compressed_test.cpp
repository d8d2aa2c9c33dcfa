// Traces with compressed chunks, from the real collector: TRACE_FORMAT.md section 1.3.
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>

#include "recording.h"

namespace {

class Compressed : public testing::TestWithParam<const char *> {
 protected:
  std::vector<std::string> options(std::vector<std::string> more = {}) const {
    more.insert(more.end(), {"--hold", "--compress", GetParam()});
    return more;
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, Compressed, testing::Values("zstd", "lz4"));

TEST_P(Compressed, TheTraceHasAllRecordsInAThirdOfTheBytes) {
  const WithoutOffCpu exact;
  Recording recording(options());
  recording.run_with_probes_on({program("calls"), "5000"});
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.version, 6u);
  EXPECT_EQ(trace.of_kind(1).size(), 10000u);
  EXPECT_EQ(trace.of_kind(4).size(), 5000u);
  EXPECT_EQ(number_in(trace.events.back(), "records"), 20000u);
  EXPECT_EQ(number_in(trace.events.back(), "dropped"), 0u);
  EXPECT_GT(trace.unpacked_bytes, 320000u);
  EXPECT_LT(trace.packed_bytes, trace.unpacked_bytes / 3);
  for (const auto &[uid, list] : trace.records)
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end(),
                               [](const DecodedRecord &a, const DecodedRecord &b) { return a.time < b.time; }));
}

TEST_P(Compressed, EveryFileOfASessionIs) {
  const WithoutOffCpu exact;
  Recording recording(options());
  recording.run_with_probes_on({program("calls"), "500"});
  const std::string second = recording.file("second.trace");
  EXPECT_EQ(number_in(recording.ask("rotate " + second), "records"), 2000u);
  EXPECT_EQ(Running({program("calls"), "500"}, recording.session()).wait(), 0);
  recording.ask("rotate -");
  const DecodedTrace first = recording.finish(), other = decode_trace(second);
  for (const DecodedTrace *trace : {&first, &other}) {
    EXPECT_EQ(trace->version, 6u);
    EXPECT_EQ(trace->count(), 2000u);
    EXPECT_GT(trace->compressed, 0u);
  }
  EXPECT_EQ(first.metadata, other.metadata) << "compressed once for both";
}

TEST_P(Compressed, AFullTraceHoldsMoreRecords) {
  const WithoutOffCpu exact;
  constexpr uint64_t kLimit = 1 << 20;
  Recording recording(options({"--max-bytes", std::to_string(kLimit)}));
  recording.run_with_probes_on({program("calls"), "2000"});  // a ring holds all its records
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Running({program("calls"), "2000"}, recording.session()).wait(), 0);
  const std::string report = recording.ask("rotate -");
  EXPECT_LE(std::filesystem::file_size(recording.trace_path()), kLimit);
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.events_named("end").size(), 1u);
  EXPECT_GT(trace.count(), kLimit / 16) << "as many as fit if they are not compressed";
  EXPECT_EQ(number_in(report, "records"), trace.count());
  uint64_t lost = 0;
  for (const DecodedRecord &r : trace.of_kind(13)) lost += r.w1;
  for (const std::string &e : trace.events_named("loss")) lost += number_in(e, "count");
  EXPECT_EQ(lost, number_in(report, "dropped")) << "what is lost is told";
  EXPECT_EQ(trace.count() + lost + number_in(report, "not_kept"), 41 * 8000u);
}

// A limit on the file's size is, for the collector, a full disk. Chunks fit until one does not.
TEST_P(Compressed, FullDiskEndsTheTraceAfterAWholeChunk) {
  const WithoutOffCpu exact;
  Recording recording(options());
  recording.run_with_probes_on({program("calls"), "10"});
  ASSERT_TRUE(eventually([&] { return number_in(recording.ask("stats"), "records") == 40; }));
  const uint64_t most = std::filesystem::file_size(recording.trace_path()) + 50000;
  const rlimit full = {most, RLIM_INFINITY};
  ASSERT_EQ(prlimit(recording.pid(), RLIMIT_FSIZE, &full, nullptr), 0);
  uint64_t written = 40;
  for (; written < 400000 && number_in(recording.ask("stats"), "dropped") == 0; written += 4000)
    EXPECT_EQ(Running({program("calls"), "1000"}, recording.session()).wait(), 0);
  const std::string report = recording.ask("rotate -");
  EXPECT_NE(report.find("\"ended\":\"File too large\""), std::string::npos) << report;
  EXPECT_LE(std::filesystem::file_size(recording.trace_path()), most);
  const DecodedTrace trace = recording.finish();  // fails if a chunk is broken
  EXPECT_TRUE(trace.events_named("end").empty());
  EXPECT_GT(trace.count(), 50000 / 16u) << "as many as fit if they are not compressed";
  EXPECT_EQ(trace.count() + number_in(report, "dropped") + number_in(report, "not_kept"), written);
}

TEST(Compression, WithoutItFilesAreAsBefore) {
  Recording recording({"--hold"});
  recording.run_with_probes_on({program("calls"), "500"});
  const DecodedTrace trace = recording.finish();
  EXPECT_EQ(trace.version, 5u);
  EXPECT_EQ(trace.compressed, 0u);
}

TEST(Compression, AnotherKindIsRefused) {
  for (const char *kind : {"gzip", "", "zstd,lz4"}) {
    Running collector({COLLECTOR, "--session", "/dev/shm/vprof-test-none", "--output", "x", "--compress", kind}, "");
    std::string said;
    EXPECT_EQ(collector.wait(&said), 2) << kind;
  }
}

}  // namespace
