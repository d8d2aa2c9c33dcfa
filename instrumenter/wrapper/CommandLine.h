// What a gcc- or clang-like command line asks for, as far as instrumenting needs to know.
//
// Nothing is checked and nothing is lost: unknown options stay untouched and in order, and a command line that is not
// understood (no input, several modes) is passed through as it is.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace vprof {

using Arguments = std::vector<std::string>;

enum class Mode {
  kPassThrough,  ///< nothing to instrument and nothing to link: the real compiler gets the arguments as they are
  kCompile,      ///< -c or -S
  kLink,         ///< makes a program or a shared library, perhaps from sources in one go
};

enum class Language { kC, kCxx };

/// A C or C++ source among the arguments, "-" if it is standard input. Preprocessed, assembler and other inputs are not
/// listed.
struct Source {
  size_t index;  ///< of its argument
  std::string path;
  Language language;
};

struct CommandLine {
  Arguments arguments;  ///< without the program's name, response files expanded
  Mode mode = Mode::kPassThrough;
  std::vector<Source> sources;
  std::string output;              ///< of -o, "" without
  bool assembly = false;           ///< -S
  bool relocatable = false;        ///< -r: the result is linked again
  bool no_libraries = false;       ///< -nostdlib, -nodefaultlibs
  bool dependencies = false;       ///< -MD or -MMD without -MF
  bool dependency_target = false;  ///< -MT or -MQ

  /// The arguments without inputs other than `source`, -x behind it, and -o.
  Arguments argumentsFor(const Source &source) const;

  /// The arguments for inputs that are neither sources nor libraries, without -o; empty if there are none.
  Arguments argumentsForOthers() const;

  /// The arguments with objects in place of sources, by the sources' indices. -x goes on for the other inputs only.
  Arguments withObjects(const std::map<size_t, std::string> &objects) const;

  /// Where the result for `source` goes if `-c` is in effect: -o, else the compiler's default name.
  std::string objectOf(const Source &source) const;

  std::vector<size_t> others;         ///< indices of inputs that are neither sources nor libraries
  std::vector<size_t> inputs;         ///< indices of all input arguments, sources included
  std::vector<size_t> languages;      ///< indices of the arguments of -x
  std::vector<size_t> output_option;  ///< indices of the arguments that make up -o
};

/// `cxx`: the program is a C++ compiler, which takes .c for C++. Unreadable response files stay as they are.
CommandLine parseCommandLine(const Arguments &arguments, bool cxx);

}  // namespace vprof
