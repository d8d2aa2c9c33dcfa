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
  Finder(const Wanted &wanted, const clang::ASTContext &context) : wanted_(wanted), context_(context) {}

  std::vector<WrittenCall> calls;

  bool TraverseTypeLoc(clang::TypeLoc) { return true; }
  bool TraverseAttr(clang::Attr *) { return true; }

  bool TraverseDecl(clang::Decl *decl) {
    const auto *variable = llvm::dyn_cast_or_null<clang::VarDecl>(decl);
    return !variable || variable->isConstexpr() ? true : RecursiveASTVisitor::TraverseDecl(decl);
  }

  bool dataTraverseStmtPre(clang::Stmt *statement) {
    if (llvm::isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXNoexceptExpr, clang::CXXTypeidExpr, clang::ConstantExpr,
                  clang::LambdaExpr, clang::BlockExpr, clang::RequiresExpr, clang::OMPExecutableDirective>(statement))
      return false;
    if (const auto *selection = llvm::dyn_cast<clang::GenericSelectionExpr>(statement)) {
      if (!selection->isResultDependent()) TraverseStmt(const_cast<clang::Expr *>(selection->getResultExpr()));
      return false;
    }
    if (const auto *choice = llvm::dyn_cast<clang::ChooseExpr>(statement)) {
      if (!choice->isConditionDependent()) TraverseStmt(choice->getChosenSubExpr());
      return false;
    }
    const auto *call = llvm::dyn_cast<clang::CallExpr>(statement);
    if (call && call->isUnevaluatedBuiltinCall(context_)) return false;
    if (call) note(*call);
    if (isConditional(statement)) conditional_.push_back(open_.size());
    return true;
  }

  bool dataTraverseStmtPost(clang::Stmt *statement) {
    if (!open_.empty() && calls[open_.back()].expression == statement) open_.pop_back();
    if (isConditional(statement)) conditional_.pop_back();
    return true;
  }

 private:
  /// Some of its parts may not be evaluated.
  static bool isConditional(const clang::Stmt *statement) {
    const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(statement);
    return (binary && binary->isLogicalOp()) ||
           llvm::isa<clang::AbstractConditionalOperator, clang::StmtExpr>(statement);
  }

  void note(const clang::CallExpr &call) {
    if (!wanted_(call) || !seen_.insert(&call).second) return;
    calls.push_back({&call, open_, conditional_.empty() ? 0 : conditional_.back()});
    open_.push_back(calls.size() - 1);
  }

  const Wanted &wanted_;
  const clang::ASTContext &context_;
  std::vector<size_t> open_;
  std::vector<size_t> conditional_;  ///< for each conditional around: how many calls are open around it
  std::set<const clang::CallExpr *> seen_;
};

}  // namespace

std::vector<WrittenCall> writtenCalls(const clang::FunctionDecl &function, const Wanted &wanted) {
  Finder finder(wanted, function.getASTContext());
  // A function-try-block is under the probe with its handlers, but for constructors and destructors.
  const bool is_block = llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(function);
  finder.TraverseStmt(is_block ? const_cast<clang::CompoundStmt *>(blockOf(function)) : function.getBody());
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
