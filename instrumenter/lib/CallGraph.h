// AST -> Unit: the functions defined in a translation unit, what they call, and whose address is taken.
//
// One walk over the declarations outside system headers. Calls of builtins (`__builtin_*`) are not calls. Unevaluated
// and dead code counts as code. No sites are assigned and nothing is rewritten here.
#pragma once

#include <string>

#include "Types.h"

namespace clang {
class ASTContext;
class SourceLocation;
class SourceManager;
}  // namespace clang

namespace vprof {

Unit collectUnit(clang::ASTContext &context);

/// The file and line people see (#line is honoured), as an absolute path.
std::pair<std::string, unsigned> placeOf(const clang::SourceManager &sources, clang::SourceLocation location);

}  // namespace vprof
