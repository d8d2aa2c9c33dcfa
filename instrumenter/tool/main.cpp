// vprof-rewrite: reads one translation unit and writes its instrumented text below a directory.
//
//   vprof-rewrite [--spare-lambdas] [--messages] [--before-body] [--light] --out DIR --prelude FILE --object PATH
//   [--descriptor JSON] [--emit-tree DIR] [--gcc-text FILE] -- COMPILER ARGUMENTS...
//
// Writes DIR/manifest (pairs of lines: file as the compiler names it, file that replaces it) and the files it names;
// the replacement of the prelude's FILE is the unit's prelude. With --gcc-text, the unit as gcc reads it
// (CompilerText.h), also DIR/text: the same instrumented. With --messages, if COMPILER is this clang, DIR/messages:
// what it says about the unit, unless that cannot be known. Called by vprof-cc, once per unit. Exit code 0: written; 1:
// the unit cannot be instrumented, standard output has the reason in one line; 2: wrong usage; 3: the descriptor is
// wrong, standard output says how.
#include <cstdio>

#include "BeforeBody.h"
#include "CallGraph.h"
#include "CallNumbers.h"
#include "CompilerText.h"
#include "Descriptor.h"
#include "FunctionRewriter.h"
#include "GccCommand.h"
#include "Output.h"
#include "Parse.h"
#include "Prelude.h"
#include "SiteFinder.h"
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendActions.h"
#include "llvm/Support/MemoryBuffer.h"

namespace {

enum ExitCode { kWritten = 0, kCannotInstrument = 1, kUsage = 2, kWrongDescriptor = 3 };

struct Options {
  std::string out, prelude, object, descriptor, emit_tree, gcc_text;
  bool spare_lambdas = false, messages = false, before_body = false, light = false;
  std::vector<std::string> command;

  bool complete() const { return !out.empty() && !prelude.empty() && !object.empty() && !command.empty(); }
};

struct Outcome {
  ExitCode code = kWritten;
  std::string message;
};

Options parseOptions(int argc, char **argv) {
  Options options;
  const std::map<std::string, std::string *> names = {{"--out", &options.out},
                                                      {"--prelude", &options.prelude},
                                                      {"--object", &options.object},
                                                      {"--descriptor", &options.descriptor},
                                                      {"--emit-tree", &options.emit_tree},
                                                      {"--gcc-text", &options.gcc_text}};
  int i = 1;
  for (const auto &[name, value] : {std::pair("--spare-lambdas", &options.spare_lambdas),
                                    {"--messages", &options.messages},
                                    {"--before-body", &options.before_body},
                                    {"--light", &options.light}})
    if (i < argc && std::string(argv[i]) == name) {
      *value = true;
      ++i;
    }
  for (; i + 1 < argc && names.count(argv[i]); i += 2) *names.at(argv[i]) = argv[i + 1];
  if (i < argc && std::string(argv[i]) == "--") options.command.assign(argv + i + 1, argv + argc);
  return options;
}

/// What the pass over a unit needs and leaves.
struct Job {
  Options options;
  vprof::Descriptor descriptor;
  Outcome outcome;
  bool hooked = false;  ///< text of the descriptor was pasted: the result must be checked
};

std::optional<std::string> readText(const std::string &path) {
  const auto text = llvm::MemoryBuffer::getFile(path);
  if (!text) return std::nullopt;
  return (*text)->getBuffer().str();
}

Outcome write(const vprof::Unit &unit, const vprof::Edits &edits, const vprof::CompilerText *gcc_text,
              clang::ASTContext &context, const Options &options) {
  vprof::Texts texts = vprof::applyEdits(edits, context);
  if (!options.emit_tree.empty() && !vprof::writeTree(options.emit_tree, texts))
    return {kCannotInstrument, "cannot write below " + options.emit_tree};
  const auto fixed = readText(options.prelude);
  if (!fixed) return {kCannotInstrument, "cannot read " + options.prelude};
  const std::string switches = vprof::switchSymbol(options.object, unit.file);
  const std::string prelude = vprof::preludeText(unit, switches, *fixed, options.before_body || options.light);
  texts[options.prelude] = prelude;
  if (!vprof::writeForCompiler(options.out, texts) ||
      (gcc_text && !vprof::writeFile(options.out + "/text", gcc_text->withEdits(edits, prelude))))
    return {kCannotInstrument, "cannot write below " + options.out};
  return {};
}

class Consumer : public clang::ASTConsumer {
 public:
  Consumer(Job &job, const clang::CompilerInstance &compiler) : job_(job), compiler_(compiler) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    if (context.getDiagnostics().hasErrorOccurred()) return;
    std::unique_ptr<vprof::CompilerText> gcc_text;
    if (!job_.options.gcc_text.empty()) {
      auto text = readText(job_.options.gcc_text);
      if (!text) return fail("cannot read " + job_.options.gcc_text);
      gcc_text = std::make_unique<vprof::CompilerText>(std::move(*text), context.getSourceManager());
      if (!gcc_text->problem().empty()) return fail(gcc_text->problem());
    }
    vprof::Unit unit = vprof::collectUnit(context, /*by_clang=*/!gcc_text);
    unit.ignore_for_height = job_.descriptor.ignore_for_height;
    auto untouchable = vprof::findUntouchable(unit, context, job_.options.spare_lambdas);
    if (gcc_text) vprof::addUntouchableByGcc(unit, *gcc_text, untouchable);
    vprof::assignSites(unit, untouchable, job_.descriptor);
    if (job_.options.before_body) vprof::chooseBeforeBody(unit, job_.descriptor, compiler_, gcc_text.get());
    if (job_.options.light) vprof::chooseBeforeBodyLightly(unit, job_.descriptor, compiler_, gcc_text.get());
    vprof::numberCalls(unit, context, /*by_gcc=*/gcc_text != nullptr);
    llvm::Expected<vprof::Edits> edits = vprof::placeEdits(unit, untouchable, job_.descriptor, context);
    job_.hooked = !unit.matched.empty();
    if (edits)
      job_.outcome = write(unit, *edits, gcc_text.get(), context, job_.options);
    else
      job_.outcome = {kWrongDescriptor, llvm::toString(edits.takeError())};
  }

