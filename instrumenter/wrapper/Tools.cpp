#include "Tools.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "Process.h"

namespace vprof {
namespace {

std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> splitWords(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// Asks the compiler who it is.
void identify(Tools &tools) {
  std::vector<std::string> command = tools.compiler;
  command.insert(command.end(), {"-E", "-dM", "-x", "c", "/dev/null"});
  const std::string macros = run(command, Capture::kOutput).captured;
  const auto defines = [&](const std::string &text) { return macros.find("#define " + text) != std::string::npos; };
  tools.is_rewriters_clang = defines("__clang_version__ \"" VPROF_CLANG_VERSION " ");
  if (defines("__clang__ "))
    tools.family = Family::kClang;
  else
    tools.family = defines("__GNUC__ ") && !defines("__INTEL_COMPILER ") ? Family::kGcc : Family::kOther;
}

}  // namespace

std::vector<std::string> Tools::bareCompiler() const {
  auto proper = compiler.begin();  // the last word before options
  while (proper + 1 != compiler.end() && (proper + 1)->compare(0, 1, "-") != 0) ++proper;
  return {proper, compiler.end()};
}

Tools findTools(bool cxx) {
  namespace fs = std::filesystem;
  Tools tools;
  tools.compiler = splitWords(environment(cxx ? "VPROF_REAL_CXX" : "VPROF_REAL_CC"));
  if (tools.compiler.empty()) {
    tools.compiler = {cxx ? VPROF_DEFAULT_CXX : VPROF_DEFAULT_CC};
    tools.is_rewriters_clang = VPROF_DEFAULT_IS_REWRITERS;
  } else {
    identify(tools);
  }
  std::error_code ignored;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  tools.library = prefix / "lib/vprof";
  tools.include = prefix / "include";
  tools.emit_tree = environment("VPROF_EMIT_TREE");
  tools.descriptor = environment("VPROF_DESCRIPTOR");
  return tools;
}

}  // namespace vprof
