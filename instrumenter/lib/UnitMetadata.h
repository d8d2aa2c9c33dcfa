// Unit -> its chunk in the section .vprof_meta, and the texts of it in .vprof_text (UNIT_METADATA.md, schema
// vprof-unit/2).
#pragma once

#include <string>
#include <vector>

#include "Types.h"

namespace vprof {

/// What a chunk says, by where it stands: texts that other units may say as well, and the unit's own.
struct Chunk {
  std::vector<std::string> functions;  ///< JSON objects, in the order of their sites
  std::vector<std::string> symbols;    ///< JSON objects: what the functions call and the unit's own payload names
  std::string payload;                 ///< JSON object
};

Chunk chunkOf(const Unit &unit);

/// GNU assembly of the chunk, lines separated by "\n". Retained ("R"), as the switch bytes it names: GNU ld's
/// --gc-sections would drop it. `switches` is the symbol of the switch bytes, "" if there are none. Bytes that are not
/// plain text are octal escapes, so it survives as a C string in any source encoding.
std::string assemblyOf(const Chunk &chunk, const std::string &switches, unsigned sites);

}  // namespace vprof
