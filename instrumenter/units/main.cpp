// vprof-units: reads one translation unit and prints what its functions do, statement by statement.
//
//   vprof-units COMPILER ARGUMENTS...
//
// Prints {"functions": [{"name", "line", "parameters": numbers, "body": statement}], "variables",
// "directives": bytes of the main file where preprocessor lines begin}, of functions that the main file defines;
// Statements.h, Expressions.h and Variables.h say what is in them. Called by `vprof reorder`. Exit code 0: printed; 1:
// clang cannot parse the unit, standard output has the reason in one line; 2: wrong usage.
#include "OlderClang.h"
#include "Parse.h"
#include "Statements.h"
#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Frontend/CompilerInstance.h"

namespace {

using llvm::json::Array;
using llvm::json::Object;

/// The functions with a body in the main file; templates are left out, their text is not one function's.
class Definitions : public clang::RecursiveASTVisitor<Definitions> {
 public:
  explicit Definitions(const clang::SourceManager &sources) : sources_(sources) {}

  bool VisitFunctionDecl(clang::FunctionDecl *function) {
    if (function->doesThisDeclarationHaveABody() && !function->isDependentContext() && !function->isImplicit() &&
        sources_.isInMainFile(sources_.getExpansionLoc(function->getLocation())))
      found.push_back(function);
    return true;
  }

  std::vector<const clang::FunctionDecl *> found;

 private:
  const clang::SourceManager &sources_;
};

/// Bytes where lines begin that the preprocessor reads.
Array directives(llvm::StringRef text) {
  Array result;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (vprof::startsWith(text.slice(at, end).ltrim(), "#")) result.push_back(at);
    at = end + 1;
  }
  return result;
}

class Consumer : public clang::ASTConsumer {
 public:
  explicit Consumer(Object &result) : result_(result) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    if (context.getDiagnostics().hasErrorOccurred()) return;
    const clang::SourceManager &sources = context.getSourceManager();
    Definitions definitions(sources);
    definitions.TraverseDecl(context.getTranslationUnitDecl());
    const vprof::Places places(context);
    vprof::Variables variables(context);
    vprof::Expressions expressions(context, places, variables);
    vprof::Statements statements(places, variables, expressions);
    Array functions;
    for (const clang::FunctionDecl *function : definitions.found) {
      Array parameters;
      for (const clang::ParmVarDecl *parameter : function->parameters())
        parameters.push_back(variables.number(*parameter));
      Object one{{"name", function->getQualifiedNameAsString()},
                 {"line", places.lineOf(function->getLocation())},
                 {"parameters", std::move(parameters)}};
      one["body"] = statements.describe(*function->getBody());
      functions.push_back(std::move(one));
    }
    result_["functions"] = std::move(functions);
    result_["variables"] = variables.describe();
    result_["directives"] = directives(sources.getBufferData(sources.getMainFileID()));
  }

 private:
  Object &result_;
};

class Action : public clang::ASTFrontendAction {
 public:
  explicit Action(Object &result) : result_(result) {}

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance &, llvm::StringRef) override {
    return std::make_unique<Consumer>(result_);
  }

 private:
  Object &result_;
};

}  // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    llvm::outs() << "usage: see `vprof reorder`, which calls this\n";
    return 2;
  }
  const std::vector<std::string> command(argv + 1, argv + argc);
  Object result;
  vprof::FirstError errors;
  if (!vprof::parse(vprof::parseCommand(command, /*silent=*/true), std::make_unique<Action>(result), errors) ||
      result.empty()) {
    llvm::outs() << (errors.where.empty() ? "" : errors.where + ": ") << errors.message << "\n";
    return 1;
  }
  llvm::outs() << llvm::json::Value(std::move(result)) << "\n";
  return 0;
}
