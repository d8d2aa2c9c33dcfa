// The statements of a function as a tree in JSON, each with its place in the text.
//
// All have {"kind", "begin", "end", "line", "mentions": numbers of variables that its own expressions name}, and
//   block {"children"} | expression {"value"} | declaration {"declares": [{"v", "value"?, "sizes"?: [values]}]}
//   | if {"condition", "then", "else"?} | for {"first"?, "condition"?, "step"?, "body"} | while, do {"condition",
//   "body"} | switch {"condition", "body"} | case, default {"inner"} | label {"name", "inner"} | goto {"name"} | return
//   {"value"?} | break | continue | null | other {"what": Clang's name of it}
// "condition" of if, for, while, do: {"begin", "end", "value"}. "place": false if it is not text of the main file, or
// not a text of its own: then begin and end are 0.
#pragma once

#include "Expressions.h"

namespace clang {
class DeclStmt;
class Stmt;
}  // namespace clang

namespace vprof {

class Statements {
 public:
  Statements(const Places &places, Variables &variables, Expressions &expressions)
      : places_(places), variables_(variables), expressions_(expressions) {}

  llvm::json::Object describe(const clang::Stmt &statement);

 private:
  void fill(llvm::json::Object &result, const clang::Stmt &statement);
  void fillLoop(llvm::json::Object &result, const clang::Stmt &statement);
  void fillDeclaration(llvm::json::Object &result, const clang::DeclStmt &statement);
  llvm::json::Object condition(const clang::Expr &expression);

  const Places &places_;
  Variables &variables_;
  Expressions &expressions_;
};

}  // namespace vprof
