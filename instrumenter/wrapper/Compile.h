// One source -> one object: rewritten if that works, else as it is, and then marked.
#pragma once

#include <string>

#include "CommandLine.h"
#include "Process.h"
#include "Tools.h"

namespace vprof {

/// One compilation without linking. `arguments` have exactly one source, -c or -S, and write to `object`.
struct Unit {
  Arguments arguments;
  Source source;
  std::string object;    ///< what the compiler writes
  std::string identity;  ///< absolute path that stands for the object from build to build
};

/// Compiles `unit`, with private files below `scratch` (which must exist). The result is that of the real compiler,
/// warnings and errors are those for the original text. Only a wrong descriptor fails what would compile without vprof.
Result compileUnit(const Unit &unit, const Tools &tools, const std::string &scratch);

}  // namespace vprof
