// One trace file: header and chunks (TRACE_FORMAT.md section 1). Every chunk is one write, so a reader of the growing
// file and a reader after kill -9 see whole chunks but for the last.
#ifndef VPROF_TRACE_WRITER_H
#define VPROF_TRACE_WRITER_H

#include <sys/uio.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compression.h"

namespace vprof {

struct ChunkHeader;

enum class ChunkKind : uint32_t { kRecords = 1, kEvent = 2, kUnitMetadata = 3 };

// What part of a limited file a chunk may use: closing events the reserve, the end what they leave of it in any case.
enum class Room { kOrdinary, kClosing, kEnd };

// What is written more than once, as it is written.
struct Prepared {
  std::string bytes;
  uint32_t crc = 0;
  Compression compression = Compression::kNone;
  uint32_t length = 0;  // before it was compressed
};

class TraceWriter {
 public:
  TraceWriter() = default;
  TraceWriter(const TraceWriter &) = delete;
  TraceWriter &operator=(const TraceWriter &) = delete;
  ~TraceWriter() { close(); }

  // Files opened from now on have at most `bytes` bytes, 0 = no limit; the last `reserve` of them are for closing.
  void limit(uint64_t bytes, uint64_t reserve) {
    limit_ = bytes;
    reserve_ = reserve;
  }

  // Files opened from now on have compressed chunks. REQUIRES: none is open.
  void compress(Compression kind) {
    if (kind != Compression::kNone) compressor_.emplace(kind);
  }

  // Creates the regular file `path` (0600, overwritten if it exists; no link). Returns "" or one line that says what
  // failed; then no file is open.
  std::string open(const std::string &path, uint64_t number, const uint8_t session_id[16]);
  void close();
  bool is_open() const { return fd_ >= 0; }
  const std::string &path() const { return path_; }
  const std::string &failure() const { return failure_; }
  // Whether a chunk did not fit, or `bytes` more would not.
  bool is_full(uint64_t bytes) const { return full_ || (limit_ != 0 && size_ + bytes > limit_ - reserve_); }

  // Appends a chunk of the given pieces. False if it does not fit below the limit, and ever after but for closing
  // events; or if it could not be written (disk full): then the file ends with its last whole chunk, takes nothing
  // more, and failure() says why.
  bool chunk(ChunkKind kind, uint32_t subject, uint64_t base_ticks, const iovec *pieces, int count,
             Room room = Room::kOrdinary);
  bool event(std::string_view json, Room room = Room::kOrdinary);
  // Unit metadata is large, and the same in every file of a session: it is compressed and summed once.
  Prepared prepare(std::string bytes);
  bool metadata(uint32_t module, const Prepared &prepared);

 private:
  std::string create(const std::string &path);
  bool append(ChunkHeader header, std::vector<iovec> payload, Room room);
  bool take_room(uint64_t bytes, Room room);
  bool write_all(std::vector<iovec> &pieces);
  void give_up();

  std::optional<Compressor> compressor_;
  std::string path_;
  int fd_ = -1;
  std::string failure_;
  uint64_t limit_ = 0;
  uint64_t reserve_ = 0;
  bool full_ = false;
  uint32_t chunks_ = 0;
  uint64_t size_ = 0;  // of the whole chunks written
};

}  // namespace vprof

#endif
