#include "Tools.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "Process.h"

namespace vprof {
namespace {

/// Of the rewriter's clang: probes before bodies were tried with that one.
constexpr bool kIsTried = std::string_view(VPROF_CLANG_VERSION).substr(0, 3) == "19.";

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

/// Whether PATH has this program.
bool isInstalled(const std::string &program) {
  std::istringstream path(environment("PATH"));
  for (std::string folder; std::getline(path, folder, ':');)
    if (access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

/// The first of these that is installed, as a command. One alone is taken without a look.
std::vector<std::string> firstInstalled(const std::string &compilers) {
  std::vector<std::string> known = splitWords(compilers);
  if (known.size() == 1) return known;
  for (const std::string &compiler : known)
    if (isInstalled(compiler)) return {compiler};
  return {};
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
  const bool is_tried = tools.is_rewriters_clang ? kIsTried : tools.family == Family::kGcc && defines("__GNUC__ 12\n");
  tools.may_wrap = is_tried && defines("__x86_64__ ");
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
    tools.compiler = firstInstalled(cxx ? VPROF_DEFAULT_CXX : VPROF_DEFAULT_CC);
    tools.is_rewriters_clang = VPROF_DEFAULT_IS_REWRITERS;
  }
  tools.may_wrap = tools.is_rewriters_clang && kIsTried;
  if (!tools.is_rewriters_clang && !tools.compiler.empty()) identify(tools);
  std::error_code ignored;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
  tools.library = prefix / "lib/vprof";
  tools.include = prefix / "include";
  tools.emit_tree = environment("VPROF_EMIT_TREE");
  tools.descriptor = environment("VPROF_DESCRIPTOR");
  return tools;
}

}  // namespace vprof
