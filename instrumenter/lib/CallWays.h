// The texts of a unit's functions -> which of them are called only on some ways, and what each calls on all of its own.
//
// Calls count as written: not what C++ implies (destructors, conversions), not through pointers or virtual methods, not
// what only the instantiations of a template resolve. Functions are canonical patterns.
#pragma once

#include <map>
#include <set>
#include <vector>

namespace clang {
class ASTContext;
class FunctionDecl;
}  // namespace clang

namespace vprof {

class CallWays {
 public:
  explicit CallWays(const clang::ASTContext &context) : context_(context) {}

  /// Adds the calls in a definition, whether it makes code here or not: other units that include it say the same.
  void add(const clang::FunctionDecl *definition);

  /// True if a condition decides about a call of the function in its own file: for a function of a header, that is the
  /// same in each unit. REQUIRES: all definitions of the unit were added.
  bool isDecided(const clang::FunctionDecl *definition) const;

  /// What the function calls on every way through it that goes on. REQUIRES: it was added.
  const std::set<const clang::FunctionDecl *> &alwaysCalled(const clang::FunctionDecl *definition) const;

 private:
  const clang::ASTContext &context_;
  std::set<const clang::FunctionDecl *> decided_;
  std::map<const clang::FunctionDecl *, std::set<const clang::FunctionDecl *>> always_;
};

}  // namespace vprof
