#include "Compile.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "UnchangedChunk.h"

namespace vprof {
namespace {

constexpr int kRewriterWrongDescriptor = 3;

Arguments join(const Arguments &first, const Arguments &second) {
  Arguments result = first;
  result.insert(result.end(), second.begin(), second.end());
  return result;
}

/// Options go before "--", behind which the compiler takes everything for an input.
Arguments withOptions(const Arguments &arguments, const Arguments &options) {
  Arguments result = arguments;
  result.insert(std::find(result.begin(), result.end(), "--"), options.begin(), options.end());
  return result;
}

std::string firstLine(const std::string &text) {
  return text.substr(0, text.find('\n'));
}

/// The line of the first error, where lines about includes and instantiations come first.
std::string firstError(const std::string &text) {
  const size_t error = text.find("error: ");
  if (error == std::string::npos) return firstLine(text);
  return firstLine(text.substr(text.rfind('\n', error) + 1));
}

/// Options that make clang read the rewritten text. The prelude comes behind the user's own -include, so that a
/// precompiled header named there stays the first.
Arguments remapOptions(const Tools &tools, const std::string &scratch) {
  Arguments options = {"-idirafter", tools.library, "-include", kPreludeName};
  std::ifstream manifest(scratch + "/manifest");
  for (std::string from, to; std::getline(manifest, from) && std::getline(manifest, to);)
    options.insert(options.end(), {"-Xclang", "-remap-file", "-Xclang", from + ";" + to});
  return options;
}

class Compilation {
 public:
  Compilation(const Unit &unit, const Tools &tools, const std::string &scratch)
      : unit_(unit), tools_(tools), scratch_(scratch) {
    plain_ = join(tools.compiler, withOptions(unit.arguments, {"-idirafter", tools.include}));
  }

  Result run() {
    std::string reason;
    for (const bool spare_lambdas : {false, true}) {
      reason = rewrite(spare_lambdas);
      if (pendingSignal() || wrong_descriptor_) return failed();
      if (!reason.empty()) break;
      const Result result = compileRewritten();
      if (result.ok() || said_ || pendingSignal()) return result;
      reason = "the rewritten text does not compile: " + firstError(result.captured);
      if (unit_.source.language == Language::kC) break;
    }
    const Result result = vprof::run(plain_, Capture::kNothing);
    if (result.ok()) markUnchanged(unit_.object, unit_.source, reason, scratch_);
    return result;
  }

 private:
  /// As the compiler does after an error: not what is no file, such as /dev/null.
  void removeObject() const {
    std::error_code ignored;
    if (std::filesystem::is_regular_file(unit_.object, ignored)) std::filesystem::remove(unit_.object, ignored);
  }

  static Result failed() {
    Result result;
    result.code = 1;
    return result;
  }

  /// The reason why there is no rewritten text, "" if there is.
  std::string rewrite(bool spare_lambdas) {
    if (!tools_.remaps) return "the real compiler is not clang";
    Arguments command = {tools_.rewriter()};
    if (spare_lambdas) command.push_back("--spare-lambdas");
    command = join(command, {"--out", scratch_, "--prelude", tools_.prelude(), "--object", unit_.identity});
    if (!tools_.descriptor.empty()) command = join(command, {"--descriptor", tools_.descriptor});
    if (!tools_.emit_tree.empty()) command = join(command, {"--emit-tree", tools_.emit_tree});
    command.push_back("--");
    const Result result = vprof::run(join(command, plain_), Capture::kErrors);
    if (result.ok()) return "";
    if (result.code == kRewriterWrongDescriptor) {
      std::fprintf(stderr, "vprof-cc: descriptor: %s\n", firstLine(result.captured).c_str());
      wrong_descriptor_ = true;
    }
    if (result.signal) return "vprof-rewrite ended by signal " + std::to_string(result.signal);
    return firstLine(result.captured);
  }

  /// Silence means that there is nothing to say about the original either. Otherwise the rewritten text is compiled
  /// without warnings (-Werror must not see ours), and what is said, and the verdict, are those of a parse of the
  /// original.
  Result compileRewritten() {
    const Arguments rewritten = withOptions(plain_, remapOptions(tools_, scratch_));
    const Result first = vprof::run(rewritten, Capture::kErrors);
    if (first.ok() && first.captured.empty()) return first;
    if (!first.ok()) {
      const Result second = vprof::run(withOptions(rewritten, {"-w"}), Capture::kErrors);
      if (!second.ok()) return second;
    }
    said_ = true;
    const Result verdict = vprof::run(withOptions(plain_, {"-fsyntax-only"}), Capture::kNothing);
    if (!verdict.ok()) removeObject();
    return verdict;
  }

  const Unit &unit_;
  const Tools &tools_;
  const std::string &scratch_;
  Arguments plain_;
  bool said_ = false;  ///< the verdict on the original is out
  bool wrong_descriptor_ = false;
};

}  // namespace

Result compileUnit(const Unit &unit, const Tools &tools, const std::string &scratch) {
  return Compilation(unit, tools, scratch).run();
}

}  // namespace vprof
