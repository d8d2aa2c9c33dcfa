#include "UnchangedChunk.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "Process.h"

namespace vprof {
namespace {

/// A JSON string; bytes outside ASCII become '?', which keeps it UTF-8 whatever the source's encoding.
std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    char escape[8];
    if (c == '"' || c == '\\')
      result += std::string("\\") + c;
    else if (byte < 0x20)
      std::snprintf(escape, sizeof escape, "\\u%04x", byte), result += escape;
    else
      result += byte < 0x7f ? c : '?';
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

std::string unchangedChunk(const std::string &source, const std::string &language, const std::string &reason) {
  const std::string payload = "{\"schema\": \"vprof-unit/1\", \"unit\": " + quoted(source) +
                              ", \"language\": " + quoted(language) +
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

void markUnchanged(const std::string &object, const std::string &source, const std::string &language,
                   const std::string &reason, const std::string &scratch) {
  if (!isElf(object)) return;
  const std::string file = scratch + "/chunk";
  std::ofstream(file, std::ios::binary) << unchangedChunk(std::filesystem::absolute(source), language, reason);
  run({VPROF_OBJCOPY, "--add-section", ".vprof_meta=" + file, object}, Capture::kErrors);
}

}  // namespace vprof
