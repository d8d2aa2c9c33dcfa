// Which functions of a unit the compiler makes code of there: only those run, only those need a probe and a
// description.
//
//   main file, what other units may call, variables, addresses taken --> what their code names --> what that code names
//
// Most of a unit's functions are in headers and not used by it, or only by others that are not. "Names" is meant
// widely: calls, destructors of what is constructed, the virtual methods of a class whose table of methods stands here.
// This is about clang; what another compiler makes of the same text is not known.
#pragma once

#include <set>
#include <vector>

#include "llvm/ADT/SmallPtrSet.h"

namespace clang {
class ASTContext;
class CXXMethodDecl;
class CXXRecordDecl;
class FunctionDecl;
class QualType;
class VarDecl;
}  // namespace clang

namespace vprof {

/// True if every function must be taken to make code: by the options, or since the language names functions otherwise.
bool makesCodeOfAll(const clang::ASTContext &context);

/// Functions and variables that make code. REQUIRES: the whole unit is parsed.
class Emitted {
 public:
  explicit Emitted(const clang::ASTContext &context) : context_(context) {}

  /// Adds a definition if it makes code whoever names it; templates do not, their instantiations do.
  void addRoot(const clang::FunctionDecl *definition);
  void add(const clang::FunctionDecl *function);
  void add(const clang::VarDecl *variable);

  /// Adds what the code of all that was added names, at any remove; the definitions among it that have a text.
  std::vector<const clang::FunctionDecl *> close();

 private:
  class Names;
  void addDestructorOf(clang::QualType type);
  void addParts(const clang::CXXRecordDecl &record);
  void addMethodTable(const clang::CXXRecordDecl &record);
  void addNamesIn(const clang::FunctionDecl &definition);
  void addNamesIn(const clang::CXXMethodDecl &method);

  const clang::ASTContext &context_;
  llvm::SmallPtrSet<const void *, 32> seen_;
  std::vector<const clang::FunctionDecl *> functions_;  ///< to look at
  std::vector<const clang::VarDecl *> variables_;       ///< to look at
};

}  // namespace vprof
