// The functions of a program or library by address: its ELF symbol table, read once.
#ifndef VPROF_SYMBOLS_H
#define VPROF_SYMBOLS_H

#include <cstdint>
#include <string>
#include <vector>

namespace vprof {

class Symbols {
 public:
  Symbols() = default;
  // Of the 64-bit ELF file `path`: its .symtab, or .dynsym if it is stripped; none if it cannot be read.
  static Symbols of(const std::string &path);

  // The demangled name of the function that has the link-time address, "" if none is known.
  std::string name_at(uint64_t address) const;

 private:
  struct Function {
    uint64_t begin, end;
    uint64_t name;  // place in texts_

    bool operator<(const Function &other) const {
      return begin != other.begin ? begin < other.begin : name < other.name;
    }
  };

  std::vector<Function> functions_;  // sorted
  std::string texts_;
};

}  // namespace vprof

#endif
