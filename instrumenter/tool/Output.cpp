#include "Output.h"

#include <fstream>

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace vprof {
bool writeFile(const std::string &path, const std::string &text) {
  std::ofstream stream(path, std::ios::binary);
  stream << text;
  return bool(stream.flush());
}

bool writeForCompiler(const std::string &directory, const Texts &texts) {
  std::string manifest;
  unsigned number = 0;
  for (const auto &[name, text] : texts) {
    const std::string path = directory + "/" + std::to_string(number++) + llvm::sys::path::extension(name).str();
    if (!writeFile(path, text)) return false;
    manifest += name + "\n" + path + "\n";
  }
  return writeFile(directory + "/manifest", manifest);
}

bool writeTree(const std::string &root, const Texts &texts) {
  for (const auto &[name, text] : texts) {
    llvm::SmallString<128> path(name);
    llvm::sys::fs::make_absolute(path);
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    const std::string copy = root + path.str().str();
    if (llvm::sys::fs::create_directories(llvm::sys::path::parent_path(copy)) || !writeFile(copy, text)) return false;
  }
  return true;
}

}  // namespace vprof
