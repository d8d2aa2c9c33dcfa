#include "Statements.h"

#include <set>

#include "clang/AST/Decl.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/AST/Stmt.h"

namespace vprof {
namespace {

using llvm::json::Array;
using llvm::json::Object;

/// The variables that are named anywhere in a statement, also where nothing is evaluated (sizeof).
class Mentions : public clang::RecursiveASTVisitor<Mentions> {
 public:
  explicit Mentions(Variables &variables) : variables_(variables) {}

  bool VisitDeclRefExpr(clang::DeclRefExpr *reference) {
    if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl()))
      numbers.insert(variables_.number(*variable));
    return true;
  }

  std::set<unsigned> numbers;

 private:
  Variables &variables_;
};

}  // namespace

Object Statements::describe(const clang::Stmt &statement) {
  Object result{{"kind", "other"}, {"begin", 0}, {"end", 0}, {"place", false}, {"line", 0}};
  result["line"] = places_.lineOf(statement.getBeginLoc());
  if (const auto place = places_.ofStatement(statement)) {
    result["begin"] = place->begin;
    result["end"] = place->end;
    result["place"] = true;
  }
  Mentions mentions(variables_);
  mentions.TraverseStmt(const_cast<clang::Stmt *>(&statement));
  result["mentions"] = Array(mentions.numbers);
  fill(result, statement);
  return result;
}

Object Statements::condition(const clang::Expr &expression) {
  Object result{{"begin", 0}, {"end", 0}, {"value", expressions_.value(&expression)}};
  if (const auto place = places_.of(expression.getSourceRange())) {
    result["begin"] = place->begin;
    result["end"] = place->end;
  }
  return result;
}

void Statements::fillDeclaration(Object &result, const clang::DeclStmt &statement) {
  Array declares;
  for (const clang::Decl *decl : statement.decls()) {
    const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl);
    if (!variable) {
      if (!llvm::isa<clang::TagDecl, clang::TypedefNameDecl, clang::EmptyDecl>(decl)) return;
      result["types"] = true;
      continue;
    }
    Object one{{"v", variables_.number(*variable)}};
    if (variable->isStaticLocal()) one["static"] = true;
    if (const clang::Expr *value = variable->getInit()) {
      if (variable->getType()->isReferenceType()) return;  // a second name for other memory
      one["value"] = expressions_.value(value);
    }
    if (const auto *array = llvm::dyn_cast<clang::VariableArrayType>(variable->getType().getTypePtr()))
      if (array->getSizeExpr()) one["sizes"] = Array{expressions_.value(array->getSizeExpr())};
    declares.push_back(std::move(one));
  }
  result["kind"] = "declaration";
  result["declares"] = std::move(declares);
}

void Statements::fillLoop(Object &result, const clang::Stmt &statement) {
  if (const auto *loop = llvm::dyn_cast<clang::ForStmt>(&statement)) {
    if (loop->getConditionVariable()) return;
    result["kind"] = "for";
    if (loop->getInit()) result["first"] = describe(*loop->getInit());
    if (loop->getCond()) result["condition"] = condition(*loop->getCond());
    if (loop->getInc()) result["step"] = expressions_.value(loop->getInc());
    result["body"] = describe(*loop->getBody());
  } else if (const auto *loop = llvm::dyn_cast<clang::WhileStmt>(&statement)) {
    if (loop->getConditionVariable()) return;
    result["kind"] = "while";
    result["condition"] = condition(*loop->getCond());
    result["body"] = describe(*loop->getBody());
  } else if (const auto *loop = llvm::dyn_cast<clang::DoStmt>(&statement)) {
    result["kind"] = "do";
    result["condition"] = condition(*loop->getCond());
    result["body"] = describe(*loop->getBody());
  }
}

void Statements::fill(Object &result, const clang::Stmt &statement) {
  result["what"] = statement.getStmtClassName();
  if (const auto *block = llvm::dyn_cast<clang::CompoundStmt>(&statement)) {
    Array children;
    for (const clang::Stmt *child : block->body()) children.push_back(describe(*child));
    result["kind"] = "block";
    result["children"] = std::move(children);
  } else if (const auto *declaration = llvm::dyn_cast<clang::DeclStmt>(&statement)) {
    fillDeclaration(result, *declaration);
  } else if (const auto *branch = llvm::dyn_cast<clang::IfStmt>(&statement)) {
    if (branch->hasInitStorage() || branch->hasVarStorage() || branch->isConstexpr() || branch->isConsteval()) return;
    result["kind"] = "if";
    result["condition"] = condition(*branch->getCond());
    result["then"] = describe(*branch->getThen());
    if (branch->getElse()) result["else"] = describe(*branch->getElse());
  } else if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt>(statement)) {
    fillLoop(result, statement);
  } else if (const auto *choice = llvm::dyn_cast<clang::SwitchStmt>(&statement)) {
    if (choice->hasInitStorage() || choice->hasVarStorage()) return;
    result["kind"] = "switch";
    result["condition"] = condition(*choice->getCond());
    result["body"] = describe(*choice->getBody());
  } else if (const auto *one = llvm::dyn_cast<clang::SwitchCase>(&statement)) {
    result["kind"] = "case";
    if (one->getSubStmt()) result["inner"] = describe(*one->getSubStmt());
  } else if (const auto *label = llvm::dyn_cast<clang::LabelStmt>(&statement)) {
    result["kind"] = "label";
    result["name"] = label->getName();
    result["inner"] = describe(*label->getSubStmt());
  } else if (const auto *jump = llvm::dyn_cast<clang::GotoStmt>(&statement)) {
    result["kind"] = "goto";
    result["name"] = jump->getLabel()->getName();
  } else if (const auto *end = llvm::dyn_cast<clang::ReturnStmt>(&statement)) {
    result["kind"] = "return";
    if (end->getRetValue()) result["value"] = expressions_.value(end->getRetValue());
  } else if (llvm::isa<clang::BreakStmt>(statement)) {
    result["kind"] = "break";
  } else if (llvm::isa<clang::ContinueStmt>(statement)) {
    result["kind"] = "continue";
  } else if (llvm::isa<clang::NullStmt>(statement)) {
    result["kind"] = "null";
  } else if (const auto *expression = llvm::dyn_cast<clang::Expr>(&statement)) {
    result["kind"] = "expression";
    result["value"] = expressions_.value(expression);
  }
}

}  // namespace vprof
