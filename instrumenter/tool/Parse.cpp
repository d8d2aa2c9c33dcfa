#include "Parse.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "Hooks.h"
#include "OlderClang.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Tooling/ArgumentsAdjusters.h"
#include "clang/Tooling/Tooling.h"

namespace vprof {
namespace {

/// Of clang's own headers: beside this program where it was installed with them, else where LLVM is.
std::string resourceDirectory() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path installed = fs::read_symlink("/proc/self/exe", ignored).parent_path() / "clang";
  return fs::is_directory(installed, ignored) ? installed.string() : VPROF_RESOURCE_DIR;
}

#if CLANG_VERSION_MAJOR >= 15
bool isSarif(const clang::DiagnosticOptions &options) {
  return options.getFormat() == clang::DiagnosticOptions::SARIF;
}
#else
bool isSarif(const clang::DiagnosticOptions &) {
  return false;
}
#endif

bool isKnown(const clang::CompilerInvocation &invocation) {
  const clang::DiagnosticOptions &options = invocation.getDiagnosticOpts();
  return !isSarif(options) && options.DiagnosticLogFile.empty() && options.DiagnosticSerializationFile.empty() &&
         !options.VerifyDiagnostics;
}

/// For what the parse prints by itself (-H).
void closeStandardError() {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
}

/// Runs the front end on what the driver made of the command; the driver's own messages are not among ours.
class FrontEnd : public clang::tooling::ToolAction {
 public:
  FrontEnd(clang::FrontendAction &action, FirstError &errors, Messages *messages)
      : action_(action), errors_(errors), messages_(messages) {}

  bool runInvocation(std::shared_ptr<clang::CompilerInvocation> invocation, clang::FileManager *files,
                     std::shared_ptr<clang::PCHContainerOperations> headers, clang::DiagnosticConsumer *) override {
    closeStandardError();
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream.enable_colors(true);  // the options say whether there are any
    clang::CompilerInstance compiler(std::move(headers));
    compiler.setInvocation(invocation);
    compiler.setFileManager(files);
    compiler.setVerboseOutputStream(stream);
    errors_.clear();  // the driver counts
    if (messages_)
      errors_.tell(std::make_unique<clang::TextDiagnosticPrinter>(stream, &invocation->getDiagnosticOpts()));
    compiler.createDiagnostics(&errors_, /*ShouldOwnClient=*/false);
    compiler.createSourceManager(*files);
    const bool done = compiler.ExecuteAction(action_);
    errors_.tell(nullptr);
    if (messages_) *messages_ = {stream.str(), isKnown(*invocation)};
    return done;
  }

 private:
  clang::FrontendAction &action_;
  FirstError &errors_;
  Messages *messages_;
};

}  // namespace

void FirstError::BeginSourceFile(const clang::LangOptions &language, const clang::Preprocessor *preprocessor) {
  if (printer_) printer_->BeginSourceFile(language, preprocessor);
}

void FirstError::EndSourceFile() {
  if (printer_) printer_->EndSourceFile();
}

void FirstError::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &diagnostic) {
  DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
  if (printer_) printer_->HandleDiagnostic(level, diagnostic);
  if (level < clang::DiagnosticsEngine::Error || !message.empty()) return;
  llvm::SmallString<256> text;
  diagnostic.FormatDiagnostic(text);
  message = text.str().str();
  if (!diagnostic.hasSourceManager() || diagnostic.getLocation().isInvalid()) return;
  const clang::SourceManager &sources = diagnostic.getSourceManager();
  const clang::PresumedLoc place = sources.getPresumedLoc(diagnostic.getLocation());
  where = std::string(place.getFilename()) + ":" + std::to_string(place.getLine());
  const auto [file, offset] = sources.getDecomposedLoc(sources.getFileLoc(diagnostic.getLocation()));
  const llvm::StringRef buffer = sources.getBufferData(file);
  const size_t line_start = buffer.rfind('\n', offset) + 1;
  entry = entryAt(buffer.substr(line_start).split('\n').first.str(), offset - line_start);
}

bool namesPlugin(const std::vector<std::string> &command) {
  return llvm::any_of(command, [](llvm::StringRef argument) {
    return argument == "-load" || argument == "-add-plugin" || startsWith(argument, "-fplugin");
  });
}

std::vector<std::string> parseCommand(const std::vector<std::string> &command, bool silent) {
  using namespace clang::tooling;
  auto adjuster = combineAdjusters(getClangStripOutputAdjuster(), getClangStripDependencyFileAdjuster());
  adjuster = combineAdjusters(adjuster, getStripPluginsAdjuster());
  // -fsyntax-only by hand: LibTooling's way takes colours away.
  CommandLineArguments more = {"-fsyntax-only", "-resource-dir", resourceDirectory()};
  if (silent) more.push_back("-w");
  adjuster = combineAdjusters(adjuster, getInsertArgumentAdjuster(more, ArgumentInsertPosition::BEGIN));
  std::vector<std::string> result = adjuster(command, "");
  llvm::erase_if(result, [](llvm::StringRef argument) {
    return argument == "-v" || argument == "--verbose" || startsWith(argument.ltrim('-'), "save-temps");
  });
  return result;
}

std::vector<std::string> withRewrittenText(std::vector<std::string> command, const std::string &directory,
                                           const std::string &prelude) {
  std::vector<std::string> options = {"-include", prelude};
  std::ifstream manifest(directory + "/manifest");
  for (std::string from, to; std::getline(manifest, from) && std::getline(manifest, to);)
    options.insert(options.end(), {"-Xclang", "-remap-file", "-Xclang", from + ";" + to});
  command.insert(command.begin() + 1, options.begin(), options.end());
  return command;
}

bool parse(const std::vector<std::string> &command, std::unique_ptr<clang::FrontendAction> action, FirstError &errors,
           Messages *messages) {
  const auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions());
  FrontEnd front_end(*action, errors, messages);
  clang::tooling::ToolInvocation invocation(command, &front_end, files.get(),
                                            std::make_shared<clang::PCHContainerOperations>());
  invocation.setDiagnosticConsumer(&errors);
  return invocation.run();
}

}  // namespace vprof
