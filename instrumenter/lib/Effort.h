// A function's text -> how much work one call of it is expected to do.
//
// The unit is an operation: an operator, an access to a member or element, an argument, a quarter of a call. Half of a
// branch, the mean case of a switch and four rounds of a loop are expected, and of what follows a branch that leaves,
// half; nothing is expected of what is marked unlikely, ends in a call that does not return, or throws. A call of a
// function that is too small for a probe of its own, or of library code (Library.h), is worth what that does.
#pragma once

#include <map>
#include <set>

#include "Branches.h"

namespace clang {
class ASTContext;
class CallExpr;
class Expr;
class FunctionDecl;
class IfStmt;
class Stmt;
class SwitchStmt;
}  // namespace clang

namespace vprof {

class Library;

class Effort {
 public:
  /// `taken`: functions whose address is taken, as written (canonical patterns).
  Effort(const clang::ASTContext &context, const Library &library, std::set<const clang::FunctionDecl *> taken)
      : context_(context), branches_(context), library_(library), taken_(std::move(taken)) {}

  /// Expected operations of the body. Callees that call back are worth a call. REQUIRES: a definition.
  double of(const clang::FunctionDecl *definition) { return know(definition).effort; }

  /// Whether its own text has a loop. REQUIRES: a definition.
  bool loops(const clang::FunctionDecl *definition) { return know(definition).loops; }

  /// Too little work for a probe of its own (README.md "What gets a probe"). REQUIRES: a definition.
  bool isSmall(const clang::FunctionDecl *definition);

  /// True if compilers see definition and calls together, and are free to expand them.
  bool mayBeExpanded(const clang::FunctionDecl *decl) const;

 private:
  struct Known {
    double effort;
    bool loops;  ///< in its own text
  };

  const Known &know(const clang::FunctionDecl *definition);
  double of(const clang::Stmt *statement);
  double ofChildren(const clang::Stmt &statement);
  double ofBlock(const clang::Stmt &block);
  double ofIf(const clang::IfStmt &branch);
  double ofSwitch(const clang::SwitchStmt &choice);
  double ofCall(const clang::CallExpr &call);
  double ofCallee(const clang::FunctionDecl *callee);
  double roundsOf(const clang::Stmt &statement);

  const clang::ASTContext &context_;
  const Branches branches_;
  const Library &library_;
  const std::set<const clang::FunctionDecl *> taken_;
  std::map<const clang::FunctionDecl *, Known> known_;  ///< those in progress as a call
  bool loops_ = false;                                  ///< a loop was seen in the text that is being read
};

}  // namespace vprof
