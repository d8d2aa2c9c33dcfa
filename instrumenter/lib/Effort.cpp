#include "Effort.h"

#include <algorithm>
#include <utility>

#include "Library.h"
#include "Names.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {
namespace {

/// Chosen by measurement (docs/design/which-functions-get-a-probe.md): with more probes they cost more, with fewer
/// a large server executes less than 90 % of its instructions in probed functions. A probe in a function that compilers
/// would expand in its callers costs more than its tests, and virtual functions are made to be called often:
/// comparisons, an iterator's steps. But a loop may turn out long.
constexpr double kLeastEffort = 10;
constexpr double kLeastEffortOfSteps = 30;

constexpr double kRounds = 4;
constexpr double kBranch = 0.5;
constexpr double kCall = 4;
constexpr double kAllocation = 40;

/// The cases, groups of labels counted once.
void countCases(const clang::Stmt *statement, unsigned &cases) {
  if (!statement || llvm::isa<clang::SwitchStmt, clang::Expr>(statement)) return;
  if (const auto *label = llvm::dyn_cast<clang::SwitchCase>(statement)) {
    if (!llvm::isa<clang::SwitchCase>(label->getSubStmt())) ++cases;
    return countCases(label->getSubStmt(), cases);
  }
  for (const clang::Stmt *child : statement->children()) countCases(child, cases);
}

bool isOperation(const clang::Stmt &statement) {
  if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(&statement))
    return unary->getOpcode() != clang::UO_AddrOf && unary->getOpcode() != clang::UO_Extension &&
           unary->getOpcode() != clang::UO_Plus;
  if (const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(&statement))
    return binary->getOpcode() != clang::BO_Comma;
  return llvm::isa<clang::MemberExpr, clang::ArraySubscriptExpr, clang::CXXDependentScopeMemberExpr,
                   clang::CXXUnresolvedConstructExpr>(statement);
}

/// A loop whose body nothing delimits.
bool isJumpBack(const clang::Stmt &statement, const clang::ASTContext &context) {
  if (llvm::isa<clang::IndirectGotoStmt>(statement)) return true;
  const auto *jump = llvm::dyn_cast<clang::GotoStmt>(&statement);
  return jump &&
         context.getSourceManager().isBeforeInTranslationUnit(jump->getLabel()->getLocation(), jump->getGotoLoc());
}

bool isVirtual(const clang::FunctionDecl *decl) {
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(decl);
  return method && method->isVirtual();
}

}  // namespace

const Effort::Known &Effort::know(const clang::FunctionDecl *definition) {
  const auto [place, is_new] = known_.try_emplace(definition, Known{kCall, false});
  Known &known = place->second;  // stays where it is
  if (!is_new) return known;
  const bool loops_outside = std::exchange(loops_, false);
  known.effort = of(definition->getBody());
  known.loops = std::exchange(loops_, loops_outside);
  return known;
}

bool Effort::isSmall(const clang::FunctionDecl *definition) {
  const Known &known = know(definition);
  const bool is_step = (mayBeExpanded(definition) || isVirtual(definition)) && !known.loops;
  return known.effort < (is_step ? kLeastEffortOfSteps : kLeastEffort);
}

bool Effort::mayBeExpanded(const clang::FunctionDecl *decl) const {
  if (isVirtual(decl) || taken_.count(patternOf(decl)->getCanonicalDecl())) return false;
  if (decl->hasAttr<clang::NoInlineAttr>()) return false;
  return decl->isInlined() || decl->isTemplated() || decl->isTemplateInstantiation() || !decl->isExternallyVisible();
}

