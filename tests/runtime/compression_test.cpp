// Payloads, compressed and read back: TRACE_FORMAT.md section 1.3.
#include "compression.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "decoder.h"

namespace vprof {
namespace {

std::string planes_of(const std::vector<Record> &records) {
  std::string planes(records.size() * sizeof(Record), '\0');
  rearrange(records.data(), records.size(), planes.data());
  return planes;
}

std::string bytes_of(const std::vector<Record> &records) {
  return {reinterpret_cast<const char *>(records.data()), records.size() * sizeof(Record)};
}

iovec whole(const std::string &bytes) {
  return {const_cast<char *>(bytes.data()), bytes.size()};
}

std::string text_of(const iovec &packed) {
  return {static_cast<const char *>(packed.iov_base), packed.iov_len};
}

TEST(Rearranged, AreTheWorkedBytes) {
  const std::vector<Record> records = {{0x1002000000001400, 0x00c0000700000400}, {0x4000000000001500, 5}};
  const std::string expected(
      "\x00\x00\x14\x01\x00\x00\x00\x00\x00\x00\x00\x00\x02\xfe\x10\x2f"
      "\x00\x05\x04\x00\x00\x00\x00\x00\x07\x00\x00\x00\xc0\x00\x00\x00",
      32);
  EXPECT_EQ(planes_of(records), expected);
}

TEST(Rearranged, AnyNumberOfRecordsComesBack) {
  std::mt19937_64 random(1);
  for (size_t n = 1; n < 100; ++n) {
    std::vector<Record> records(n);
    for (Record &r : records) r = {random(), random()};
    EXPECT_EQ(decoder_detail::as_records(planes_of(records)), bytes_of(records)) << n;
  }
}

TEST(Compressed, ContentComesBackInOneOrTwoPieces) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "{\"number\":" + std::to_string(i) + "}";
  const iovec halves[2] = {{text.data(), 777}, {text.data() + 777, text.size() - 777}};
  const iovec one[2] = {whole(text), {nullptr, 0}};
  for (const Compression kind : {Compression::kZstd, Compression::kLz4}) {
    Compressor compressor(kind);
    for (const iovec *pieces : {halves, one}) {
      const iovec packed = compressor.pack(pieces, 2, false);
      ASSERT_NE(packed.iov_len, 0u);
      EXPECT_LT(packed.iov_len, text.size() / 2);
      const std::string back =
          decoder_detail::unpacked(text_of(packed), static_cast<uint32_t>(kind), static_cast<uint32_t>(text.size()));
      EXPECT_EQ(back, text);
    }
  }
}

// What no reader takes, and what would not get smaller, stays as it is.
TEST(Compressed, NothingThatIsShortRandomOrTooLarge) {
  std::mt19937_64 random(1);
  std::string noise(1 << 16, '\0');
  for (char &c : noise) c = static_cast<char>(random());
  const std::string zeros(1 << 20, '\0');
  for (const Compression kind : {Compression::kZstd, Compression::kLz4}) {
    Compressor compressor(kind);
    for (const std::string &content : {std::string(100, 'a'), noise}) {
      const iovec piece = whole(content);
      EXPECT_EQ(compressor.pack(&piece, 1, false).iov_len, 0u);
    }
    const iovec piece = whole(zeros);
    const iovec packed = compressor.pack(&piece, 1, false);
    EXPECT_TRUE(packed.iov_len == 0 || zeros.size() <= 256 * packed.iov_len);
    const iovec huge = {const_cast<char *>(zeros.data()), (size_t{1} << 26) + 16};  // is not read
    EXPECT_EQ(compressor.pack(&huge, 1, true).iov_len, 0u);
  }
}

TEST(Compressed, KindsAreNamed) {
  Compression kind;
  EXPECT_TRUE(parse_compression("zstd", &kind));
  EXPECT_EQ(kind, Compression::kZstd);
  EXPECT_TRUE(parse_compression("lz4", &kind));
  EXPECT_EQ(kind, Compression::kLz4);
  for (const char *bad : {"", "none", "gzip", "zstd:3", "ZSTD"}) EXPECT_FALSE(parse_compression(bad, &kind)) << bad;
}

}  // namespace
}  // namespace vprof
