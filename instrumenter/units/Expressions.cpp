#include "Expressions.h"

#include "OlderClang.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"

namespace vprof {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

Value unknown(const clang::Stmt &statement) {
  return Object{{"k", "unknown"}, {"what", statement.getStmtClassName()}};
}

Value text(const clang::StringLiteral &literal) {
  if (literal.getCharByteWidth() != 1 || literal.isUTF8()) return Object{{"k", "constant"}};
  return Object{{"k", "string"}, {"text", llvm::json::fixUTF8(literal.getString())}};
}

const clang::Expr *bare(const clang::Expr *expression) {
  for (;;) {
    const clang::Expr *inner = expression->IgnoreParens();
    if (const auto *generic = llvm::dyn_cast<clang::GenericSelectionExpr>(inner);
        generic && !generic->isResultDependent())
      inner = generic->getResultExpr();
    else if (const auto *cleanups = llvm::dyn_cast<clang::ExprWithCleanups>(inner))
      inner = cleanups->getSubExpr();
    else if (const auto *constant = llvm::dyn_cast<clang::ConstantExpr>(inner))
      inner = constant->getSubExpr();
    else if (const auto *fallback = llvm::dyn_cast<clang::CXXDefaultArgExpr>(inner))
      inner = fallback->getExpr();
    if (inner == expression) return inner;
    expression = inner;
  }
}

}  // namespace

Value Expressions::all(const char *kind, const clang::Stmt &parent) {
  Array parts;
  for (const clang::Stmt *child : parent.children())
    if (const auto *part = llvm::dyn_cast_or_null<clang::Expr>(child)) parts.push_back(value(part));
  return Object{{"k", kind}, {"es", std::move(parts)}};
}

Value Expressions::reference(const clang::Expr &expression, const clang::ValueDecl &decl) {
  if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(&decl))
    return Object{{"k", "var"}, {"v", variables_.number(*variable)}};
  if (llvm::isa<clang::FunctionDecl>(decl)) return Object{{"k", "function"}, {"name", decl.getQualifiedNameAsString()}};
  if (llvm::isa<clang::EnumConstantDecl>(decl)) return Object{{"k", "constant"}};
  return unknown(expression);
}

Value Expressions::place(const clang::Expr *expression) {
  expression = bare(expression);
  if (const auto *name = llvm::dyn_cast<clang::DeclRefExpr>(expression)) return reference(*name, *name->getDecl());
  if (const auto *member = llvm::dyn_cast<clang::MemberExpr>(expression)) {
    if (!llvm::isa<clang::FieldDecl>(member->getMemberDecl())) return unknown(*expression);
    Value base =
        member->isArrow() ? Value(Object{{"k", "deref"}, {"e", value(member->getBase())}}) : place(member->getBase());
    const auto *record = llvm::cast<clang::FieldDecl>(member->getMemberDecl())->getParent();
    if (record->isUnion())  // all fields are the same memory
      return Object{{"k", "index"}, {"e", std::move(base)}, {"i", Object{{"k", "constant"}}}};
    return Object{{"k", "field"}, {"name", member->getMemberDecl()->getNameAsString()}, {"e", std::move(base)}};
  }
  if (const auto *element = llvm::dyn_cast<clang::ArraySubscriptExpr>(expression)) {
    const clang::Expr *base = bare(element->getBase());
    const auto *decay = llvm::dyn_cast<clang::ImplicitCastExpr>(base);
    Value array = decay && decay->getCastKind() == clang::CK_ArrayToPointerDecay
                      ? place(decay->getSubExpr())
                      : Value(Object{{"k", "deref"}, {"e", value(base)}});
    return Object{{"k", "index"}, {"e", std::move(array)}, {"i", value(element->getIdx())}};
  }
  if (const auto *operation = llvm::dyn_cast<clang::UnaryOperator>(expression)) {
    if (operation->getOpcode() == clang::UO_Deref) return Object{{"k", "deref"}, {"e", value(operation->getSubExpr())}};
    return unknown(*expression);
  }
  if (const auto *literal = llvm::dyn_cast<clang::CompoundLiteralExpr>(expression))
    return Object{{"k", "temporary"}, {"e", value(literal->getInitializer())}};
  if (const auto *temporary = llvm::dyn_cast<clang::MaterializeTemporaryExpr>(expression))
    return Object{{"k", "temporary"}, {"e", value(temporary->getSubExpr())}};
  if (llvm::isa<clang::StringLiteral, clang::PredefinedExpr>(expression))
    return Object{{"k", "temporary"}, {"e", value(expression)}};
  if (llvm::isa<clang::CallExpr>(expression) && !expression->isGLValue())  // a structure that is returned
    return Object{{"k", "temporary"}, {"e", value(expression)}};
  if (const auto *conversion = llvm::dyn_cast<clang::ImplicitCastExpr>(expression);
      conversion && conversion->getCastKind() == clang::CK_NoOp)
    return place(conversion->getSubExpr());
  return unknown(*expression);
}

