// Small parts of the collector.
#include <gtest/gtest.h>

#include "crc32.h"
#include "elf_meta.h"
#include "json.h"
#include "process.h"
#include "switchboard.h"

namespace vprof {
namespace {

TEST(Crc32, IsThatOfZlib) {
  EXPECT_EQ(crc32(0, "123456789", 9), 0xCBF43926u);
  const std::string text = "The quick brown fox jumps over the lazy dog";
  EXPECT_EQ(crc32(0, text.data(), text.size()), 0x414FA339u);
  EXPECT_EQ(crc32(crc32(0, text.data(), 5), text.data() + 5, text.size() - 5), 0x414FA339u) << "in pieces";
}

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

TEST(SitesOn, AreGivenAsRanges) {
  const unsigned char switches[] = {0, 1, 1, 0, 2, 1};
  EXPECT_EQ(sites_on(switches, 6), "[[1,2],[5,1]]");
}

TEST(ElfMeta, AbsentSectionAndOtherFilesGiveNothing) {
  EXPECT_FALSE(read_unit_metadata("/proc/self/exe").has_value());
  EXPECT_FALSE(read_unit_metadata("/etc/passwd").has_value());
  EXPECT_FALSE(read_unit_metadata("/nonexistent").has_value());
}

TEST(Process, StartNamesALiveProcess) {
  const uint32_t self = static_cast<uint32_t>(getpid());
  EXPECT_NE(process_start(self), 0u);
  EXPECT_EQ(process_start(self), process_start(self));
  EXPECT_EQ(process_start(0x7ffffff0), 0u);
}

}  // namespace
}  // namespace vprof
