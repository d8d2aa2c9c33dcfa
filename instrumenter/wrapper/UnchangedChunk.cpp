#include "UnchangedChunk.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

#include "Process.h"

namespace vprof {
namespace {

/// A JSON string; control characters become blanks and bytes outside ASCII '?', which keeps it UTF-8 whatever it was.
std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else
      result += byte < 0x20 ? ' ' : byte < 0x7f ? c : '?';
  }
  return result + '"';
}

template <typename Integer>
void appendLittleEndian(std::string &bytes, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i) bytes += static_cast<char>(value >> (8 * i));
}

bool isElf(const std::string &path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  return std::string(magic, sizeof magic) == "\177ELF";
}

}  // namespace

std::string unchangedChunk(const Source &source, const std::string &reason) {
  const std::string payload =
      "{\"schema\": \"vprof-unit/1\", \"unit\": " + quoted(std::filesystem::absolute(source.path)) +
      ", \"language\": " + (source.language == Language::kC ? "\"c\"" : "\"c++\"") +
      ", \"status\": \"unchanged\", \"reason\": " + quoted(reason) +
      ", \"functions\": [], \"symbols\": [], \"taken\": [], \"matched\": []}";
  std::string chunk = "VPUM";
  appendLittleEndian<uint32_t>(chunk, 1);
  appendLittleEndian<uint64_t>(chunk, 0);
  appendLittleEndian<uint32_t>(chunk, 0);
  appendLittleEndian<uint32_t>(chunk, static_cast<uint32_t>(payload.size()));
  chunk += payload;
  chunk.resize((chunk.size() + 7) / 8 * 8);
  return chunk;
}

void markUnchanged(const std::string &object, const Source &source, const std::string &reason,
                   const std::string &scratch) {
  if (!isElf(object)) return;
  const std::string file = scratch + "/chunk";
  std::ofstream(file, std::ios::binary) << unchangedChunk(source, reason);
  run({VPROF_OBJCOPY, "--add-section", ".vprof_meta=" + file, object}, Capture::kErrors);
}

}  // namespace vprof
