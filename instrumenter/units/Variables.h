// The variables that a unit of text names, numbered in the order of their first mention.
#pragma once

#include <map>
#include <vector>

#include "llvm/Support/JSON.h"

namespace clang {
class ASTContext;
class VarDecl;
}  // namespace clang

namespace vprof {

class Variables {
 public:
  explicit Variables(const clang::ASTContext &context) : context_(context) {}

  /// The number of a variable or parameter.
  unsigned number(const clang::VarDecl &variable);

  /// All that were numbered, in order: {name, local, parameter, reference, volatile, destructor, text}.
  /// `local`: no other function can name it, and it dies with the function. `volatile`: or atomic. `destructor`: its
  /// end runs code. `text`: what it always holds, if that is a string literal.
  llvm::json::Array describe() const;

 private:
  const clang::ASTContext &context_;
  std::map<const clang::VarDecl *, unsigned> numbers_;
  std::vector<const clang::VarDecl *> variables_;
};

}  // namespace vprof
