// Small parts of the collector.
#include <gtest/gtest.h>
#include <string.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <set>

#include "elf_meta.h"
#include "json.h"
#include "module_table.h"
#include "process.h"
#include "recorder.h"
#include "switchboard.h"

namespace vprof {
namespace {

TEST(Json, QuotesWhatALabelMayHold) {
  EXPECT_EQ(quoted("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f"), "\"gr\xc3\xbc\xc3\x9f\"");
  EXPECT_EQ(quoted("\xff\xc3"), "\"\xef\xbf\xbd\xef\xbf\xbd\"") << "not UTF-8";
  EXPECT_EQ(JsonObject().add("n", 1).add("s", "x").raw("a", "[]").str(), "{\"n\":1,\"s\":\"x\",\"a\":[]}");
}

TEST(Ranges, AreNumbersAndInclusiveRanges) {
  std::vector<SiteRange> ranges;
  ASSERT_TRUE(parse_ranges("7 9-40  50", &ranges));
  ASSERT_EQ(ranges.size(), 3u);
  EXPECT_EQ(ranges[1].first, 9u);
  EXPECT_EQ(ranges[1].count, 32u);
  for (const char *bad : {"", "  ", "x", "5-", "-5", "7,8", "9-7", "99999999999"}) {
    ranges.clear();
    EXPECT_FALSE(parse_ranges(bad, &ranges)) << bad;
  }
}

TEST(SitesOn, AreGivenAsRangesWithoutTheHeadersOfModules) {
  std::vector<unsigned char> switches(0x10000 + 2 * kSwitchHeaderBytes);
  const std::vector<KnownModule> modules = {{"first", 0, 2 * kSwitchHeaderBytes, 0, true, true},
                                            {"behind 64 KB", 0x10000, 2 * kSwitchHeaderBytes, 0, true, true}};
  for (const KnownModule &module : modules) memcpy(&switches[module.base + 8], &module.base, sizeof module.base);
  ASSERT_EQ(switches[0x10000 + 10], 1) << "as a switch that is on";
  EXPECT_EQ(sites_on(switches.data(), modules), "[]");
  for (uint32_t on : {65u, 66u, 68u, 127u, 0x10000u + 64}) switches[on] = 1;
  switches[67] = 2;
  EXPECT_EQ(sites_on(switches.data(), modules), "[[65,2],[68,1],[127,1],[65600,1]]");
}

TEST(ElfMeta, AbsentSectionAndOtherFilesGiveNothing) {
  EXPECT_FALSE(read_unit_metadata("/proc/self/exe").has_value());
  EXPECT_FALSE(read_unit_metadata("/etc/passwd").has_value());
  EXPECT_FALSE(read_unit_metadata("/nonexistent").has_value());
}

TEST(ElfMeta, CompilersAreSaidOnceEach) {
  const std::vector<std::string> found = read_compilers("/proc/self/exe");
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const std::string &one) {
    return one.find("clang") != std::string::npos || one.find("GCC") != std::string::npos;
  }));
  EXPECT_EQ(std::set<std::string>(found.begin(), found.end()).size(), found.size());
  for (const char *none : {"/etc/passwd", "/nonexistent", "/dev/zero"}) EXPECT_TRUE(read_compilers(none).empty());
}

TEST(ElfMeta, TheBuildIdIsThatOfTheLinker) {
  EXPECT_EQ(read_build_id("/proc/self/exe"), "0123456789abcdef0123") << "tests/runtime/CMakeLists.txt";
  for (const char *none : {"/etc/passwd", "/nonexistent", "/dev/zero"}) EXPECT_EQ(read_build_id(none), "");
}

TEST(ElfMeta, APipeOrDeviceIsNotOpened) {
  const std::string pipe = testing::TempDir() + "pipe" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(read_unit_metadata(pipe).has_value()) << "and nobody waits for a writer";
  EXPECT_FALSE(read_unit_metadata("/dev/zero").has_value());
  unlink(pipe.c_str());
}

