#include "Calls.h"

#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/Builtins.h"

namespace vprof {
namespace {

/// Builtins that are no library functions make no call, std::move and the like included.
bool isCall(const clang::FunctionDecl *decl, const clang::ASTContext &context) {
  const unsigned builtin = decl->getBuiltinID();
  return !builtin || (context.BuiltinInfo.isPredefinedLibFunction(builtin) && !decl->isInStdNamespace());
}

Callee methodCallee(const clang::CXXMethodDecl *method, const clang::Expr *object, bool dispatched) {
  if (!dispatched || !method->isVirtual()) return {Callee::kDirect, method};
  const clang::CXXMethodDecl *known = object ? method->getDevirtualizedMethod(object, /*IsAppleKext=*/false) : nullptr;
  return known ? Callee{Callee::kDirect, known} : Callee{Callee::kVirtual, method};
}

/// `object.method()`, or `(object.*&Class::method)()`, which names the method as well.
Callee calleeOfMember(const clang::CXXMemberCallExpr &call, const clang::CXXMethodDecl *method,
                      const clang::ASTContext &context) {
  const auto *member = llvm::dyn_cast<clang::MemberExpr>(call.getCallee()->IgnoreParens());
  return methodCallee(method, call.getImplicitObjectArgument(),
                      !member || member->performsVirtualDispatch(context.getLangOpts()));
}

Callee calleeOfPointer(const clang::CallExpr &call, const clang::ASTContext &context) {
  const clang::Expr *callee = call.getCallee()->IgnoreParenImpCasts();
  clang::QualType type = callee->getType();
  if (const auto *member = llvm::dyn_cast<clang::BinaryOperator>(callee); member && member->isPtrMemOp())
    type = member->getRHS()->getType();
  else
    type = call.getCallee()->getType();
  const clang::QualType pointee = type->getPointeeType();
  return {Callee::kPointer, nullptr, typeText(pointee.isNull() ? type : pointee, context)};
}

/// A lambda that becomes a pointer to a function: its conversion calls nothing.
bool isLambdaConversion(const clang::FunctionDecl *decl) {
  const auto *conversion = llvm::dyn_cast<clang::CXXConversionDecl>(decl);
  return conversion && conversion->getParent()->isLambda();
}

Callees calleesOfCall(const clang::CallExpr &call, const clang::ASTContext &context) {
  const clang::FunctionDecl *decl = call.getDirectCallee();
  if (!decl) {
    if (call.getCallee()->isTypeDependent()) return {{Callee::kDependent}};
    if (llvm::isa<clang::CXXPseudoDestructorExpr>(call.getCallee()->IgnoreParens())) return {};
    return {calleeOfPointer(call, context)};
  }
  if (!isCall(decl, context)) return {};
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(decl);
  if (isLambdaConversion(decl)) {
    const clang::CXXMethodDecl *lambda = method->getParent()->getLambdaCallOperator();
    if (!lambda) return {};  // of a class that a precompiled header has not given us in full
    return {{Callee::kTaken, lambda, typeText(call.getType()->getPointeeType(), context)}};
  }
  if (const auto *member = llvm::dyn_cast<clang::CXXMemberCallExpr>(&call); member && method)
    return {calleeOfMember(*member, method, context)};
  if (method && llvm::isa<clang::CXXOperatorCallExpr>(call) && call.getNumArgs())
    return {methodCallee(method, call.getArg(0), /*dispatched=*/true)};
  return {{Callee::kDirect, decl}};
}

const clang::CXXDestructorDecl *destructorOf(clang::QualType type, const clang::ASTContext &context) {
  const clang::CXXRecordDecl *record = context.getBaseElementType(type)->getAsCXXRecordDecl();
  if (!record || !record->hasDefinition() || record->hasTrivialDestructor()) return nullptr;
  return record->getDestructor();
}

void addDestructor(Callees &callees, clang::QualType type, const clang::ASTContext &context) {
  if (const auto *destructor = destructorOf(type, context)) callees.push_back({Callee::kDirect, destructor});
}

Callees calleesOfDelete(const clang::CXXDeleteExpr &expression, const clang::ASTContext &context) {
  if (expression.isTypeDependent() || expression.getArgument()->isTypeDependent()) return {{Callee::kDependent}};
  Callees callees;
  if (const auto *destructor = destructorOf(expression.getDestroyedType(), context))
    callees.push_back(methodCallee(destructor, nullptr, !destructor->getParent()->isEffectivelyFinal()));
  if (expression.getOperatorDelete()) callees.push_back({Callee::kDirect, expression.getOperatorDelete()});
  return callees;
}

Callees calleesOfConstruction(const clang::CXXConstructorDecl *constructor) {
  if (constructor->isTrivial()) return {};
  return {{Callee::kDirect, constructor}};
}

/// Children that the syntax does not show.
void addImplied(const clang::Stmt &statement, std::vector<const clang::Stmt *> &children) {
  if (const auto *argument = llvm::dyn_cast<clang::CXXDefaultArgExpr>(&statement))
    children.push_back(argument->getExpr());
  else if (const auto *member = llvm::dyn_cast<clang::CXXDefaultInitExpr>(&statement))
    children.push_back(member->getExpr());
}

bool isUnevaluated(const clang::Stmt &statement) {
  if (const auto *call = llvm::dyn_cast<clang::CallExpr>(&statement)) {
    const clang::FunctionDecl *decl = call->getDirectCallee();
    return decl && call->isUnevaluatedBuiltinCall(decl->getASTContext());
  }
  if (const auto *type = llvm::dyn_cast<clang::CXXTypeidExpr>(&statement))
    return type->isTypeOperand() || !type->isPotentiallyEvaluated();
  if (const auto *size = llvm::dyn_cast<clang::UnaryExprOrTypeTraitExpr>(&statement))
    return !size->isArgumentType() && !size->getArgumentExpr()->getType()->isVariableArrayType();
  return llvm::isa<clang::CXXNoexceptExpr, clang::RequiresExpr>(statement);
}

struct Step {
  const clang::Stmt *statement;
  const clang::Stmt *at;  ///< the written statement that implies it, or null
};

/// What a choice at compile time chose, null if it is none or was not made yet.
const clang::Expr *chosen(const clang::Stmt &statement) {
  if (const auto *selection = llvm::dyn_cast<clang::GenericSelectionExpr>(&statement))
    return selection->isResultDependent() ? nullptr : selection->getResultExpr();
  if (const auto *choice = llvm::dyn_cast<clang::ChooseExpr>(&statement))
    return choice->isConditionDependent() ? nullptr : choice->getChosenSubExpr();
  return nullptr;
}

/// Pushes children so that the first is on top.
void pushChildren(const Step &step, std::vector<Step> &todo) {
  const clang::Stmt &statement = *step.statement;
  if (isUnevaluated(statement)) return;
  const auto *range = llvm::dyn_cast<clang::CXXForRangeStmt>(&statement);
  std::vector<const clang::Stmt *> children, implied;
  if (const auto *lambda = llvm::dyn_cast<clang::LambdaExpr>(&statement))
    children.assign(lambda->capture_init_begin(), lambda->capture_init_end());
  else if (const clang::Expr *expression = chosen(statement))
    children = {expression};
  else if (range)
    children = {range->getInit(), range->getRangeInit(), range->getBody()};
  else
    children.assign(statement.child_begin(), statement.child_end());
  if (range)
    implied = {range->getBeginStmt(), range->getEndStmt(), range->getCond(), range->getInc(), range->getLoopVarStmt()};
  addImplied(statement, implied);
  const clang::Stmt *at = step.at ? step.at : &statement;
  for (auto i = children.rbegin(); i != children.rend(); ++i)
    if (*i) todo.push_back({*i, step.at});
  for (auto i = implied.rbegin(); i != implied.rend(); ++i)
    if (*i) todo.push_back({*i, at});
}

}  // namespace

std::string typeText(clang::QualType type, const clang::ASTContext &context) {
  if (type->isFunctionProtoType())
    type = const_cast<clang::ASTContext &>(context).getFunctionTypeWithExceptionSpec(type, clang::EST_None);
  return type.getCanonicalType().getUnqualifiedType().getAsString();
}

Callees calleesOf(const clang::Stmt &statement, const clang::ASTContext &context) {
  if (const auto *call = llvm::dyn_cast<clang::CallExpr>(&statement)) return calleesOfCall(*call, context);
  if (const auto *construct = llvm::dyn_cast<clang::CXXConstructExpr>(&statement))
    return calleesOfConstruction(construct->getConstructor());
  if (const auto *inherited = llvm::dyn_cast<clang::CXXInheritedCtorInitExpr>(&statement))
    return calleesOfConstruction(inherited->getConstructor());
  if (llvm::isa<clang::CXXUnresolvedConstructExpr>(statement)) return {{Callee::kDependent}};
  if (const auto *deletion = llvm::dyn_cast<clang::CXXDeleteExpr>(&statement))
    return calleesOfDelete(*deletion, context);
  Callees callees;
  if (const auto *creation = llvm::dyn_cast<clang::CXXNewExpr>(&statement)) {
    const clang::FunctionDecl *allocates = creation->getOperatorNew();
    if (allocates && !allocates->isReservedGlobalPlacementOperator()) callees.push_back({Callee::kDirect, allocates});
  } else if (const auto *temporary = llvm::dyn_cast<clang::CXXBindTemporaryExpr>(&statement)) {
    addDestructor(callees, temporary->getType(), context);
  } else if (const auto *declaration = llvm::dyn_cast<clang::DeclStmt>(&statement)) {
    for (const clang::Decl *decl : declaration->decls())
      if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl); variable && variable->hasLocalStorage())
        addDestructor(callees, variable->getType(), context);
  }
  return callees;
}

Callees impliedCallees(const clang::CXXConstructorDecl &constructor, const clang::ASTContext &context) {
  Callees callees;
  for (const clang::CXXCtorInitializer *initializer : constructor.inits())
    if (!initializer->isWritten())
      walk(initializer->getInit(), [&](const clang::Stmt &statement, const clang::Stmt &, bool) {
        callees.append(calleesOf(statement, context));
      });
  return callees;
}

Callees impliedCallees(const clang::CXXDestructorDecl &destructor) {
  Callees callees;
  const clang::CXXRecordDecl *record = destructor.getParent();
  const clang::ASTContext &context = destructor.getASTContext();
  for (const clang::FieldDecl *field : record->fields()) addDestructor(callees, field->getType(), context);
  for (const clang::CXXBaseSpecifier &base : record->bases()) addDestructor(callees, base.getType(), context);
  return callees;
}

void walk(const clang::Stmt *body, const Visit &visit) {
  std::vector<Step> todo;
  if (body) todo.push_back({body, nullptr});
  while (!todo.empty()) {
    const Step step = todo.back();
    todo.pop_back();
    visit(*step.statement, step.at ? *step.at : *step.statement, !step.at);
    pushChildren(step, todo);
  }
}

}  // namespace vprof
