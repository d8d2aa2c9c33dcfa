#include "elf_meta.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <vector>

namespace vprof {

static bool read_at(std::ifstream &file, uint64_t offset, void *data, size_t size) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(static_cast<char *>(data), static_cast<std::streamsize>(size)));
}

static std::optional<std::string> read_section(std::ifstream &file, uint64_t file_size, const Elf64_Shdr &section) {
  constexpr uint64_t kMost = uint64_t{4} << 30;  // a large server has less than one; a sparse file may say anything
  if (section.sh_type == SHT_NOBITS || section.sh_size > kMost || section.sh_offset > file_size ||
      section.sh_size > file_size - section.sh_offset)
    return std::nullopt;
  std::string content(section.sh_size, '\0');
  if (!read_at(file, section.sh_offset, content.data(), content.size())) return std::nullopt;
  return content;
}

static std::optional<std::string> find_section(std::ifstream &file, uint64_t file_size,
                                               const std::vector<Elf64_Shdr> &sections, const std::string &names,
                                               const char *name) {
  for (const Elf64_Shdr &section : sections)
    if (section.sh_name < names.size() && strcmp(names.c_str() + section.sh_name, name) == 0)
      return read_section(file, file_size, section);
  return std::nullopt;
}

// The texts that the units share, as a chunk of its own.
static std::string chunk_of_texts(const std::string &texts) {
  constexpr uint32_t kVersion = 2;
  const auto length = static_cast<uint32_t>(texts.size());
  std::string chunk(24, '\0');
  memcpy(chunk.data(), "VPTX", 4);
  memcpy(chunk.data() + 4, &kVersion, sizeof kVersion);
  memcpy(chunk.data() + 20, &length, sizeof length);
  return chunk + texts;
}

// The path comes from the module table, where a program may have written any: to open a pipe could wait for ever, to
// open a device do anything.
static std::ifstream open_regular(const std::string &path) {
  std::ifstream file;
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  struct stat st;
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
    file.open("/proc/self/fd/" + std::to_string(fd), std::ios::binary | std::ios::ate);
  if (fd >= 0) close(fd);
  return file;
}

std::vector<std::optional<std::string>> read_sections(const std::string &path,
                                                      const std::vector<const char *> &wanted) {
  std::vector<std::optional<std::string>> contents(wanted.size());
  std::ifstream file = open_regular(path);
  if (!file.is_open()) return contents;
  const uint64_t file_size = static_cast<uint64_t>(file.tellg());
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return contents;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (sections.empty() || header.e_shstrndx >= sections.size() ||
      !read_at(file, header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)))
    return contents;
  const std::optional<std::string> names = read_section(file, file_size, sections[header.e_shstrndx]);
  for (size_t i = 0; names && i < wanted.size(); ++i)
    contents[i] = find_section(file, file_size, sections, *names, wanted[i]);
  return contents;
}

std::optional<std::string> read_unit_metadata(const std::string &path) {
  auto sections = read_sections(path, {".vprof_meta", ".vprof_text"});
  std::optional<std::string> &units = sections[0], &texts = sections[1];
  if (units && texts) *units += chunk_of_texts(*texts);
  return units;
}

}  // namespace vprof
