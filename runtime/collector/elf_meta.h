// Reads the unit metadata (instrumenter/UNIT_METADATA.md) out of an executable or shared library.
#ifndef VPROF_ELF_META_H
#define VPROF_ELF_META_H

#include <optional>
#include <string>

namespace vprof {

// The content of section `.vprof_meta` of the 64-bit ELF file `path`, and behind it `.vprof_text` as a chunk; none if
// the file cannot be read, is not such a file, or has no such section. Never reads outside the file, whatever its
// headers say.
std::optional<std::string> read_unit_metadata(const std::string &path);

}  // namespace vprof

#endif
