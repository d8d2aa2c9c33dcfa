#include "compression.h"

#include <lz4.h>
#include <zstd.h>

#include <algorithm>

#include "row_of_bytes.h"

namespace vprof {

// What no chunk exceeds: so a reader knows how much memory one may take.
constexpr size_t kMostBytes = size_t{1} << 26;
constexpr size_t kMostTimes = 256;
// Most events are so short that a reader would have more work with them than a disk.
constexpr size_t kLeastBytes = 256;
// Level 3 gains 3 % and takes a quarter more time (bench/results/compression.md).
constexpr int kZstdLevel = 1;

bool parse_compression(const std::string &name, Compression *kind) {
  *kind = name == "zstd" ? Compression::kZstd : name == "lz4" ? Compression::kLz4 : Compression::kNone;
  return *kind != Compression::kNone;
}

namespace {

constexpr size_t kBytes = sizeof(Record);
constexpr size_t kAtOnce = 16;  // records: as many as a record has bytes, so that they are a square

// 16 records of 16 bytes, turned: each round interleaves the first half of the rows with the second.
void transpose(Row (&rows)[kAtOnce]) {
  for (int round = 0; round < 4; ++round) {
    Row next[kAtOnce];
    for (size_t i = 0; i < kAtOnce / 2; ++i) {
      next[2 * i] = interleave_low(rows[i], rows[i + kAtOnce / 2]);
      next[2 * i + 1] = interleave_high(rows[i], rows[i + kAtOnce / 2]);
    }
    std::copy_n(next, kAtOnce, rows);
  }
}

Row difference(const Record &record, uint64_t before) {
  return make_row(record.w0 - before, record.w1);
}

}  // namespace

void rearrange(const Record *records, size_t count, char *planes) {
  uint64_t before = 0;
  size_t first = 0;
  for (; first + kAtOnce <= count; first += kAtOnce) {
    Row rows[kAtOnce];
    for (size_t i = 0; i < kAtOnce; ++i) {
      rows[i] = difference(records[first + i], before);
      before = records[first + i].w0;
    }
    transpose(rows);
    for (size_t byte = 0; byte < kBytes; ++byte) store_row(planes + byte * count + first, rows[byte]);
  }
  for (; first < count; ++first) {
    char bytes[kBytes];
    store_row(bytes, difference(records[first], before));
    before = records[first].w0;
    for (size_t byte = 0; byte < kBytes; ++byte) planes[byte * count + first] = bytes[byte];
  }
}

Compressor::Compressor(Compression kind)
    : kind_(kind), zstd_(kind == Compression::kZstd ? ZSTD_createCCtx() : nullptr) {
  if (zstd_ != nullptr) ZSTD_CCtx_setParameter(zstd_, ZSTD_c_compressionLevel, kZstdLevel);
}

Compressor::~Compressor() {
  ZSTD_freeCCtx(zstd_);
}

static char *room_for(std::vector<char> *buffer, size_t bytes) {
  if (buffer->size() < bytes) buffer->resize(bytes);
  return buffer->data();
}

// As one piece: records are drained as one, so nothing is copied then.
const char *Compressor::gathered(const iovec *pieces, int count, size_t size) {
  for (int i = 0; i < count; ++i)
    if (pieces[i].iov_len == size) return static_cast<const char *>(pieces[i].iov_base);
  char *end = room_for(&whole_, size);
  for (int i = 0; i < count; ++i)
    end = std::copy_n(static_cast<const char *>(pieces[i].iov_base), pieces[i].iov_len, end);
  return whole_.data();
}

// Into packed_: how many bytes, 0 if it could not be done.
size_t Compressor::compressed(const char *content, size_t size) {
  if (kind_ == Compression::kLz4) {
    const int most = LZ4_compressBound(static_cast<int>(size));
    char *to = room_for(&packed_, static_cast<size_t>(most));
    return static_cast<size_t>(std::max(0, LZ4_compress_default(content, to, static_cast<int>(size), most)));
  }
  if (zstd_ == nullptr) return 0;
  const size_t most = ZSTD_compressBound(size);
  const size_t n = ZSTD_compress2(zstd_, room_for(&packed_, most), most, content, size);
  return ZSTD_isError(n) ? 0 : n;
}

iovec Compressor::pack(const iovec *pieces, int count, bool of_records) {
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += pieces[i].iov_len;
  if (size < kLeastBytes || size > kMostBytes) return {};
  const char *content = gathered(pieces, count, size);
  if (of_records) {
    rearrange(reinterpret_cast<const Record *>(content), size / kBytes, room_for(&rearranged_, size));
    content = rearranged_.data();
  }
  const size_t n = compressed(content, size);
  if (n == 0 || n >= size || size > kMostTimes * n) return {};
  return {packed_.data(), n};
}

}  // namespace vprof
