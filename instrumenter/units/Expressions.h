// Expressions in few kinds, as JSON: what they read, write, call, and where pointers come from.
//
// Places in memory (lvalues):  {"k": "var", "v": number} | {"k": "deref", "e": value} | {"k": "field", "name", "e":
// place}
//                              | {"k": "index", "e": place, "i": value} | {"k": "temporary", "e": value}
// Values:  {"k": "load", "e": place} | {"k": "address", "e": place} | {"k": "constant", "value"?: whole number}
//          | {"k": "string", "text"} | {"k": "function", "name"} | {"k": "op", "es": [values]}
//          | {"k": "maybe", "es": [values]}, of which any may be left out, and which one it is may be chosen
//          | {"k": "assign", "to": place, "e": value, "also_reads": bool} | {"k": "list", "es": [values]}
//          | {"k": "call", "name", "args": [values], "line", "begin", "end", "pointer": bool}
//          | {"k": "unknown", "what": Clang's name of it}
// `p->x` is a field of a deref, `p[i]` an index of a deref. Casts, parentheses and operators leave no trace but "op".
#pragma once

#include "Places.h"
#include "Variables.h"
#include "llvm/Support/JSON.h"

namespace clang {
class CallExpr;
class Expr;
class ValueDecl;
}  // namespace clang

namespace vprof {

class Expressions {
 public:
  Expressions(const clang::ASTContext &context, const Places &places, Variables &variables)
      : context_(context), places_(places), variables_(variables) {}

  llvm::json::Value value(const clang::Expr *expression);

 private:
  llvm::json::Value place(const clang::Expr *expression);
  llvm::json::Value reference(const clang::Expr &expression, const clang::ValueDecl &decl);
  llvm::json::Value call(const clang::CallExpr &call);
  llvm::json::Value binary(const clang::Expr &expression);
  llvm::json::Value unary(const clang::Expr &expression);
  llvm::json::Value cast(const clang::Expr &expression);
  llvm::json::Value all(const char *kind, const clang::Stmt &parent);

  const clang::ASTContext &context_;
  const Places &places_;
  Variables &variables_;
};

}  // namespace vprof
