// vprof-cc and vprof-c++: a C or C++ compiler that puts vprof's probes into what it compiles.
//
//   CC=vprof-cc CXX=vprof-c++ make
//
// The command line is the real compiler's, plus --emit-tree DIR (rewritten sources for reading). Environment:
//   VPROF_REAL_CC, VPROF_REAL_CXX  the real compiler
//   VPROF_DESCRIPTOR               JSON file of the target's descriptor
//   VPROF_EMIT_TREE                as --emit-tree
//   VPROF_DISABLE=1                only the real compiler
//   VPROF_PROBES=entry|light|body  where probes stand (entry): ../README.md
//   VPROF_RUNTIME=found|linked|preloaded
//                                  how programs get libvprof (found): docs/containers.md
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>

#include "CommandLine.h"
#include "Compile.h"
#include "Link.h"
#include "Process.h"
#include "Tools.h"

namespace {

using namespace vprof;

#ifdef VPROF_CXX
constexpr bool kCxx = true;
#else
constexpr bool kCxx = false;
#endif

/// Takes --emit-tree out of the arguments.
void takeEmitTree(Arguments &arguments, Tools &tools) {
  for (auto i = arguments.begin(); i != arguments.end();) {
    if (*i == "--emit-tree" && i + 1 != arguments.end()) {
      tools.emit_tree = *(i + 1);
      i = arguments.erase(i, i + 2);
    } else {
      ++i;
    }
  }
  if (!tools.emit_tree.empty()) tools.emit_tree = std::filesystem::absolute(tools.emit_tree);
}

/// The place among `choices` of what a variable of the environment says: the first one without. None, and told, for
/// another word.
std::optional<size_t> takeChoice(const char *variable, const std::vector<std::string> &choices) {
  const char *value = std::getenv(variable);
  const std::string choice = value && *value ? value : choices.front();
  const auto found = std::find(choices.begin(), choices.end(), choice);
  if (found != choices.end()) return found - choices.begin();
  std::string known;
  for (const std::string &other : choices) known += (known.empty() ? "" : " nor ") + other;
  std::fprintf(stderr, "vprof-cc: %s is neither %s: %s\n", variable, known.c_str(), choice.c_str());
  return std::nullopt;
}

/// False, and told, if the environment asks for what there is not.
bool takeChoices(Tools &tools) {
  const auto place = takeChoice("VPROF_PROBES", {"entry", "light", "body"});
  const auto runtime = takeChoice("VPROF_RUNTIME", {"found", "linked", "preloaded"});
  if (!place || !runtime) return false;
  tools.probes = static_cast<Probes>(*place);
  tools.runtime = static_cast<Runtime>(*runtime);
  return true;
}

Arguments command(const Tools &tools, const Arguments &arguments) {
  Arguments result = tools.compiler;
  result.insert(result.end(), arguments.begin(), arguments.end());
  return result;
}

/// Then the real compiler does nothing but say so.
bool isInputMissing(const CommandLine &line) {
  std::vector<size_t> indices = line.others;
  for (const Source &source : line.sources) indices.push_back(source.index);
  return std::any_of(indices.begin(), indices.end(), [&](size_t index) {
    std::error_code ignored;
    return line.arguments[index] != "-" && !std::filesystem::exists(line.arguments[index], ignored);
  });
}

std::string stemOf(const std::string &path) {
  return std::filesystem::path(path).replace_extension();
}

/// For a source that is compiled and linked in one go: -c, and the dependency file where one go would put it.
Arguments compileOnly(const CommandLine &line, const Source &source, const std::string &object, Family family) {
  Arguments arguments = line.argumentsFor(source);
  Arguments more = {"-c", "-o", object};
  if (family == Family::kClang) more.push_back("-Qunused-arguments");
  if (line.dependencies) {
    const bool named = !line.output.empty();
    more.insert(more.end(), {"-MF", stemOf(named ? line.output : source.path) + ".d"});
    if (!line.dependency_target) more.insert(more.end(), {"-MT", named ? line.output : stemOf(source.path) + ".o"});
  }
  arguments.insert(arguments.begin(), more.begin(), more.end());
  return arguments;
}

Arguments compileAs(const CommandLine &line, const Source &source) {
  Arguments arguments = line.argumentsFor(source);
  if (!line.output.empty()) arguments.insert(arguments.begin(), {"-o", line.output});
  return arguments;
}

/// Compiles all sources; stops at the first that fails. `objects` are those of a link, by the source's index.
Result compileAll(const CommandLine &line, const Tools &tools, const std::string &scratch,
                  std::map<size_t, std::string> &objects) {
  namespace fs = std::filesystem;
  Result result;
  for (const Source &source : line.sources) {
    const std::string own = scratch + "/" + std::to_string(source.index);
    fs::create_directory(own);
    const bool link = line.mode == Mode::kLink;
    const std::string object = link ? own + ".o" : line.objectOf(source);
    const std::string identity = fs::absolute(link && line.output.empty() ? "a.out" : line.objectOf(source));
    const Arguments arguments = link ? compileOnly(line, source, object, tools.family) : compileAs(line, source);
    result = compileUnit({arguments, source, object, identity}, tools, own);
    if (!result.ok()) break;
    if (link) objects[source.index] = object;
  }
  return result;
}

Result build(const CommandLine &line, const Tools &tools) {
  const TemporaryDirectory scratch;
  if (!scratch.ok()) return run(command(tools, line.arguments), Capture::kNothing);
  std::map<size_t, std::string> objects;
  const Result result = compileAll(line, tools, scratch.path(), objects);
  if (!result.ok() || pendingSignal()) return result;
  if (line.mode == Mode::kCompile)
    return line.others.empty() ? result : run(command(tools, line.argumentsForOthers()), Capture::kNothing);
  return run(command(tools, linkArguments(line, line.withObjects(objects), tools)), Capture::kNothing);
}

/// What the wrapper adds; the real compiler's own help follows.
void printHelp(const Tools &tools) {
  std::string compiler;
  for (const std::string &word : tools.compiler) compiler += (compiler.empty() ? "" : " ") + word;
  std::printf(
      "vprof-%s: the compiler below, with vprof's probes in what it compiles (off until `vprof record` or `vprof\n"
      "drill` switches them on). Your sources stay as they are. It takes the compiler's options, and:\n"
      "  --emit-tree DIR                also write the rewritten sources there, for reading\n"
      "Environment:\n"
      "  VPROF_REAL_CC, VPROF_REAL_CXX  the real compiler (now: %s)\n"
      "  VPROF_DESCRIPTOR               JSON file of the target's descriptor (`vprof instrument` sets it)\n"
      "  VPROF_EMIT_TREE                as --emit-tree\n"
      "  VPROF_PROBES=entry|light|body  where probes stand (entry: before bodies, each call is seen; light costs\n"
      "                                 less while probes are off, and does not see calls that the compiler\n"
      "                                 expands; body: in bodies)\n"
      "  VPROF_RUNTIME=found|linked|preloaded\n"
      "                                 how programs get libvprof (found: they look for it where they are recorded;\n"
      "                                 linked: they need it to start; preloaded: `vprof record` brings it)\n"
      "  VPROF_DISABLE=1                compile without vprof\n\n",
      kCxx ? "c++" : "cc", compiler.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  Tools tools = findTools(kCxx);
  if (tools.compiler.empty()) {
    std::fprintf(stderr, "vprof-%s: there is no compiler here: install clang or gcc, or name one in VPROF_REAL_%s\n",
                 kCxx ? "c++" : "cc", kCxx ? "CXX" : "CC");
    return 127;
  }
  Arguments arguments(argv + 1, argv + argc);
  takeEmitTree(arguments, tools);
  const char *disable = std::getenv("VPROF_DISABLE");
  if (disable && std::string(disable) == "1") return replaceProcess(command(tools, arguments));
  if (!takeChoices(tools)) return 1;
  if (arguments == Arguments{"--help"}) printHelp(tools);
  const CommandLine line = parseCommandLine(arguments, kCxx);
  if (line.mode == Mode::kPassThrough || isInputMissing(line)) return replaceProcess(command(tools, arguments));
  if (line.sources.empty()) return replaceProcess(command(tools, linkArguments(line, arguments, tools)));
  return endLike(build(line, tools));
}
