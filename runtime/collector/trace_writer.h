// One trace file: header and chunks (TRACE_FORMAT.md section 1). Every chunk is one write, so a reader of the growing
// file and a reader after kill -9 see whole chunks but for the last.
#ifndef VPROF_TRACE_WRITER_H
#define VPROF_TRACE_WRITER_H

#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vprof {

struct ChunkHeader;

enum class ChunkKind : uint32_t { kRecords = 1, kEvent = 2, kUnitMetadata = 3 };

class TraceWriter {
 public:
  TraceWriter() = default;
  TraceWriter(const TraceWriter &) = delete;
  TraceWriter &operator=(const TraceWriter &) = delete;
  ~TraceWriter() { close(); }

  // Creates `path` (0600, overwritten if it exists). Returns "" or one line that says what failed; then no file is
  // open.
  std::string open(const std::string &path, uint64_t number, const uint8_t session_id[16]);
  void close();
  bool is_open() const { return fd_ >= 0; }
  const std::string &path() const { return path_; }

  // Appends a chunk of the given pieces. False if it could not be stored (disk full, size limit): said once on standard
  // error; the file then ends with its last whole chunk and takes nothing more.
  bool chunk(ChunkKind kind, uint32_t subject, uint64_t base_ticks, const iovec *pieces, int count);
  bool event(std::string_view json);
  // Appends unit metadata whose CRC-32 is known: it is large, and the same in every file of a session.
  bool metadata(uint32_t module, std::string_view bytes, uint32_t crc);

 private:
  bool append(ChunkHeader header, std::vector<iovec> payload);
  bool write_all(std::vector<iovec> &pieces);
  void give_up();

  std::string path_;
  int fd_ = -1;
  bool failed_ = false;
  uint32_t chunks_ = 0;
  uint64_t size_ = 0;  // of the whole chunks written
};

}  // namespace vprof

#endif