// Programs may write anything over the table, at any time.
TEST(ModuleTable, KnowsEachModuleOnceAndOnlyIfItIsPossible) {
  auto memory = std::make_unique<unsigned char[]>(sizeof(Arena) + 64);
  Arena *arena = reinterpret_cast<Arena *>((reinterpret_cast<uintptr_t>(memory.get()) + 63) / 64 * 64);
  const auto append = [arena](uint32_t base, uint32_t count) {
    Module &m = arena->modules[arena->module_count.fetch_add(1)];
    m.base = base;
    m.count = count;
    m.state = Module::kMapped;
    memset(m.path, 'x', sizeof m.path);  // without an end
  };
  ModuleTable table(arena);
  append(0, 2 * kPage);
  append(kPage, kPage);          // of the first
  append(kMaxSites, kPage);      // behind all
  append(2 * kPage, kMaxSites);  // too many
  append(~0u & ~(kPage - 1), 2 * kPage);
  append(2 * kPage + 1, kPage);
  append(3 * kPage, kPage);
  std::vector<uint32_t> counts;
  for (const KnownModule &m : table.refresh()) counts.push_back(m.mapped ? m.count : 0);
  EXPECT_EQ(counts, (std::vector<uint32_t>{2 * kPage, 0, 0, 0, 0, 0, kPage}));
  arena->modules[0].count = kMaxSites;
  arena->module_count = ~0u;
  EXPECT_EQ(table.refresh().size(), kMaxModules);
  EXPECT_EQ(table.known()[0].count, 2 * kPage);
  const auto mapped = [](const KnownModule &m) { return m.mapped; };
  EXPECT_EQ(std::count_if(table.known().begin(), table.known().end(), mapped), 2);
}

TEST(Process, NumbersThatMeanGroupsAreNoProcesses) {
  for (const uint32_t pid : {0u, 0x80000000u, 0xffffffffu, 0xffffff00u}) EXPECT_EQ(process_start(pid), 0u);
}

TEST(Process, StartNamesALiveProcess) {
  const uint32_t self = static_cast<uint32_t>(getpid());
  EXPECT_NE(process_start(self), 0u);
  EXPECT_EQ(process_start(self), process_start(self));
  EXPECT_EQ(process_start(0x7ffffff0), 0u);
}

TEST(Anchors, AreDenseAtFirstAndFewInAWeek) {
  constexpr uint64_t kSecond_ns = 1000000000, kWeek_ns = 7 * 24 * 3600 * kSecond_ns;
  uint64_t count = 0, in_first_minute = 0;
  for (uint64_t age = 0; age < kWeek_ns; age += anchor_period_ns(age)) {
    ++count;
    in_first_minute += age < 60 * kSecond_ns;
    EXPECT_LE(anchor_period_ns(age), std::max(kSecond_ns, age / 64));
  }
  EXPECT_EQ(in_first_minute, 60u);
  EXPECT_LT(count, 10500u);
}

TEST(Latencies, AreThoseOfBothEndsWhicheverComesFirst) {
  Latencies latencies;
  EXPECT_EQ(latencies.quantile(0.5), 0u);
  for (uint64_t id = 1; id <= 100; ++id) {
    const uint64_t begin = 1000000 * id, end = begin + 1000 * id;
    latencies.note(id, id % 2 != 0 ? begin : end);
    latencies.note(id, id % 2 != 0 ? end : begin);
  }
  for (const double part : {0.01, 0.5, 0.99, 1.0}) {
    const double expected = 100000 * part;
    EXPECT_GE(static_cast<double>(latencies.quantile(part)), expected);
    EXPECT_LE(static_cast<double>(latencies.quantile(part)), expected * (1 + 1.0 / 16));
  }
  latencies.clear();
  EXPECT_EQ(latencies.quantile(0.5), 0u);
}

TEST(Latencies, WhatNeverEndsIsForgotten) {
  Latencies latencies;
  for (uint64_t id = 0; id < 1000000; ++id) latencies.note(id, id);
  EXPECT_EQ(latencies.quantile(1), 0u);
  latencies.note(7, ~uint64_t{0});
  latencies.note(7, 0);
  EXPECT_EQ(latencies.quantile(1), ~uint64_t{0});
}

// A record's time has 48 bits: the chunk's base has all of them, before, at and after a wrap.
TEST(Times, OfRecordsAreThoseNearestToNow) {
  constexpr uint64_t kWrap = uint64_t{1} << 48;
  for (uint64_t at : {kWrap - 1, kWrap, kWrap + 1, 700 * kWrap, 700 * kWrap - 5})
    for (uint64_t now : {at, at + 1000, at + (uint64_t{1} << 46)})
      EXPECT_EQ(time_of(make_record(Kind::kInvocation, at, 0, 0), now), at);
}

TEST(Times, OfOverwrittenRecordsAreNoneBeforeTheClockBegan) {
  const Record first = {~uint64_t{0}, 0};
  EXPECT_EQ(base_of_chunk(first, 1000), 0u);
  EXPECT_EQ(base_of_chunk(make_record(Kind::kInvocation, 900, 0, 0), 1000), 900u);
}

// runtime/README.md, "Memory", says so.
TEST(Memory, OfASessionIsItsTablesAndASlotPerThread) {
  const Layout usual = {96, 32768};
  EXPECT_EQ(usual.stride(), 561152u);
  EXPECT_LT(usual.arena_size() + kMaxSites, 64u << 20) << "a container's /dev/shm";
}

}  // namespace
}  // namespace vprof
