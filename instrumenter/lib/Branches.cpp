#include "Branches.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/Builtins.h"

namespace vprof {
namespace {

/// True if the statement, as a branch, leaves the block that it is in.
bool leaves(const clang::Stmt *statement) {
  if (const auto *block = llvm::dyn_cast_or_null<clang::CompoundStmt>(statement))
    return !block->body_empty() && leaves(block->body_back());
  return statement && llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::BreakStmt, clang::ContinueStmt>(statement);
}

const clang::Stmt *withoutLabels(const clang::Stmt *statement) {
  while (const auto *label = llvm::dyn_cast_or_null<clang::LabelStmt>(statement)) statement = label->getSubStmt();
  return statement;
}

}  // namespace

bool Branches::maySkipTheRest(const clang::Stmt &statement) const {
  const auto *branch = llvm::dyn_cast_or_null<clang::IfStmt>(withoutLabels(&statement));
  return branch && !isUnlikely(branch->getCond()) && leaves(branch->getThen()) != leaves(branch->getElse());
}

bool Branches::mayReturn(const clang::Stmt *statement) const {
  if (!statement || llvm::isa<clang::LambdaExpr>(statement)) return false;
  if (llvm::isa<clang::ReturnStmt, clang::GotoStmt>(statement)) return true;
  const auto *branch = llvm::dyn_cast<clang::IfStmt>(statement);
  if (branch && isUnlikely(branch->getCond())) return mayReturn(branch->getElse());
  return llvm::any_of(statement->children(), [&](const clang::Stmt *child) { return mayReturn(child); });
}

bool Branches::isUnlikely(const clang::Expr *condition) const {
  if (!condition) return false;  // `if consteval`
  const auto *call = llvm::dyn_cast<clang::CallExpr>(condition->IgnoreParenCasts());
  const clang::FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  if (!callee || callee->getBuiltinID() != clang::Builtin::BI__builtin_expect) return false;
  return isAlways(call->getArg(1), false);
}

bool Branches::isAlways(const clang::Expr *condition, bool wanted) const {
  bool value = !wanted;
  return condition && !condition->isValueDependent() && condition->EvaluateAsBooleanCondition(value, context_) &&
         value == wanted;
}

/// True if the statement ends in a call that does not return, or a throw.
bool Branches::neverGoesOn(const clang::Stmt *statement) const {
  if (!statement) return false;
  if (const auto *block = llvm::dyn_cast<clang::CompoundStmt>(statement))
    return llvm::any_of(block->body(), [&](const clang::Stmt *part) { return neverGoesOn(part); });
  if (const auto *loop = llvm::dyn_cast<clang::DoStmt>(statement)) return neverGoesOn(loop->getBody());
  if (const auto *branch = llvm::dyn_cast<clang::IfStmt>(statement))
    return isAlways(branch->getCond(), true) && neverGoesOn(branch->getThen());
  const auto *expression = llvm::dyn_cast<clang::Expr>(statement);
  if (!expression) return false;
  expression = expression->IgnoreParenCasts();
  if (const auto *cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(expression))
    expression = cleanups->getSubExpr()->IgnoreParenCasts();
  if (llvm::isa<clang::CXXThrowExpr>(expression)) return true;
  const auto *call = llvm::dyn_cast<clang::CallExpr>(expression);
  const clang::FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return callee && (callee->isNoReturn() || callee->getBuiltinID() == clang::Builtin::BI__builtin_unreachable);
}

void Branches::walkBlock(const clang::Stmt &block, bool sometimes, const Visit &visit) const {
  for (const clang::Stmt *part : block.children()) {
    walk(part, sometimes, visit);
    sometimes |= part && (maySkipTheRest(*part) || mayReturn(part));
  }
}

void Branches::walkIf(const clang::IfStmt &branch, bool sometimes, const Visit &visit) const {
  const clang::Expr *condition = branch.getCond();
  const bool only_then = isAlways(condition, true), only_else = isAlways(condition, false);
  walk(branch.getInit(), sometimes, visit);
  walk(branch.getConditionVariableDeclStmt(), sometimes, visit);
  walk(condition, sometimes, visit);
  if (!only_else) walk(branch.getThen(), sometimes || !(only_then || neverGoesOn(branch.getElse())), visit);
  if (!only_then) walk(branch.getElse(), sometimes || !(only_else || neverGoesOn(branch.getThen())), visit);
}

void Branches::walk(const clang::Stmt *statement, bool sometimes, const Visit &visit) const {
  if (!statement || llvm::isa<clang::LambdaExpr, clang::UnaryExprOrTypeTraitExpr, clang::CXXNoexceptExpr>(statement))
    return;
  visit(*statement, sometimes);
  if (llvm::isa<clang::CompoundStmt>(statement)) return walkBlock(*statement, sometimes, visit);
  if (const auto *branch = llvm::dyn_cast<clang::IfStmt>(statement)) return walkIf(*branch, sometimes, visit);
  const clang::Stmt *always = nullptr;
  if (const auto *choice = llvm::dyn_cast<clang::AbstractConditionalOperator>(statement))
    always = choice->getCond();
  else if (const auto *choice = llvm::dyn_cast<clang::SwitchStmt>(statement))
    always = choice->getCond();
  else if (const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(statement); binary && binary->isLogicalOp())
    always = binary->getLHS();
  const bool decides = always || llvm::isa<clang::CXXCatchStmt>(statement);
  for (const clang::Stmt *child : statement->children()) walk(child, sometimes || (decides && child != always), visit);
}

}  // namespace vprof
