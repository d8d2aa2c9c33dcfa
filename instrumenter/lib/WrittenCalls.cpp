#include "WrittenCalls.h"

#include <set>

#include "SiteFinder.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {
namespace {

using Wanted = std::function<bool(const clang::CallExpr &)>;

class Finder : public clang::RecursiveASTVisitor<Finder> {
 public:
  explicit Finder(const Wanted &wanted) : wanted_(wanted) {}

  std::vector<WrittenCall> calls;

  bool TraverseTypeLoc(clang::TypeLoc) { return true; }
  bool TraverseAttr(clang::Attr *) { return true; }

  bool TraverseDecl(clang::Decl *decl) {
    const auto *variable = llvm::dyn_cast_or_null<clang::VarDecl>(decl);
    return !variable || variable->isConstexpr() ? true : RecursiveASTVisitor::TraverseDecl(decl);
  }

  bool dataTraverseStmtPre(clang::Stmt *statement) {
    if (llvm::isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXNoexceptExpr, clang::CXXTypeidExpr, clang::ConstantExpr,
                  clang::GenericSelectionExpr, clang::LambdaExpr, clang::BlockExpr, clang::RequiresExpr,
                  clang::OMPExecutableDirective>(statement))
      return false;
    if (const auto *call = llvm::dyn_cast<clang::CallExpr>(statement)) note(*call);
    return true;
  }

  bool dataTraverseStmtPost(clang::Stmt *statement) {
    if (!open_.empty() && calls[open_.back()].expression == statement) open_.pop_back();
    return true;
  }

 private:
  void note(const clang::CallExpr &call) {
    if (!wanted_(call) || !seen_.insert(&call).second) return;
    calls.push_back({&call, open_});
    open_.push_back(calls.size() - 1);
  }

  const Wanted &wanted_;
  std::vector<size_t> open_;
  std::set<const clang::CallExpr *> seen_;
};

}  // namespace

std::vector<WrittenCall> writtenCalls(const clang::FunctionDecl &function, const Wanted &wanted) {
  Finder finder(wanted);
  finder.TraverseStmt(const_cast<clang::CompoundStmt *>(blockOf(function)));
  return std::move(finder.calls);
}

bool isInText(const clang::CallExpr &call, const clang::FunctionDecl &function) {
  const clang::SourceManager &sources = function.getASTContext().getSourceManager();
  const clang::SourceLocation brace = blockOf(function)->getLBracLoc();
  const auto is_here = [&](clang::SourceLocation place) {
    return place.isFileID() && sources.isWrittenInSameFile(place, brace);
  };
  return is_here(call.getBeginLoc()) && is_here(call.getRParenLoc());
}

bool looksLikeCall(const clang::CallExpr &call) {
  return !llvm::isa<clang::CXXOperatorCallExpr, clang::UserDefinedLiteral>(call) &&
         !llvm::isa_and_nonnull<clang::CXXConversionDecl>(call.getDirectCallee());
}

}  // namespace vprof
