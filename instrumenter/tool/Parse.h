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
  void HandleDiagnostic(clang::DiagnosticsEngine::Level level, const clang::Diagnostic &diagnostic) override;

  std::string message;
  std::string where;  ///< "file:line"
  std::string entry;  ///< "interval/0", or ""
};

/// The compiler's command as a parse without output: warnings off, plugins and dependency files left out.
std::vector<std::string> parseCommand(const std::vector<std::string> &command);

/// `command`, reading the texts that the manifest in `directory` names and the prelude.
std::vector<std::string> withRewrittenText(std::vector<std::string> command, const std::string &directory,
                                           const std::string &prelude);

/// False after an error, which `errors` then has.
bool parse(const std::vector<std::string> &command, std::unique_ptr<clang::FrontendAction> action, FirstError &errors);

}  // namespace vprof
