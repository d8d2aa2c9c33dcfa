// vprof-rewrite: reads one translation unit and writes its instrumented text below a directory.
//
//   vprof-rewrite --out DIR --prelude FILE --object PATH [--descriptor JSON] [--emit-tree DIR] -- COMPILER ARGUMENTS...
//
// Writes DIR/manifest (pairs of lines: file as the compiler names it, file that replaces it) and the files it names;
// the replacement of FILE is the unit's prelude. Called by vprof-cc, once per unit. Exit code 0: written; 1: the unit
// cannot be instrumented, standard error has the reason in one line; 3: the descriptor is wrong, standard error says
// how.
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>

#include "CallGraph.h"
#include "Descriptor.h"
#include "FunctionRewriter.h"
#include "Hooks.h"
#include "Prelude.h"
#include "SiteFinder.h"
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Frontend/FrontendActions.h"
#include "clang/Tooling/ArgumentsAdjusters.h"
#include "clang/Tooling/Tooling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/TargetParser/Host.h"

namespace {

constexpr int kCannotInstrument = 1, kWrongDescriptor = 3;

struct Options {
  std::string out, prelude, object, descriptor, emit_tree;
  std::vector<std::string> command;
};

struct Failure {
  int code = 0;
  std::string message;
};

Options parseOptions(int argc, char **argv) {
  Options options;
  const std::map<std::string, std::string *> names = {{"--out", &options.out},
                                                      {"--prelude", &options.prelude},
                                                      {"--object", &options.object},
                                                      {"--descriptor", &options.descriptor},
                                                      {"--emit-tree", &options.emit_tree}};
  int i = 1;
  for (; i + 1 < argc && std::string(argv[i]) != "--"; i += 2) {
    const auto name = names.find(argv[i]);
    if (name == names.end()) break;
    *name->second = argv[i + 1];
  }
  if (i < argc && std::string(argv[i]) == "--") options.command.assign(argv + i + 1, argv + argc);
  return options;
}

/// Keeps the first error of a compilation in one line, and the descriptor entry whose text it is in.
class FirstError : public clang::DiagnosticConsumer {
 public:
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &diagnostic) override {
    DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
    if (level < clang::DiagnosticsEngine::Error || !message.empty()) return;
    llvm::SmallString<256> text;
    diagnostic.FormatDiagnostic(text);
    message = text.str().str();
    if (!diagnostic.hasSourceManager() || diagnostic.getLocation().isInvalid()) return;
    const clang::SourceManager &sources = diagnostic.getSourceManager();
    const clang::PresumedLoc place = sources.getPresumedLoc(diagnostic.getLocation());
    const auto [file, offset] = sources.getDecomposedLoc(sources.getFileLoc(diagnostic.getLocation()));
    const llvm::StringRef buffer = sources.getBufferData(file);
    const size_t line_start = buffer.rfind('\n', offset) + 1;
    entry = vprof::entryAt(buffer.substr(line_start).split('\n').first.str(), offset - line_start);
    where = std::string(place.getFilename()) + ":" + std::to_string(place.getLine());
  }

  std::string message, where, entry;
};

bool writeFile(const std::string &path, llvm::StringRef text) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(text.data(), static_cast<std::streamsize>(text.size()));
  return bool(stream.flush());
}

/// Writes the texts and the manifest that tells the wrapper what replaces what.
bool writeOutput(const Options &options, const std::map<std::string, std::string> &texts) {
  std::string manifest;
  unsigned number = 0;
  for (const auto &[name, text] : texts) {
    const std::string path = options.out + "/" + std::to_string(number++) + llvm::sys::path::extension(name).str();
    if (!writeFile(path, text)) return false;
    manifest += name + "\n" + path + "\n";
  }
  return writeFile(options.out + "/manifest", manifest);
}

/// Mirrors the texts below a directory, by absolute path.
bool writeTree(const std::string &root, const std::map<std::string, std::string> &texts) {
  for (const auto &[name, text] : texts) {
    llvm::SmallString<128> path(name);
    llvm::sys::fs::make_absolute(path);
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    const std::string copy = root + path.str().str();
    if (llvm::sys::fs::create_directories(llvm::sys::path::parent_path(copy)) || !writeFile(copy, text)) return false;
  }
  return true;
}

class Consumer : public clang::ASTConsumer {
 public:
  Consumer(const Options &options, const vprof::Descriptor &descriptor, Failure &failure, bool &hooked)
      : options_(options), descriptor_(descriptor), failure_(failure), hooked_(hooked) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    if (context.getDiagnostics().hasErrorOccurred()) return;
    vprof::Unit unit = vprof::collectUnit(context);
    const auto untouchable = vprof::findUntouchable(unit, context);
    vprof::assignSites(unit, untouchable, descriptor_);
    llvm::Expected<vprof::Edits> edits = vprof::placeEdits(unit, untouchable, descriptor_, context);
    if (!edits) {
      failure_ = {kWrongDescriptor, llvm::toString(edits.takeError())};
      return;
    }
    hooked_ = !unit.matched.empty();
    write(unit, vprof::applyEdits(*edits, context));
  }

 private:
  void write(const vprof::Unit &unit, std::map<std::string, std::string> texts) {
    if (!options_.emit_tree.empty() && !writeTree(options_.emit_tree, texts)) {
      failure_ = {kCannotInstrument, "cannot write below " + options_.emit_tree};
      return;
    }
    auto fixed = llvm::MemoryBuffer::getFile(options_.prelude);
    if (!fixed) {
      failure_ = {kCannotInstrument, "cannot read " + options_.prelude};
      return;
    }
    texts[options_.prelude] =
        vprof::preludeText(unit, vprof::switchSymbol(options_.object, unit.file), (*fixed)->getBuffer().str());
    if (!writeOutput(options_, texts)) failure_ = {kCannotInstrument, "cannot write below " + options_.out};
  }

  const Options &options_;
  const vprof::Descriptor &descriptor_;
  Failure &failure_;
  bool &hooked_;
};

