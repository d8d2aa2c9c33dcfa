// A statement -> what it calls, written or implied: operators, constructors, destructors of local variables and
// temporaries, default arguments, the parts of a range-for. Calls of `__builtin_*` are not calls.
#pragma once

#include <functional>
#include <string>
#include <tuple>

#include "llvm/ADT/SmallVector.h"

namespace clang {
class ASTContext;
class CXXConstructorDecl;
class CXXDestructorDecl;
class FunctionDecl;
class QualType;
class Stmt;
}  // namespace clang

namespace vprof {

struct Callee {
  enum Kind {
    kDirect,
    kVirtual,    ///< `decl` or a method that overrides it
    kPointer,    ///< something of type `type`
    kDependent,  ///< known only in instantiations
    kTaken,      ///< not called: the address of `decl` is taken, as type `type`
    kThrough,    ///< not called: library code that is called as type `type` calls through pointers of type `to`
  };
  Kind kind = kDirect;
  const clang::FunctionDecl *decl = nullptr;
  std::string type = {};
  std::string to = {};

  bool operator<(const Callee &other) const {
    return std::tie(kind, decl, type, to) < std::tie(other.kind, other.decl, other.type, other.to);
  }
};
using Callees = llvm::SmallVector<Callee, 2>;

/// What `statement` itself calls, its children left out.
Callees calleesOf(const clang::Stmt &statement, const clang::ASTContext &context);

/// Constructors of members and bases that no initialiser names, of a defined constructor.
Callees impliedCallees(const clang::CXXConstructorDecl &constructor, const clang::ASTContext &context);

/// Destructors of members and bases, which run behind the body.
Callees impliedCallees(const clang::CXXDestructorDecl &destructor);

/// Calls `visit` for a body's statements in source order, with `written` false for those that only C++ implies.
/// Lambdas' bodies and local classes are left out: they are functions of their own. The second argument is the
/// statement at whose place an implied one runs, the statement itself if it is written.
using Visit = std::function<void(const clang::Stmt &statement, const clang::Stmt &at, bool written)>;
void walk(const clang::Stmt *body, const Visit &visit);

/// Canonical and without noexcept, as in the lists of indirect calls and of addresses taken.
std::string typeText(clang::QualType type, const clang::ASTContext &context);

}  // namespace vprof
