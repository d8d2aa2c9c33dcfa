#include "trace_writer.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../src/format.h"

namespace vprof {

// TRACE_FORMAT.md section 1.1.
struct FileHeader {
  char magic[8] = {'V', 'P', 'R', 'O', 'F', 'T', 'R', 'C'};
  uint32_t version = kTraceVersion;
  uint32_t size = 64;
  uint64_t number = 0;
  uint8_t session_id[16] = {};
  uint8_t zero[20] = {};
  uint32_t crc = 0;
};
static_assert(sizeof(FileHeader) == 64);

// TRACE_FORMAT.md section 1.2.
struct ChunkHeader {
  char magic[4] = {'V', 'P', 'C', 'K'};
  uint32_t kind = 0;
  uint64_t length = 0;
  uint32_t subject = 0;
  uint32_t number = 0;
  uint64_t base_ticks = 0;
  Compression compression = Compression::kNone;
  uint32_t unpacked_length = 0;
  uint32_t payload_crc = 0;
  uint32_t header_crc = 0;
};
static_assert(sizeof(ChunkHeader) == 48);

// A trace of that name may be mapped by a reader, who keeps it as it is: it is replaced, not emptied. One that may not
// be written stays: the open that follows says so.
static void remove_older(const std::string &path) {
  struct stat st{};
  if (lstat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && access(path.c_str(), W_OK) == 0) unlink(path.c_str());
}

// The folder may be another user's, who can put anything there at any time: a link to a file of ours is not followed,
// and nothing is changed of a file that has another name elsewhere. What could not be removed is emptied. Returns "" or
// what failed.
std::string TraceWriter::create(const std::string &path) {
  // Not blocked by a pipe without a reader.
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (fd_ < 0 && errno == ELOOP) return "a symbolic link: name the file itself";
  if (fd_ < 0 && errno != ENXIO) return strerror(errno);
  struct stat st{};
  if (fd_ < 0 || fstat(fd_, &st) != 0 || !S_ISREG(st.st_mode)) return "not a regular file, and a trace must be one";
  if (st.st_uid != geteuid()) return "another user's file: remove it";
  if (st.st_nlink != 1) return "a file with several names: remove it";
  fchmod(fd_, 0600);  // an older file may have been open to others
  return ftruncate(fd_, 0) == 0 ? "" : strerror(errno);
}

std::string TraceWriter::open(const std::string &path, uint64_t number, const uint8_t session_id[16]) {
  remove_older(path);
  const std::string refusal = create(path);
  if (!refusal.empty()) {
    close();
    return "cannot write " + path + ": " + refusal;
  }
  path_ = path;
  failure_.clear();
  full_ = false;
  chunks_ = 0;
  size_ = 0;
  FileHeader header;
  if (compressor_) header.version = kCompressedTraceVersion;
  header.number = number;
  memcpy(header.session_id, session_id, sizeof header.session_id);
  header.crc = libdeflate_crc32(0, &header, offsetof(FileHeader, crc));
  std::vector<iovec> pieces = {{&header, sizeof header}};
  if (write_all(pieces)) return "";
  const std::string error = "cannot write " + path + ": " + strerror(errno);
  close();
  return error;
}

void TraceWriter::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

// Advances size_ only if everything was written. Changes `pieces`.
bool TraceWriter::write_all(std::vector<iovec> &pieces) {
  size_t total = 0, first = 0;
  for (const iovec &p : pieces) total += p.iov_len;
  for (size_t left = total; left != 0;) {
    const ssize_t n = writev(fd_, &pieces[first], static_cast<int>(pieces.size() - first));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    size_t done = static_cast<size_t>(n);
    left -= done;
    while (first < pieces.size() && done >= pieces[first].iov_len) done -= pieces[first++].iov_len;
    if (first == pieces.size()) break;
    pieces[first].iov_base = static_cast<char *>(pieces[first].iov_base) + done;
    pieces[first].iov_len -= done;
  }
  size_ += total;
  return true;
}

void TraceWriter::give_up() {
  failure_ = strerror(errno);
  if (ftruncate(fd_, static_cast<off_t>(size_)) != 0) return;  // then a reader stops at the broken chunk
}

constexpr uint64_t kEndReserve = 1024;

bool TraceWriter::take_room(uint64_t bytes, Room room) {
  if (limit_ == 0 || room == Room::kEnd) return true;
  if (room == Room::kClosing) return size_ + bytes <= limit_ - kEndReserve;
  full_ = is_full(bytes);
  return !full_;
}

// Completes the header: number, length and its own checksum.
bool TraceWriter::append(ChunkHeader header, std::vector<iovec> payload, Room room) {
  if (fd_ < 0 || !failure_.empty()) return false;
  static char padding[16] = {};
  for (const iovec &piece : payload) header.length += piece.iov_len;
  if (!take_room(sizeof header + (header.length + 15) / 16 * 16, room)) return false;
  header.number = chunks_;
  header.header_crc = libdeflate_crc32(0, &header, offsetof(ChunkHeader, header_crc));
  payload.insert(payload.begin(), {&header, sizeof header});
  if (header.length % 16 != 0) payload.push_back({padding, 16 - header.length % 16});
  if (!write_all(payload)) {
    give_up();
    return false;
  }
  ++chunks_;
  return true;
}

bool TraceWriter::chunk(ChunkKind kind, uint32_t subject, uint64_t base_ticks, const iovec *pieces, int count,
                        Room room) {
  ChunkHeader header;
  header.kind = static_cast<uint32_t>(kind);
  header.subject = subject;
  header.base_ticks = base_ticks;
  std::vector<iovec> payload;
  iovec packed{};
  if (compressor_) packed = compressor_->pack(pieces, count, kind == ChunkKind::kRecords);
  if (packed.iov_len != 0) {
    header.compression = compressor_->kind();
    for (int i = 0; i < count; ++i) header.unpacked_length += static_cast<uint32_t>(pieces[i].iov_len);
    pieces = &packed;
    count = 1;
  }
  for (int i = 0; i < count; ++i) {
    if (pieces[i].iov_len == 0) continue;
    header.payload_crc = libdeflate_crc32(header.payload_crc, pieces[i].iov_base, pieces[i].iov_len);
    payload.push_back(pieces[i]);
  }
  return append(header, std::move(payload), room);
}

Prepared TraceWriter::prepare(std::string bytes) {
  Prepared prepared{std::move(bytes), 0, Compression::kNone, 0};
  const iovec piece = {prepared.bytes.data(), prepared.bytes.size()};
  const iovec packed = compressor_ ? compressor_->pack(&piece, 1, false) : iovec{};
  if (packed.iov_len != 0) {
    prepared.compression = compressor_->kind();
    prepared.length = static_cast<uint32_t>(piece.iov_len);
    prepared.bytes.assign(static_cast<const char *>(packed.iov_base), packed.iov_len);
    prepared.bytes.shrink_to_fit();
  }
  prepared.crc = libdeflate_crc32(0, prepared.bytes.data(), prepared.bytes.size());
  return prepared;
}

bool TraceWriter::metadata(uint32_t module, const Prepared &prepared) {
  ChunkHeader header;
  header.kind = static_cast<uint32_t>(ChunkKind::kUnitMetadata);
  header.subject = module;
  header.compression = prepared.compression;
  header.unpacked_length = prepared.length;
  header.payload_crc = prepared.crc;
  return append(header, {{const_cast<char *>(prepared.bytes.data()), prepared.bytes.size()}}, Room::kOrdinary);
}

bool TraceWriter::event(std::string_view json, Room room) {
  const iovec piece = {const_cast<char *>(json.data()), json.size()};
  return chunk(ChunkKind::kEvent, 0, 0, &piece, 1, room);
}

}  // namespace vprof
