// What compilers need beyond the user's options so that probes may stand before bodies (VPROF_PROBES=entry, light).
#pragma once

#include <string>

#include "CommandLine.h"

namespace vprof {

/// Whether a function that gcc compiles so has its arguments where its type says, with `optionsForGcc`, and ends in an
/// object whose no-ops can be joined. `compiler`: the words before the arguments, which may be options.
bool mayHaveNoOps(const Arguments &compiler, const CommandLine &line);

/// gcc passes arguments of functions that only the unit calls elsewhere, keeps values in registers that they do not
/// change, and calls them with another alignment of the stack: not with these. Nor does it make one call of two at
/// different lines, which could not be told apart.
Arguments optionsForGcc();

/// Clang 19 makes copies of functions for certain arguments, and at -O3 passes what is behind a pointer to them instead
/// of it: it makes no copies with these.
Arguments optionsForClang();

/// Makes each five no-ops of one byte, which gcc puts before a body, one of five: one store can then change it. False
/// if the object is not as gcc writes it for x86-64; it is left as it was then.
bool joinNoOps(const std::string &object);

}  // namespace vprof
