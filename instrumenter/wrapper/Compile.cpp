#include "Compile.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "Commands.h"
#include "NoOps.h"
#include "UnchangedChunk.h"

namespace vprof {
namespace {

constexpr int kRewriterWrongDescriptor = 3;

Arguments join(const Arguments &first, const Arguments &second) {
  Arguments result = first;
  result.insert(result.end(), second.begin(), second.end());
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

std::optional<std::string> readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Options that make clang read the rewritten text. There are none for gcc, which is given it as a unit.
Arguments remapOptions(const std::string &scratch) {
  Arguments options;
  std::ifstream manifest(scratch + "/manifest");
  for (std::string from, to; std::getline(manifest, from) && std::getline(manifest, to);)
    options.insert(options.end(), {"-Xclang", "-remap-file", "-Xclang", from + ";" + to});
  return options;
}

class Compilation {
 public:
  Compilation(const Unit &unit, const Tools &tools, const std::string &scratch)
      : unit_(unit), tools_(tools), scratch_(scratch), commands_(commandsFor(unit, tools, scratch)) {}

  Result run() {
    std::string reason = preprocess();
    if (reason.empty())
      if (const std::optional<Result> result = compileInstrumented(reason)) return *result;
    if (pendingSignal()) return failed();
    const Result result = vprof::run(commands_.plain, Capture::kNothing);
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

  /// The reason why there is no text to rewrite, "" if there is. What is said here is said of the original.
  std::string preprocess() {
    if (unit_.source.path == "-") return "it is read from standard input";  // which can be read only once
    if (tools_.family == Family::kOther) return "the real compiler is neither clang nor gcc";
    if (commands_.preprocess.empty()) return "";
    const Result result = vprof::run(commands_.preprocess, Capture::kErrors);
    silent_ = result.captured.empty();
    return result.ok() ? "" : "the preprocessor fails: " + firstError(result.captured);
  }

  /// The reason why there is no rewritten text, "" if there is.
  std::string rewrite(bool before_body, bool spare_lambdas) {
    Arguments command = {tools_.rewriter()};
    if (spare_lambdas) command.push_back("--spare-lambdas");
    if (tools_.is_rewriters_clang) command.push_back("--messages");
    if (before_body) command.push_back(tools_.probes == Probes::kLight ? "--light" : "--before-body");
    command = join(command, {"--out", scratch_, "--prelude", tools_.prelude(), "--object", unit_.identity});
    if (!tools_.descriptor.empty()) command = join(command, {"--descriptor", tools_.descriptor});
    if (!tools_.emit_tree.empty()) command = join(command, {"--emit-tree", tools_.emit_tree});
    if (!commands_.text.empty()) command = join(command, {"--gcc-text", commands_.text});
    command.push_back("--");
    const Result result = vprof::run(join(command, commands_.parse), Capture::kOutput);
    if (result.ok() && !commands_.text.empty()) keepTimestamp();
    if (result.ok()) return "";
    if (result.code == kRewriterWrongDescriptor) {
      std::fprintf(stderr, "vprof-cc: descriptor: %s\n", firstLine(result.captured).c_str());
      wrong_descriptor_ = true;
    }
    if (result.signal) return "vprof-rewrite ended by signal " + std::to_string(result.signal);
    return firstLine(result.captured);
  }

  /// For __TIMESTAMP__.
  void keepTimestamp() const {
    std::error_code ignored;
    const auto time = std::filesystem::last_write_time(unit_.source.path, ignored);
    std::filesystem::last_write_time(scratch_ + "/text", time, ignored);
  }

  /// The result, or nothing and the reason why the unit cannot be instrumented.
  std::optional<Result> compileInstrumented(std::string &reason) {
    if (tools_.probes != Probes::kBody && !commands_.with_no_ops.empty()) {
      if (const std::optional<Result> result = compileInstrumented(reason, /*before_body=*/true)) return result;
    }
    return compileInstrumented(reason, /*before_body=*/false);
  }

  std::optional<Result> compileInstrumented(std::string &reason, bool before_body) {
    for (const bool spare_lambdas : {false, true}) {
      reason = rewrite(before_body, spare_lambdas);
      if (pendingSignal() || wrong_descriptor_) return failed();
      if (!reason.empty()) break;
      const Result result = compileRewritten(before_body);
      if (result.ok() && before_body && tools_.family == Family::kGcc && !joinNoOps(unit_.object)) return std::nullopt;
      if (result.ok() || said_ || pendingSignal()) return result;
      reason = "the rewritten text does not compile: " + firstError(result.captured);
      if (unit_.source.language == Language::kC) break;
    }
    return std::nullopt;
  }

  /// What the rewriter's parse of the original had to say is printed, if it is the compiler's own. If not, silence
  /// about the rewritten text means that there is nothing to say about the original either. Otherwise the rewritten
  /// text is compiled without warnings (-Werror must not see ours), and what is said, and the verdict, are those on the
  /// original.
  Result compileRewritten(bool before_body) {
    Arguments rewritten = before_body ? commands_.with_no_ops : commands_.rewritten;
    if (tools_.family == Family::kClang) rewritten = withOptions(rewritten, remapOptions(scratch_));
    const std::optional<std::string> messages = readFile(scratch_ + "/messages");
    if (messages) rewritten = withOptions(rewritten, {"-Xclang", "-w"});  // but the driver's
    const Result first = vprof::run(rewritten, Capture::kErrors);
    if (first.ok() && first.captured.empty() && silent_) {
      if (messages) std::fputs(messages->c_str(), stderr);
      return first;
    }
    if (!first.ok()) {
      const Result second = vprof::run(withOptions(rewritten, {"-w"}), Capture::kErrors);
      if (!second.ok()) return second;
    }
    said_ = true;
    const Result verdict = vprof::run(commands_.verdict, Capture::kNothing);
    if (!verdict.ok()) removeObject();
    return verdict;
  }

  const Unit &unit_;
  const Tools &tools_;
  const std::string &scratch_;
  const Commands commands_;
  bool silent_ = true;  ///< nothing was said so far
  bool said_ = false;   ///< the verdict on the original is out
  bool wrong_descriptor_ = false;
};

}  // namespace

Result compileUnit(const Unit &unit, const Tools &tools, const std::string &scratch) {
  return Compilation(unit, tools, scratch).run();
}

}  // namespace vprof
