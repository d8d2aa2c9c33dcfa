// A function's text -> which of its statements run on some ways through it only, and which hardly ever.
#pragma once

#include <functional>

namespace clang {
class ASTContext;
class Expr;
class IfStmt;
class Stmt;
}  // namespace clang

namespace vprof {

class Branches {
 public:
  explicit Branches(const clang::ASTContext &context) : context_(context) {}

  /// True if the text says so (`__builtin_expect`). `condition` may be null: that of `if consteval`.
  bool isUnlikely(const clang::Expr *condition) const;

  /// True if the condition is a constant of the value `wanted`. It may be null.
  bool isAlways(const clang::Expr *condition, bool wanted) const;

  /// True if the statement ends in a call that does not return, or a throw. It may be null.
  bool neverGoesOn(const clang::Stmt *statement) const;

  /// True if the statement is a branch of which one way leaves the block that it is in, and that is not unlikely.
  bool maySkipTheRest(const clang::Stmt &statement) const;

  /// Calls `visit` for `statement`, which may be null, and all below it, lambdas' bodies left out: they are functions
  /// of their own. `sometimes` is true for what a condition decides about: a branch, a case, the right side of a
  /// logical operator, a handler, what is behind a branch that leaves or returns at any depth. No condition decides
  /// about a loop's body, nor about what is left when an error, which does not go on, did not happen. What never runs
  /// is left out.
  using Visit = std::function<void(const clang::Stmt &statement, bool sometimes)>;
  void walk(const clang::Stmt *statement, const Visit &visit) const { walk(statement, /*sometimes=*/false, visit); }

 private:
  bool mayReturn(const clang::Stmt *statement) const;
  void walk(const clang::Stmt *statement, bool sometimes, const Visit &visit) const;
  void walkIf(const clang::IfStmt &branch, bool sometimes, const Visit &visit) const;
  void walkBlock(const clang::Stmt &block, bool sometimes, const Visit &visit) const;

  const clang::ASTContext &context_;
};

}  // namespace vprof
