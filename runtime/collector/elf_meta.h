// Reads out of an executable or shared library: the unit metadata (instrumenter/UNIT_METADATA.md), its compilers, its
// build ID, any section.
#ifndef VPROF_ELF_META_H
#define VPROF_ELF_META_H

#include <optional>
#include <string>
#include <vector>

namespace vprof {

// The content of section `.vprof_meta` of the 64-bit ELF file `path`, and behind it `.vprof_text` as a chunk; none if
// the file cannot be read, is not such a file, or has no such section. Never reads outside the file, whatever its
// headers say.
std::optional<std::string> read_unit_metadata(const std::string &path);

// What compiled and linked the ELF file `path`, as compilers and linkers say it in section `.comment`, each once; the
// startup files of the C library are among what was compiled. None if it does not say. Reads as the above.
std::vector<std::string> read_compilers(const std::string &path);

// What the linker made the ELF file `path` known by, in hexadecimal (section `.note.gnu.build-id`); empty if it did
// not. Reads as the above.
std::string read_build_id(const std::string &path);

// The contents of some sections, in that order; none of those that the file does not have. Reads as the above.
std::vector<std::optional<std::string>> read_sections(const std::string &path, const std::vector<const char *> &names);

}  // namespace vprof

#endif
