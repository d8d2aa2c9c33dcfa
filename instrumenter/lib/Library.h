// Calls into C++ code that is no function of the unit -> the program's functions behind it.
//
// Such code is what system headers define (std::sort, std::function) and what the compiler writes (implicit and
// defaulted members). It carries no probe and no metadata of its own, so that a call of it stands for what it leads to.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Calls.h"

namespace vprof {

class Library {
 public:
  explicit Library(const clang::ASTContext &context) : context_(context) {}

  /// What a call leads to. `takes_long`: into a function that may.
  struct Reach {
    std::vector<Callee> callees;  ///< of the program, by pointer, virtual, taken or through
    bool takes_long = false;
  };

  /// The body of library code that `decl` is defined by, null for all other functions.
  const clang::FunctionDecl *definitionOf(const clang::FunctionDecl *decl) const;

  /// REQUIRES: `definition` comes from definitionOf.
  const Reach &reach(const clang::FunctionDecl *definition);

 private:
  /// What the text of one or several library functions calls.
  struct Closure {
    std::set<Callee> callees;
    std::set<std::pair<const clang::FunctionDecl *, std::string>> taken;  ///< library code whose address is taken
    bool takes_long = false;
  };
  struct Facts : Closure {
    std::vector<const clang::FunctionDecl *> inner;  ///< library code called by this
  };

  const Facts &factsOf(const clang::FunctionDecl *definition);
  Closure closureOf(const clang::FunctionDecl *definition);
  void add(Facts &facts, const Callee &callee);

  const clang::ASTContext &context_;
  std::map<const clang::FunctionDecl *, Facts> facts_;
  std::map<const clang::FunctionDecl *, Reach> reaches_;
};

/// A function outside of the program that may wait or work for long, as far as its header and attributes tell.
bool mayTakeLong(const clang::FunctionDecl &decl, const clang::ASTContext &context);

/// Of memory: malloc, free, new, delete and the like.
bool isAllocation(const clang::FunctionDecl &decl);

}  // namespace vprof
