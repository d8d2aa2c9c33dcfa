// Unit -> the payload and the assembly of its chunk in the section .vprof_meta (UNIT_METADATA.md, schema vprof-unit/1).
#pragma once

#include <string>

#include "Types.h"

namespace vprof {

/// The JSON object of an instrumented unit.
std::string payloadOf(const Unit &unit);

/// GNU assembly of the chunk, lines separated by "\n". Retained ("R"), as the switch bytes it names: GNU ld's
/// --gc-sections would drop it. `switches` is the symbol of the switch bytes, "" if there are none. Bytes that are not
/// plain text are octal escapes, so it survives as a C string in any source encoding.
std::string assemblyOfChunk(const std::string &payload, const std::string &switches, unsigned sites);

}  // namespace vprof