class Action : public clang::ASTFrontendAction {
 public:
  Action(const Options &options, const vprof::Descriptor &descriptor, Failure &failure, bool &hooked)
      : options_(options), descriptor_(descriptor), failure_(failure), hooked_(hooked) {}

  bool BeginSourceFileAction(clang::CompilerInstance &compiler) override {
    if (compiler.getLangOpts().CPlusPlus)
      failure_ = {kCannotInstrument, "c++"};
    else if (compiler.getTarget().getTriple().getArch() != llvm::Triple::x86_64)
      failure_ = {kCannotInstrument, "the target is not x86-64"};
    return failure_.code == 0;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &, llvm::StringRef) override {
    return std::make_unique<Consumer>(options_, descriptor_, failure_, hooked_);
  }

 private:
  const Options &options_;
  const vprof::Descriptor &descriptor_;
  Failure &failure_;
  bool &hooked_;
};

/// The command of the real compiler as a parse without output: warnings off, plugins and dependency files left out.
std::vector<std::string> parseCommand(const std::vector<std::string> &command) {
  using namespace clang::tooling;
  auto adjuster = combineAdjusters(getClangStripOutputAdjuster(), getClangStripDependencyFileAdjuster());
  adjuster = combineAdjusters(adjuster, getStripPluginsAdjuster());
  adjuster = combineAdjusters(adjuster, getClangSyntaxOnlyAdjuster());
  const CommandLineArguments more = {"-w", "-fno-caret-diagnostics", "-resource-dir", VPROF_RESOURCE_DIR};
  adjuster = combineAdjusters(adjuster, getInsertArgumentAdjuster(more, ArgumentInsertPosition::BEGIN));
  return adjuster(command, "");
}

bool parse(const std::vector<std::string> &command, std::unique_ptr<clang::FrontendAction> action, FirstError &errors) {
  const auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions());
  clang::tooling::ToolInvocation invocation(command, std::move(action), files.get());
  invocation.setDiagnosticConsumer(&errors);
  return invocation.run();
}

/// Options that make the compiler read the rewritten text, as the wrapper gives them.
std::vector<std::string> withRewrittenText(std::vector<std::string> command, const Options &options) {
  std::ifstream manifest(options.out + "/manifest");
  command.insert(command.begin() + 1, {"-include", options.prelude});
  for (std::string from, to; std::getline(manifest, from) && std::getline(manifest, to);)
    command.insert(command.begin() + 1, {"-Xclang", "-remap-file", "-Xclang", from + ";" + to});
  return command;
}

Failure checkHooks(const std::vector<std::string> &command, const Options &options) {
  FirstError errors;
  if (parse(withRewrittenText(command, options), std::make_unique<clang::SyntaxOnlyAction>(), errors)) return {};
  if (errors.entry.empty()) return {kCannotInstrument, errors.where + ": " + errors.message};
  return {kWrongDescriptor, errors.entry + ": " + errors.message + " (" + errors.where + ")"};
}

Failure rewrite(const Options &options) {
  vprof::Descriptor descriptor;
  if (!options.descriptor.empty()) {
    llvm::Expected<vprof::Descriptor> read = vprof::readDescriptor(options.descriptor);
    if (!read) return {kWrongDescriptor, llvm::toString(read.takeError())};
    descriptor = std::move(*read);
  }
  const std::vector<std::string> command = parseCommand(options.command);
  Failure failure;
  FirstError errors;
  bool hooked = false;
  const bool parsed = parse(command, std::make_unique<Action>(options, descriptor, failure, hooked), errors);
  if (failure.code) return failure;
  if (!parsed) return {kCannotInstrument, "clang cannot parse it: " + errors.where + ": " + errors.message};
  return hooked ? checkHooks(command, options) : Failure();
}

}  // namespace

int main(int argc, char **argv) {
  const Options options = parseOptions(argc, argv);
  if (options.command.empty() || options.out.empty() || options.prelude.empty()) {
    std::fprintf(stderr, "usage: vprof-rewrite --out DIR --prelude FILE --object PATH -- COMPILER ARGUMENTS...\n");
    return 2;
  }
  const Failure failure = rewrite(options);
  if (failure.code) std::fprintf(stderr, "%s\n", failure.message.c_str());
  return failure.code;
}
