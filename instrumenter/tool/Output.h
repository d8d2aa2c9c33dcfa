// Rewritten texts on disk: numbered files with a manifest for the compiler, a mirrored tree for people.
#pragma once

#include <map>
#include <string>

namespace vprof {

/// Rewritten text by file name, as the compiler names the file.
using Texts = std::map<std::string, std::string>;

/// False if that fails.
bool writeFile(const std::string &path, const std::string &text);

/// Writes the texts below `directory`, which exists, and `directory`/manifest: pairs of lines, the file and what
/// replaces it. False if that fails.
bool writeForCompiler(const std::string &directory, const Texts &texts);

/// Writes each text to `root` + its absolute path. False if that fails.
bool writeTree(const std::string &root, const Texts &texts);

}  // namespace vprof
