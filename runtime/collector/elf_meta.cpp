#include "elf_meta.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <vector>

namespace vprof {

static bool read_at(std::ifstream &file, uint64_t offset, void *data, size_t size) {
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<bool>(file.read(static_cast<char *>(data), static_cast<std::streamsize>(size)));
}

namespace {

// The sections of a 64-bit ELF file, by name.
class Sections {
 public:
  explicit Sections(const std::string &path);
  // The content of the first section of this name; none if there is none, it lies outside of the file or is larger.
  std::optional<std::string> content(const char *name, uint64_t most);

 private:
  std::optional<std::string> content(const Elf64_Shdr &section, uint64_t most);

  std::ifstream file_;
  uint64_t size_ = 0;
  std::vector<Elf64_Shdr> sections_;
  std::string names_;
};

}  // namespace

// A large server has less than one; a sparse file may say anything.
constexpr uint64_t kMostMetadata = uint64_t{4} << 30;
constexpr uint64_t kMostNames = 64 << 20;
constexpr uint64_t kMostOfSection = 1 << 30;
constexpr uint64_t kMostComment = 64 << 10;
constexpr uint64_t kMostBuildId = 256;
constexpr size_t kMostCompilers = 16, kLongestCompiler = 200;

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

Sections::Sections(const std::string &path) : file_(open_regular(path)) {
  if (!file_.is_open()) return;
  size_ = static_cast<uint64_t>(file_.tellg());
  Elf64_Ehdr header;
  if (!read_at(file_, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof(Elf64_Shdr))
    return;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  if (sections.empty() || header.e_shstrndx >= sections.size() ||
      !read_at(file_, header.e_shoff, sections.data(), sections.size() * sizeof(Elf64_Shdr)))
    return;
  std::optional<std::string> names = content(sections[header.e_shstrndx], kMostNames);
  if (!names) return;
  names_ = std::move(*names);
  sections_ = std::move(sections);
}

std::optional<std::string> Sections::content(const Elf64_Shdr &section, uint64_t most) {
  if (section.sh_type == SHT_NOBITS || section.sh_size > most || section.sh_offset > size_ ||
      section.sh_size > size_ - section.sh_offset)
    return std::nullopt;
  std::string content(section.sh_size, '\0');
  if (!read_at(file_, section.sh_offset, content.data(), content.size())) return std::nullopt;
  return content;
}

std::optional<std::string> Sections::content(const char *name, uint64_t most) {
  for (const Elf64_Shdr &section : sections_)
    if (section.sh_name < names_.size() && strcmp(names_.c_str() + section.sh_name, name) == 0)
      return content(section, most);
  return std::nullopt;
}

std::optional<std::string> read_unit_metadata(const std::string &path) {
  Sections sections(path);
  std::optional<std::string> units = sections.content(".vprof_meta", kMostMetadata);
  const std::optional<std::string> texts = sections.content(".vprof_text", kMostMetadata);
  if (units && texts) *units += chunk_of_texts(*texts);
  return units;
}

std::vector<std::string> read_compilers(const std::string &path) {
  const std::string comment = Sections(path).content(".comment", kMostComment).value_or("");
  std::vector<std::string> found;
  for (size_t at = 0; at < comment.size() && found.size() < kMostCompilers;) {
    const std::string text = comment.c_str() + at;
    at += text.size() + 1;
    const bool is_new = std::find(found.begin(), found.end(), text) == found.end();
    if (!text.empty() && text.size() <= kLongestCompiler && is_new) found.push_back(text);
  }
  return found;
}

std::string read_build_id(const std::string &path) {
  const std::string note = Sections(path).content(".note.gnu.build-id", kMostBuildId).value_or("");
  constexpr size_t kBegin = sizeof(Elf64_Nhdr) + sizeof ELF_NOTE_GNU;
  Elf64_Nhdr header;
  if (note.size() < kBegin) return "";
  memcpy(&header, note.data(), sizeof header);
  if (header.n_type != NT_GNU_BUILD_ID || memcmp(note.data() + sizeof header, ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) != 0 ||
      header.n_descsz > note.size() - kBegin)
    return "";
  std::string id;
  for (size_t at = kBegin; at < kBegin + header.n_descsz; ++at)
    for (const int half : {note[at] >> 4, note[at] + 0}) id += "0123456789abcdef"[half & 15];
  return id;
}

std::vector<std::optional<std::string>> read_sections(const std::string &path, const std::vector<const char *> &names) {
  Sections sections(path);
  std::vector<std::optional<std::string>> contents;
  for (const char *name : names) contents.push_back(sections.content(name, kMostOfSection));
  return contents;
}

}  // namespace vprof
