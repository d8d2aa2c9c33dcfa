// Marks an object that was compiled without vprof, so that it is counted (UNIT_METADATA.md, status "unchanged").
#pragma once

#include <string>

#include "CommandLine.h"

namespace vprof {

/// The metadata chunk of an unchanged unit. `reason` may hold any bytes.
std::string unchangedChunk(const Source &source, const std::string &reason);

/// Adds the chunk to `object` with objcopy; needs a file below `scratch`. Does nothing for what is no ELF object (-S,
/// -flto, -emit-llvm): such a unit is not counted.
void markUnchanged(const std::string &object, const Source &source, const std::string &reason,
                   const std::string &scratch);

}  // namespace vprof
