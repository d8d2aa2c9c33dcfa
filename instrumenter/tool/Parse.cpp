#include "Parse.h"

#include <fstream>

#include "Hooks.h"
#include "clang/Basic/FileManager.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Tooling/ArgumentsAdjusters.h"
#include "clang/Tooling/Tooling.h"

namespace vprof {

void FirstError::HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &diagnostic) {
  DiagnosticConsumer::HandleDiagnostic(level, diagnostic);
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

std::vector<std::string> parseCommand(const std::vector<std::string> &command) {
  using namespace clang::tooling;
  auto adjuster = combineAdjusters(getClangStripOutputAdjuster(), getClangStripDependencyFileAdjuster());
  adjuster = combineAdjusters(adjuster, getStripPluginsAdjuster());
  adjuster = combineAdjusters(adjuster, getClangSyntaxOnlyAdjuster());
  const CommandLineArguments more = {"-w", "-fno-caret-diagnostics", "-resource-dir", VPROF_RESOURCE_DIR};
  adjuster = combineAdjusters(adjuster, getInsertArgumentAdjuster(more, ArgumentInsertPosition::BEGIN));
  return adjuster(command, "");
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

bool parse(const std::vector<std::string> &command, std::unique_ptr<clang::FrontendAction> action, FirstError &errors) {
  const auto files = llvm::makeIntrusiveRefCnt<clang::FileManager>(clang::FileSystemOptions());
  clang::tooling::ToolInvocation invocation(command, std::move(action), files.get());
  invocation.setDiagnosticConsumer(&errors);
  return invocation.run();
}

}  // namespace vprof
