#include "symbols.h"

#include <cxxabi.h>
#include <elf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "elf_meta.h"

namespace vprof {

Symbols Symbols::of(const std::string &path) {
  Symbols symbols;
  auto sections = read_sections(path, {".symtab", ".strtab"});
  if (!sections[0] || !sections[1]) sections = read_sections(path, {".dynsym", ".dynstr"});
  if (!sections[0] || !sections[1]) return symbols;
  symbols.texts_ = std::move(*sections[1]);
  const std::string &table = *sections[0];
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    Elf64_Sym symbol;
    memcpy(&symbol, table.data() + at, sizeof symbol);
    const bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF;
    if (is_function && symbol.st_size != 0 && symbol.st_name < symbols.texts_.size())
      symbols.functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, symbol.st_name});
  }
  std::sort(symbols.functions_.begin(), symbols.functions_.end());
  return symbols;
}

std::string Symbols::name_at(uint64_t address) const {
  const auto after = std::upper_bound(functions_.begin(), functions_.end(), Function{address, 0, ~uint64_t{0}});
  if (after == functions_.begin() || address >= std::prev(after)->end) return "";
  const char *name = texts_.c_str() + std::prev(after)->name;
  int status = -1;
  char *demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const std::string text = status == 0 ? demangled : name;
  free(demangled);
  return text;
}

}  // namespace vprof
