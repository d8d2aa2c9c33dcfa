// A small reader of trace files for these tests, written from TRACE_FORMAT.md. It fails the test on anything malformed.
#ifndef VPROF_TEST_DECODER_H
#define VPROF_TEST_DECODER_H

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

struct DecodedRecord {
  unsigned kind;
  unsigned aux;
  uint64_t time;
  uint64_t w1;
};

struct DecodedTrace {
  std::map<uint32_t, std::vector<DecodedRecord>> records;  // by thread uid, but for
  std::map<uint32_t, std::vector<DecodedRecord>> off_cpu;  // OFF_CPU: they come when the machine is busy
  std::vector<std::string> events;                         // JSON
  std::map<uint32_t, std::string> metadata;                // by module index
  uint32_t version = 0;
  uint64_t compressed = 0;  // chunks, of them
  uint64_t packed_bytes = 0, unpacked_bytes = 0;

  std::vector<std::string> events_named(const std::string &name) const {
    std::vector<std::string> found;
    for (const std::string &e : events)
      if (e.find("{\"event\":\"" + name + "\"") == 0) found.push_back(e);
    return found;
  }

  // All records of the kind, over all threads.
  std::vector<DecodedRecord> of_kind(unsigned kind) const {
    std::vector<DecodedRecord> found;
    for (const auto &[uid, list] : records)
      for (const DecodedRecord &r : list)
        if (r.kind == kind) found.push_back(r);
    return found;
  }

  // All records of a thread.
  uint64_t count_of(uint32_t uid) const {
    const auto found = records.find(uid), off = off_cpu.find(uid);
    return (found != records.end() ? found->second.size() : 0) + (off != off_cpu.end() ? off->second.size() : 0);
  }

  uint64_t count() const {
    uint64_t n = 0;
    for (const auto &[uid, list] : records) n += list.size();
    for (const auto &[uid, list] : off_cpu) n += list.size();
    return n;
  }
};

// The unsigned number at `"key":` in flat JSON; fails the test if it is not there.
inline uint64_t number_in(const std::string &json, const std::string &key) {
  const size_t at = json.find("\"" + key + "\":");
  EXPECT_NE(at, std::string::npos) << key << " in " << json;
  return at == std::string::npos ? 0 : std::stoull(json.substr(at + key.size() + 3));
}

namespace decoder_detail {

inline uint32_t crc32(const char *data, size_t size) {
  uint32_t c = ~0u;
  for (size_t i = 0; i < size; ++i) {
    c ^= static_cast<unsigned char>(data[i]);
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ c >> 1 : c >> 1;
  }
  return ~c;
}

template <typename T>
T at(const std::string &bytes, size_t offset) {
  T value;
  memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

inline void decode_records(const std::string &payload, uint64_t base, uint32_t uid, DecodedTrace *trace) {
  constexpr unsigned kOffCpu = 15;
  constexpr uint64_t kMask = (uint64_t{1} << 48) - 1;
  for (size_t i = 0; i + 16 <= payload.size(); i += 16) {
    const uint64_t w0 = at<uint64_t>(payload, i);
    uint64_t time = (base & ~kMask) | (w0 & kMask);
    if (time + (kMask >> 1) < base) time += kMask + 1;
    const unsigned kind = static_cast<unsigned>(w0 >> 60);
    auto &list = kind == kOffCpu ? trace->off_cpu : trace->records;
    list[uid].push_back({kind, static_cast<unsigned>(w0 >> 48 & 4095), time, at<uint64_t>(payload, i + 8)});
  }
}

// Section 1.3: bytes by place in their record, and w0 as a difference.
inline std::string as_records(const std::string &planes) {
  const size_t n = planes.size() / 16;
  std::string records(planes.size(), '\0');
  uint64_t before = 0;
  for (size_t i = 0; i < n; ++i) {
    for (size_t byte = 0; byte < 16; ++byte) records[16 * i + byte] = planes[byte * n + i];
    before += at<uint64_t>(records, 16 * i);
    memcpy(&records[16 * i], &before, sizeof before);
  }
  return records;
}

inline std::string unpacked(const std::string &payload, uint32_t how, uint32_t length) {
  std::string content(length, '\0');
  if (how == 1) {
    EXPECT_EQ(ZSTD_getFrameContentSize(payload.data(), payload.size()), length);
    EXPECT_EQ(ZSTD_findFrameCompressedSize(payload.data(), payload.size()), payload.size()) << "one frame";
    EXPECT_EQ(ZSTD_decompress(content.data(), length, payload.data(), payload.size()), length);
  } else {
    EXPECT_EQ(how, 2u);
    const int n =
        LZ4_decompress_safe(payload.data(), content.data(), static_cast<int>(payload.size()), static_cast<int>(length));
    EXPECT_EQ(n, static_cast<int>(length));
  }
  return content;
}

}  // namespace decoder_detail

inline DecodedTrace decode_trace(const std::string &path) {
  using namespace decoder_detail;
  DecodedTrace trace;
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  EXPECT_GE(bytes.size(), 64u) << path;
  if (bytes.size() < 64) return trace;
  EXPECT_EQ(bytes.substr(0, 8), "VPROFTRC");
  EXPECT_EQ(at<uint32_t>(bytes, 60), crc32(bytes.data(), 60));
  trace.version = at<uint32_t>(bytes, 8);
  uint32_t number = 0;
  size_t offset = 64;
  while (offset + 48 <= bytes.size()) {
    EXPECT_EQ(bytes.substr(offset, 4), "VPCK");
    EXPECT_EQ(at<uint32_t>(bytes, offset + 20), number++);
    EXPECT_EQ(at<uint32_t>(bytes, offset + 44), crc32(bytes.data() + offset, 44));
    const uint32_t kind = at<uint32_t>(bytes, offset + 4), subject = at<uint32_t>(bytes, offset + 16);
    const uint64_t length = at<uint64_t>(bytes, offset + 8);
    std::string payload = bytes.substr(offset + 48, length);
    EXPECT_EQ(payload.size(), length);
    EXPECT_EQ(at<uint32_t>(bytes, offset + 40), crc32(payload.data(), payload.size()));
    const uint32_t how = at<uint32_t>(bytes, offset + 32), content = at<uint32_t>(bytes, offset + 36);
    if (how != 0) {
      EXPECT_EQ(trace.version, 6u);
      payload = unpacked(payload, how, content);
      if (kind == 1) payload = as_records(payload);
      trace.packed_bytes += length, trace.unpacked_bytes += content, ++trace.compressed;
    } else {
      EXPECT_EQ(content, 0u);
    }
    if (kind == 1) decode_records(payload, at<uint64_t>(bytes, offset + 24), subject, &trace);
    if (kind == 2) trace.events.push_back(payload);
    if (kind == 3) trace.metadata[subject] = payload;
    offset += 48 + (length + 15) / 16 * 16;
  }
  EXPECT_EQ(offset, bytes.size()) << "a broken chunk at the end";
  return trace;
}

#endif