Value Expressions::call(const clang::CallExpr &call) {
  const auto *function = llvm::dyn_cast_or_null<clang::FunctionDecl>(call.getCalleeDecl());
  if (!function || llvm::isa<clang::CXXOperatorCallExpr>(call)) return unknown(call);
  Array arguments;
  if (const auto *method = llvm::dyn_cast<clang::CXXMemberCallExpr>(&call)) {
    const clang::Expr *object = method->getImplicitObjectArgument();
    arguments.push_back(object->getType()->isPointerType() ? value(object)
                                                           : Value(Object{{"k", "address"}, {"e", place(object)}}));
  }
  for (unsigned i = 0; i < call.getNumArgs(); ++i) {
    const bool by_reference = i < function->getNumParams() && function->getParamDecl(i)->getType()->isReferenceType();
    const clang::Expr *argument = call.getArg(i);
    arguments.push_back(by_reference ? Value(Object{{"k", "address"}, {"e", place(argument)}}) : value(argument));
  }
  Object result{{"k", "call"},
                {"name", function->getQualifiedNameAsString()},
                {"args", std::move(arguments)},
                {"line", places_.lineOf(call.getBeginLoc())},
                {"pointer", call.getType()->isAnyPointerType()}};
  if (const auto where = places_.of(call.getSourceRange())) {
    result["begin"] = where->begin;
    result["end"] = where->end;
  }
  return result;
}

Value Expressions::binary(const clang::Expr &expression) {
  const auto &operation = llvm::cast<clang::BinaryOperator>(expression);
  if (operation.isAssignmentOp())
    return Object{{"k", "assign"},
                  {"to", place(operation.getLHS())},
                  {"e", value(operation.getRHS())},
                  {"also_reads", operation.isCompoundAssignmentOp()}};
  if (!operation.isLogicalOp()) return all("op", operation);
  Value sometimes = Object{{"k", "maybe"}, {"es", Array{value(operation.getRHS())}}};
  return Object{{"k", "op"}, {"es", Array{value(operation.getLHS()), std::move(sometimes)}}};
}

Value Expressions::unary(const clang::Expr &expression) {
  const auto &operation = llvm::cast<clang::UnaryOperator>(expression);
  if (operation.isIncrementDecrementOp()) {
    Value target = place(operation.getSubExpr());
    Value old = Object{{"k", "load"}, {"e", target}};
    return Object{{"k", "assign"}, {"to", std::move(target)}, {"e", std::move(old)}, {"also_reads", true}};
  }
  if (operation.getOpcode() == clang::UO_AddrOf) {
    const clang::Expr *whole = bare(operation.getSubExpr());
    const auto *name = llvm::dyn_cast<clang::DeclRefExpr>(whole);
    if (name && llvm::isa<clang::FunctionDecl>(name->getDecl())) return reference(*name, *name->getDecl());
    return Object{{"k", "address"}, {"e", place(whole)}};
  }
  return all("op", operation);
}

Value Expressions::cast(const clang::Expr &expression) {
  const auto &cast = llvm::cast<clang::CastExpr>(expression);
  switch (cast.getCastKind()) {
    case clang::CK_LValueToRValue:
      return Object{{"k", "load"}, {"e", place(cast.getSubExpr())}};
    case clang::CK_ArrayToPointerDecay: {
      const clang::Expr *array = bare(cast.getSubExpr());
      if (const auto *literal = llvm::dyn_cast<clang::StringLiteral>(array)) return text(*literal);
      return Object{{"k", "address"}, {"e", place(array)}};
    }
    case clang::CK_FunctionToPointerDecay:
    case clang::CK_BuiltinFnToFnPtr:
    case clang::CK_NoOp:
    case clang::CK_BitCast:
    case clang::CK_ConstructorConversion:
      return value(cast.getSubExpr());
    default:
      return all("op", cast);
  }
}

Value Expressions::value(const clang::Expr *expression) {
  expression = bare(expression);
  clang::Expr::EvalResult number;
  if (!expression->isValueDependent() && expression->getType()->isIntegralOrEnumerationType() &&
      expression->isPRValue() && expression->EvaluateAsInt(number, context_) && !expression->HasSideEffects(context_))
    if (fits64(number.Val.getInt())) return Object{{"k", "constant"}, {"value", number.Val.getInt().getExtValue()}};
  if (expression->isTypeDependent()) return unknown(*expression);
  if (llvm::isa<clang::BinaryOperator>(expression)) return binary(*expression);
  if (llvm::isa<clang::UnaryOperator>(expression)) return unary(*expression);
  if (llvm::isa<clang::CastExpr>(expression)) return cast(*expression);
  if (const auto *called = llvm::dyn_cast<clang::CallExpr>(expression)) return call(*called);
  if (const auto *literal = llvm::dyn_cast<clang::StringLiteral>(expression)) return text(*literal);
  if (llvm::isa<clang::InitListExpr>(expression)) return all("list", *expression);
  if (const auto *choice = llvm::dyn_cast<clang::ConditionalOperator>(expression)) {
    Array ways{value(choice->getTrueExpr()), value(choice->getFalseExpr())};
    Value chosen = Object{{"k", "maybe"}, {"es", std::move(ways)}};
    return Object{{"k", "op"}, {"es", Array{value(choice->getCond()), std::move(chosen)}}};
  }
  if (llvm::isa<clang::IntegerLiteral, clang::FloatingLiteral, clang::CharacterLiteral, clang::CXXBoolLiteralExpr,
                clang::CXXNullPtrLiteralExpr, clang::GNUNullExpr, clang::UnaryExprOrTypeTraitExpr, clang::OffsetOfExpr,
                clang::ImplicitValueInitExpr, clang::PredefinedExpr>(expression))
    return Object{{"k", "constant"}};
  if (const auto *construction = llvm::dyn_cast<clang::CXXConstructExpr>(expression);
      construction && construction->getConstructor()->isTrivial())
    return all("op", *construction);
  if (expression->isGLValue() || llvm::isa<clang::CompoundLiteralExpr>(expression))
    return Object{{"k", "load"}, {"e", place(expression)}};
  return unknown(*expression);
}

}  // namespace vprof
