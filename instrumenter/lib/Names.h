// Declarations -> what identifies them over all units, what people call them, and where they stand.
//
// Instantiations of a template have the identity, name and place of the text they come from.
#pragma once

#include <string>
#include <utility>

namespace clang {
class FunctionDecl;
class PrintingPolicy;
class SourceLocation;
class SourceManager;
}  // namespace clang

namespace vprof {

/// The file and line people see (#line is honoured), as an absolute path.
std::pair<std::string, unsigned> placeOf(const clang::SourceManager &sources, clang::SourceLocation location);

/// True for headers found as system headers, and for those of installed packages whatever option found them.
bool isSystem(const clang::SourceManager &sources, clang::SourceLocation location);

/// The declaration in the program's text that `decl` was instantiated from, `decl` itself if it was not.
const clang::FunctionDecl *patternOf(const clang::FunctionDecl *decl);

/// The USR of the pattern; for internal linkage USR + "@" + file; for a lambda that of the enclosing function + its
/// place.
std::string identityOf(const clang::FunctionDecl *decl);

/// Qualified, without parameters and without arguments of implicit instantiations: "ns::Class::method",
/// "outer()::lambda@12".
std::string nameOf(const clang::FunctionDecl *decl);

/// The parameter types as written or in canonical form, without blanks: "(int,conststd::string&)".
std::string parametersOf(const clang::FunctionDecl *decl, bool canonical);

/// How types are written where the program's own text can read them.
clang::PrintingPolicy writtenTypes(const clang::FunctionDecl *decl);

}  // namespace vprof