double Effort::of(const clang::Stmt *statement) {
  if (!statement || llvm::isa<clang::LambdaExpr, clang::UnaryExprOrTypeTraitExpr, clang::CXXNoexceptExpr>(statement))
    return 0;
  if (const auto *block = llvm::dyn_cast<clang::CompoundStmt>(statement)) return ofBlock(*block);
  if (const auto *branch = llvm::dyn_cast<clang::IfStmt>(statement)) return ofIf(*branch);
  if (const auto *choice = llvm::dyn_cast<clang::SwitchStmt>(statement)) return ofSwitch(*choice);
  loops_ |= isJumpBack(*statement, context_);
  if (const double rounds = roundsOf(*statement); rounds > 0) return rounds * ofChildren(*statement);
  if (const auto *choice = llvm::dyn_cast<clang::AbstractConditionalOperator>(statement))
    return of(choice->getCond()) + 1 + kBranch * (of(choice->getTrueExpr()) + of(choice->getFalseExpr()));
  if (const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(statement); binary && binary->isLogicalOp())
    return of(binary->getLHS()) + 1 + kBranch * of(binary->getRHS());
  if (const auto *call = llvm::dyn_cast<clang::CallExpr>(statement)) return ofCall(*call);
  if (const auto *construction = llvm::dyn_cast<clang::CXXConstructExpr>(statement))
    return ofChildren(*statement) +
           (construction->getConstructor()->isTrivial() ? 0 : ofCallee(construction->getConstructor()));
  if (llvm::isa<clang::CXXNewExpr, clang::CXXDeleteExpr>(statement)) return kAllocation + ofChildren(*statement);
  return isOperation(*statement) + ofChildren(*statement);
}

double Effort::ofChildren(const clang::Stmt &statement) {
  double sum = 0;
  for (const clang::Stmt *child : statement.children()) sum += of(child);
  return sum;
}

double Effort::ofBlock(const clang::Stmt &block) {
  double sum = 0, share = 1;
  for (const clang::Stmt *part : block.children()) {
    sum += share * of(part);
    if (part && branches_.maySkipTheRest(*part)) share *= kBranch;
  }
  return sum;
}

double Effort::ofIf(const clang::IfStmt &branch) {
  // `if consteval`: one part is all that runs.
  if (branch.isConsteval()) return of(branch.isNegatedConsteval() ? branch.getThen() : branch.getElse());
  const bool skips_then = branches_.isUnlikely(branch.getCond()) || branches_.neverGoesOn(branch.getThen());
  const bool skips_else = branches_.neverGoesOn(branch.getElse());
  const double then_part = skips_then ? 0 : of(branch.getThen()), else_part = skips_else ? 0 : of(branch.getElse());
  const double share = skips_then || skips_else ? 1 : kBranch;
  return of(branch.getInit()) + of(branch.getCond()) + 1 + share * (then_part + else_part);
}

double Effort::ofSwitch(const clang::SwitchStmt &choice) {
  unsigned cases = 0;
  countCases(choice.getBody(), cases);
  double body = 0;
  if (choice.getBody())
    for (const clang::Stmt *part : choice.getBody()->children()) body += of(part);
  return of(choice.getInit()) + of(choice.getCond()) + 2 + body / std::max(cases, 1u);
}

double Effort::ofCall(const clang::CallExpr &call) {
  const clang::FunctionDecl *callee = call.getDirectCallee();
  const unsigned builtin = callee ? callee->getBuiltinID() : 0;
  if (builtin == clang::Builtin::BI__builtin_constant_p) return 0;
  if (builtin == clang::Builtin::BI__builtin_expect) return of(call.getArg(0));
  double sum = of(call.getCallee()) + ofCallee(callee);
  for (const clang::Expr *argument : call.arguments()) sum += 1 + of(argument);
  return sum;
}

/// The call itself; `callee` may be null.
double Effort::ofCallee(const clang::FunctionDecl *callee) {
  if (!callee) return kCall;
  if (isAllocation(*callee)) return kAllocation;
  if (const clang::FunctionDecl *code = library_.definitionOf(callee)) return code->getBody() ? of(code) : 1;
  const clang::FunctionDecl *definition = nullptr;
  if (!patternOf(callee)->isDefined(definition) || !definition->getBody() || !mayBeExpanded(definition)) return kCall;
  return isSmall(definition) ? of(definition) : kCall;
}

/// How often the parts of a statement are executed: 0 for what is no loop, 1 for `do { } while (0)`.
double Effort::roundsOf(const clang::Stmt &statement) {
  const auto *loop = llvm::dyn_cast<clang::DoStmt>(&statement);
  if (loop && branches_.isAlways(loop->getCond(), false)) return 1;
  if (!llvm::isa<clang::DoStmt, clang::ForStmt, clang::WhileStmt, clang::CXXForRangeStmt>(statement)) return 0;
  loops_ = true;
  return kRounds;
}

}  // namespace vprof
