// Unit -> the text that goes before it: its switch bytes, its metadata chunk, and the fixed vprof_prelude.h.
//
// The bytes and the chunk are top-level assembly, so that they have their sections and alignment whatever the options
// (-fPIC, -flto, -g, -O0), and so that one symbol per unit works from inline functions too (runtime/abi/PROBE_ABI.md).
#pragma once

#include <string>

#include "Types.h"

namespace vprof {

/// Name of the unit's switch bytes: unique for the pair of object file and source.
std::string switchSymbol(const std::string &object, const std::string &source);

/// `fixed` is the text of vprof_prelude.h. `returns`: probes in bodies say where their function returns to, too.
std::string preludeText(const Unit &unit, const std::string &switches, const std::string &fixed, bool returns);

}  // namespace vprof
