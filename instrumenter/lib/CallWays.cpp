#include "CallWays.h"

#include "Branches.h"
#include "Names.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {
namespace {

const clang::FunctionDecl *keyOf(const clang::FunctionDecl *decl) {
  return patternOf(decl)->getCanonicalDecl();
}

bool isVirtual(const clang::FunctionDecl *decl) {
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(decl);
  return method && method->isVirtual();
}

clang::FileID fileOf(const clang::FunctionDecl *definition, const clang::SourceManager &sources) {
  return sources.getFileID(sources.getExpansionLoc(definition->getBody()->getBeginLoc()));
}

}  // namespace

void CallWays::add(const clang::FunctionDecl *definition) {
  const clang::SourceManager &sources = context_.getSourceManager();
  const clang::FileID file = fileOf(definition, sources);
  std::set<const clang::FunctionDecl *> &always = always_[keyOf(definition)];
  Branches(context_).walk(definition->getBody(), [&](const clang::Stmt &statement, bool sometimes) {
    const auto *call = llvm::dyn_cast<clang::CallExpr>(&statement);
    if (!call || !call->getDirectCallee()) return;
    const clang::FunctionDecl *callee = keyOf(call->getDirectCallee()), *code = nullptr;
    if (isVirtual(callee)) return;
    if (sometimes && callee->isDefined(code) && code->getBody() && fileOf(code, sources) == file)
      decided_.insert(callee);
    if (!sometimes) always.insert(callee);
  });
}

bool CallWays::isDecided(const clang::FunctionDecl *definition) const {
  return decided_.count(keyOf(definition));
}

const std::set<const clang::FunctionDecl *> &CallWays::alwaysCalled(const clang::FunctionDecl *definition) const {
  return always_.at(keyOf(definition));
}

}  // namespace vprof
