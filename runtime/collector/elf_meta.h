// Reads the unit metadata (instrumenter/UNIT_METADATA.md) out of an executable or shared library.
#ifndef VPROF_ELF_META_H
#define VPROF_ELF_META_H

#include <optional>
#include <string>
#include <vector>

namespace vprof {

// The contents of some sections of the 64-bit ELF file `path`, in that order: none of those that it does not have, or
// that cannot be read. Never reads outside the file, whatever its headers say.
std::vector<std::optional<std::string>> read_sections(const std::string &path, const std::vector<const char *> &wanted);

// The content of section `.vprof_meta` of the 64-bit ELF file `path`, and behind it `.vprof_text` as a chunk; none if
// the file cannot be read, is not such a file, or has no such section.
std::optional<std::string> read_unit_metadata(const std::string &path);

}  // namespace vprof

#endif
