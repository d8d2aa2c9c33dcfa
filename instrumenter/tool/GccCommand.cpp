#include "GccCommand.h"

#include <set>

#include "clang/Basic/Version.h"
#include "clang/Driver/Options.h"
#include "clang/Driver/ToolChain.h"
#include "llvm/Option/Arg.h"
#include "llvm/Option/ArgList.h"
#include "llvm/Option/OptTable.h"
#if CLANG_VERSION_MAJOR >= 16
#include "llvm/TargetParser/Triple.h"
#else
#include "llvm/ADT/Triple.h"
#endif

namespace vprof {
namespace {

namespace options = clang::driver::options;

/// Without options that are gcc's alone and have their value in the next argument.
std::vector<std::string> withoutPairs(const std::vector<std::string> &command) {
  static const std::set<std::string> pairs = {"-aux-info", "-dumpbase", "-dumpbase-ext", "-dumpdir",
                                              "-specs",    "-wrapper",  "--param"};
  std::vector<std::string> result;
  for (size_t i = 0; i < command.size(); ++i)
    if (pairs.count(command[i]))
      ++i;
    else
      result.push_back(command[i]);
  return result;
}

bool isForParsing(const llvm::opt::Arg &argument) {
  const llvm::opt::Option &option = argument.getOption();
  if (option.getID() == options::OPT_UNKNOWN) return false;
  for (const auto id : {options::OPT_W_Group, options::OPT_g_Group, options::OPT_fsanitize_EQ, options::OPT_mtune_EQ,
                        options::OPT_clang_ignored_gcc_optimization_f_Group, options::OPT_flto_EQ})
    if (option.matches(id)) return false;
  return true;
}

/// A gcc for another processor has that in its name: aarch64-linux-gnu-gcc-12.
std::vector<std::string> targetOf(const std::string &compiler) {
  const std::string prefix = clang::driver::ToolChain::getTargetAndModeFromProgramName(compiler).TargetPrefix;
  if (prefix.empty() || llvm::Triple(prefix).isX86()) return {};
  return {"--target=" + prefix};
}

}  // namespace

std::vector<std::string> clangCommand(const std::vector<std::string> &command) {
  const std::vector<std::string> known = withoutPairs(command);
  std::vector<const char *> strings;
  for (size_t i = 1; i < known.size(); ++i) strings.push_back(known[i].c_str());
  unsigned missing_index, missing_count;
#if CLANG_VERSION_MAJOR >= 18
  const llvm::opt::InputArgList arguments = clang::driver::getDriverOptTable().ParseArgs(
      strings, missing_index, missing_count, llvm::opt::Visibility(options::ClangOption));
#else
  const llvm::opt::InputArgList arguments = clang::driver::getDriverOptTable().ParseArgs(
      strings, missing_index, missing_count, 0, options::NoDriverOption | options::CLOption);
#endif
  llvm::opt::ArgStringList kept;
  for (const llvm::opt::Arg *argument : arguments)
    if (isForParsing(*argument)) argument->render(arguments, kept);
  std::vector<std::string> result = {command[0], "-Wno-everything"};
  for (const std::string &option : targetOf(command[0])) result.push_back(option);
  result.insert(result.end(), kept.begin(), kept.end());
  return result;
}

}  // namespace vprof
