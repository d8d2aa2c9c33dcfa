// Payloads of chunks, made smaller (TRACE_FORMAT.md section 1.3).
//
//     records --rearranged--> bytes that repeat --Zstandard or LZ4--> payload
//     events, unit metadata -------------------^
#ifndef VPROF_COMPRESSION_H
#define VPROF_COMPRESSION_H

#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <vector>

#include "../src/format.h"

struct ZSTD_CCtx_s;

namespace vprof {

// As in the header of a chunk.
enum class Compression : uint32_t { kNone = 0, kZstd = 1, kLz4 = 2 };

// What --compress may name. False: nothing of ours.
bool parse_compression(const std::string &name, Compression *kind);

// `planes` gets, of `count` records, all first bytes, all second bytes, ..., with each w0 less the one before it.
// REQUIRES: room for count * 16 bytes.
void rearrange(const Record *records, size_t count, char *planes);

class Compressor {
 public:
  explicit Compressor(Compression kind);
  ~Compressor();
  Compressor(const Compressor &) = delete;
  Compressor &operator=(const Compressor &) = delete;

  Compression kind() const { return kind_; }

  // The payload that stands for these pieces, valid until the next call; empty if they are to be stored as they are.
  // `of_records`: they are whole records.
  iovec pack(const iovec *pieces, int count, bool of_records);

 private:
  const char *gathered(const iovec *pieces, int count, size_t size);
  size_t compressed(const char *content, size_t size);

  const Compression kind_;
  ZSTD_CCtx_s *const zstd_;  // null: of another kind, or there was no memory for it
  std::vector<char> whole_, rearranged_, packed_;
};

}  // namespace vprof

#endif
