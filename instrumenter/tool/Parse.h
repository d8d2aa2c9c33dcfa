// Running clang's front end in this process, as the real compiler would run on the same command line.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "clang/Basic/Diagnostic.h"
#include "clang/Frontend/FrontendAction.h"

namespace vprof {

/// Keeps the first error of a compilation, and the descriptor entry whose inserted text it is in.
class FirstError : public clang::DiagnosticConsumer {
 public:
  void BeginSourceFile(const clang::LangOptions &language, const clang::Preprocessor *preprocessor) override;
  void EndSourceFile() override;
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &diagnostic) override;

  /// From now on all is told to `printer` as well.
  void tell(std::unique_ptr<clang::DiagnosticConsumer> printer) { printer_ = std::move(printer); }

  std::string message;
  std::string where;  ///< "file:line"
  std::string entry;  ///< "interval/0", or ""

 private:
  std::unique_ptr<clang::DiagnosticConsumer> printer_;
};

/// What the compiler itself prints while it parses, if `parse` can tell: its words, colours and counts.
struct Messages {
  std::string text;
  bool known = false;  ///< false: they would be in another format, or go elsewhere
};

/// True if code that we do not run has a say.
bool namesPlugin(const std::vector<std::string> &command);

/// The compiler's command as a parse without output: plugins and dependency files left out; `silent`: warnings, too.
std::vector<std::string> parseCommand(const std::vector<std::string> &command, bool silent);

/// `command`, reading the texts that the manifest in `directory` names and the prelude.
std::vector<std::string> withRewrittenText(std::vector<std::string> command, const std::string &directory,
                                           const std::string &prelude);

/// False after an error, which `errors` then has. `messages`, unless null, are those of a command that is not silent.
/// Standard error is only asked for its colours and columns: nothing is printed there.
bool parse(const std::vector<std::string> &command, std::unique_ptr<clang::FrontendAction> action, FirstError &errors,
           Messages *messages = nullptr);

}  // namespace vprof