 private:
  void fail(const std::string &reason) { job_.outcome = {kCannotInstrument, reason}; }

  Job &job_;
  const clang::CompilerInstance &compiler_;
};

class Action : public clang::ASTFrontendAction {
 public:
  explicit Action(Job &job) : job_(job) {}

  bool BeginSourceFileAction(clang::CompilerInstance &compiler) override {
    const llvm::Triple &target = compiler.getTarget().getTriple();
    if (!target.isArch64Bit() || !(target.isX86() || target.isAArch64()) || !target.isLittleEndian())
      job_.outcome = {kCannotInstrument, "the target is neither x86-64 nor aarch64"};
    if (!target.isX86()) job_.options.before_body = job_.options.light = false;
    return job_.outcome.code == kWritten;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &compiler, llvm::StringRef) override {
    return std::make_unique<Consumer>(job_, compiler);
  }

 private:
  Job &job_;
};

/// Compiles the rewritten text, so that an error in an expression of the descriptor is told by its entry.
Outcome checkHooks(const std::vector<std::string> &command, const Options &options) {
  vprof::FirstError errors;
  const auto rewritten = vprof::withRewrittenText(command, options.out, options.prelude);
  if (vprof::parse(rewritten, std::make_unique<clang::SyntaxOnlyAction>(), errors)) return {};
  if (errors.entry.empty()) return {kCannotInstrument, errors.where + ": " + errors.message};
  return {kWrongDescriptor, errors.entry + ": " + errors.message + " (" + errors.where + ")"};
}

Outcome rewrite(const Options &options) {
  Job job;
  job.options = options;
  if (!options.descriptor.empty()) {
    llvm::Expected<vprof::Descriptor> read = vprof::readDescriptor(options.descriptor);
    if (!read) return {kWrongDescriptor, llvm::toString(read.takeError())};
    job.descriptor = std::move(*read);
  }
  const std::vector<std::string> command =
      options.gcc_text.empty() ? options.command : vprof::clangCommand(options.command);
  vprof::FirstError errors;
  vprof::Messages messages;
  const bool heard = options.messages && !vprof::namesPlugin(command);
  const bool parsed = vprof::parse(vprof::parseCommand(command, /*silent=*/!heard), std::make_unique<Action>(job),
                                   errors, heard ? &messages : nullptr);
  if (job.outcome.code != kWritten) return job.outcome;
  if (!parsed) return {kCannotInstrument, "clang cannot parse it: " + errors.where + ": " + errors.message};
  if (messages.known && !vprof::writeFile(options.out + "/messages", messages.text))
    return {kCannotInstrument, "cannot write below " + options.out};
  return job.hooked ? checkHooks(vprof::parseCommand(command, /*silent=*/true), options) : Outcome();
}

}  // namespace

int main(int argc, char **argv) {
  const Options options = parseOptions(argc, argv);
  const Outcome outcome =
      options.complete() ? rewrite(options) : Outcome{kUsage, "usage: see vprof-cc, which calls this"};
  if (outcome.code != kWritten) std::printf("%s\n", outcome.message.c_str());
  return outcome.code;
}
