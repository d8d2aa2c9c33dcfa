#include "UnchangedChunk.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ElfBytes.h"
#include "Process.h"

namespace vprof {
namespace {

constexpr char kSection[] = ".vprof_meta";

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

/// Says in the 64-bit ELF object `bytes` that --gc-sections keeps the chunk. GNU ld believes it only of objects for GNU
/// systems.
void retainChunk(std::string &bytes) {
  auto *header = within<Elf64_Ehdr>(bytes, 0, 1);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64) return;
  auto *sections = within<Elf64_Shdr>(bytes, header->e_shoff, header->e_shnum);
  if (!sections || header->e_shstrndx >= header->e_shnum) return;
  const uint64_t names = sections[header->e_shstrndx].sh_offset;
  for (Elf64_Shdr *section = sections; section < sections + header->e_shnum; ++section) {
    const char *name = within<char>(bytes, names + section->sh_name, sizeof kSection);
    if (!name || std::memcmp(name, kSection, sizeof kSection) != 0) continue;
    section->sh_flags |= SHF_GNU_RETAIN;
    if (header->e_ident[EI_OSABI] == ELFOSABI_NONE) header->e_ident[EI_OSABI] = ELFOSABI_GNU;
  }
}

/// objcopy cannot mark a section as retained.
void retainChunkOf(const std::string &object) {
  std::ifstream file(object, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  retainChunk(bytes);
  std::ofstream(object, std::ios::binary | std::ios::in) << bytes;
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
  const std::string section = std::string(kSection) + "=" + file;
  if (run({VPROF_OBJCOPY, "--add-section", section, object}, Capture::kErrors).ok()) retainChunkOf(object);
}

}  // namespace vprof
