#include "NoOps.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "ElfBytes.h"

namespace vprof {
namespace {

constexpr char kSection[] = "__patchable_function_entries";
constexpr char kFive[] = "\x90\x90\x90\x90\x90";
constexpr char kOne[] = "\x0f\x1f\x44\x00\x08";
constexpr char kLanding[] = "\xf3\x0f\x1e\xfa";  // endbr64

class Object {
 public:
  /// `bytes` must outlive this.
  explicit Object(std::string &bytes) : bytes_(bytes) {
    header_ = within<Elf64_Ehdr>(bytes, 0, 1);
    if (!header_ || std::memcmp(header_->e_ident, ELFMAG, SELFMAG) != 0 || header_->e_ident[EI_CLASS] != ELFCLASS64 ||
        header_->e_type != ET_REL || header_->e_machine != EM_X86_64)
      return;
    sections_ = within<Elf64_Shdr>(bytes, header_->e_shoff, 1);
    // With very many sections their number is in the first one.
    count_ = sections_ && header_->e_shnum == 0 ? sections_->sh_size : header_->e_shnum;
    names_ = sections_ && header_->e_shstrndx == SHN_XINDEX ? sections_->sh_link : header_->e_shstrndx;
    sections_ = within<Elf64_Shdr>(bytes, header_->e_shoff, count_);
  }

  /// Where in the bytes the compiler put no-ops; false if that cannot be told. Nobody else reads its table of them,
  /// which names all functions and so would keep the unused ones: it is left out of the program.
  bool takeNoOps(std::vector<size_t> &found) {
    if (!sections_ || names_ >= count_) return false;
    for (Elf64_Shdr *section = sections_; section < sections_ + count_; ++section) {
      if (section->sh_type != SHT_RELA || section->sh_info >= count_ || !isTable(sections_[section->sh_info])) continue;
      if (!takeNoOps(*section, found)) return false;
      for (Elf64_Shdr *unwanted : {&sections_[section->sh_info], section}) {
        unwanted->sh_type = SHT_NULL;
        unwanted->sh_flags = unwanted->sh_link = unwanted->sh_info = 0;
      }
    }
    return true;
  }

 private:
  bool isTable(const Elf64_Shdr &section) {
    const char *name = within<char>(bytes_, sections_[names_].sh_offset + section.sh_name, sizeof kSection);
    return name && std::memcmp(name, kSection, sizeof kSection) == 0;
  }

  /// Each entry of the table is an address, so one relocation.
  bool takeNoOps(const Elf64_Shdr &relocations, std::vector<size_t> &found) {
    const uint64_t count = relocations.sh_size / sizeof(Elf64_Rela);
    const auto *each = within<Elf64_Rela>(bytes_, relocations.sh_offset, count);
    if (!each || relocations.sh_link >= count_) return false;
    const Elf64_Shdr &symbols = sections_[relocations.sh_link];
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t number = ELF64_R_SYM(each[i].r_info);
      const auto *symbol = within<Elf64_Sym>(bytes_, symbols.sh_offset + number * sizeof(Elf64_Sym), 1);
      if (!symbol || ELF64_R_TYPE(each[i].r_info) != R_X86_64_64) return false;
      const uint64_t section = sectionOf(*symbol, number);
      if (section == SHN_UNDEF || section >= count_) return false;
      found.push_back(sections_[section].sh_offset + symbol->st_value + each[i].r_addend);
    }
    return true;
  }

  /// The number of a section beyond 65,279 is in a table of its own.
  uint64_t sectionOf(const Elf64_Sym &symbol, uint64_t number) {
    if (symbol.st_shndx != SHN_XINDEX) return symbol.st_shndx;
    for (const Elf64_Shdr *section = sections_; section < sections_ + count_; ++section) {
      if (section->sh_type != SHT_SYMTAB_SHNDX) continue;
      const auto *index = within<uint32_t>(bytes_, section->sh_offset + number * sizeof(uint32_t), 1);
      return index ? *index : SHN_UNDEF;
    }
    return SHN_UNDEF;
  }

  std::string &bytes_;
  const Elf64_Ehdr *header_ = nullptr;
  Elf64_Shdr *sections_ = nullptr;
  uint64_t count_ = 0, names_ = 0;
};

bool startsWith(const std::string &text, const char *beginning) {
  return text.compare(0, std::strlen(beginning), beginning) == 0;
}

/// Options with which a wrapper between caller and body was not tried, or that change what it may rely on.
bool isUncertain(const std::string &argument) {
  static const char *const exact[] = {"-pg",           "-m32",
                                      "-mx32",         "-mfentry",
                                      "-mnop-mcount",  "-mrecord-mcount",
                                      "-fprofile",     "-fwhole-program",
                                      "-fsplit-stack", "-fno-asynchronous-unwind-tables"};
  static const char *const families[] = {"-flto",
                                         "-fprofile-",
                                         "-fauto-profile",
                                         "-fbranch-probabilities",
                                         "-fpatchable-function-entry",
                                         "-finstrument-functions",
                                         "-fsanitize",
                                         "-fplugin",
                                         "-fno-unwind-tables",
                                         "-ffixed-",
                                         "-fcall-",
                                         "-mcmodel=",
                                         "-mregparm",
                                         "-mabi=",
                                         "-fipa-",
                                         "-mindirect-branch",
                                         "-fopenmp",
                                         "-fcoverage",
                                         "-ftest-coverage",
                                         "-mmanual-endbr",
                                         "-save-temps",
                                         "--coverage"};
  return std::any_of(std::begin(exact), std::end(exact), [&](const char *other) { return argument == other; }) ||
         std::any_of(std::begin(families), std::end(families),
                     [&](const char *family) { return startsWith(argument, family); });
}

/// By another file: a compiler's cache may share the one that is there.
bool replace(const std::string &object, const std::string &bytes) {
  namespace fs = std::filesystem;
  const std::string beside = object + ".joined";
  std::ofstream file(beside, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  std::error_code error;
  if (file) fs::permissions(beside, fs::status(object, error).permissions(), error);
  if (file && !error) fs::rename(beside, object, error);
  if (file && !error) return true;
  fs::remove(beside, error);
  return false;
}

}  // namespace

bool mayHaveNoOps(const Arguments &compiler, const CommandLine &line) {
  return !line.assembly && std::none_of(compiler.begin(), compiler.end(), isUncertain) &&
         std::none_of(line.arguments.begin(), line.arguments.end(), isUncertain);
}

Arguments optionsForGcc() {
  return {"-fno-ipa-ra", "-fno-ipa-sra", "-fno-ipa-stack-alignment", "-fno-crossjumping", "-fno-tree-tail-merge"};
}

Arguments optionsForClang() {
  return {"-mllvm", "-funcspec-max-iters=0"};
}

bool joinNoOps(const std::string &object) {
  std::string bytes;
  {
    std::ifstream file(object, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::vector<size_t> places;
  if (!Object(bytes).takeNoOps(places)) return false;
  for (size_t place : places) {
    const char *begin = within<char>(bytes, place, 4);
    if (begin && std::memcmp(begin, kLanding, 4) == 0) place += 4;
    char *no_ops = within<char>(bytes, place, 5);
    if (!no_ops || std::memcmp(no_ops, kFive, 5) != 0) return false;
    std::memcpy(no_ops, kOne, 5);
  }
  return places.empty() || replace(object, bytes);
}

}  // namespace vprof
