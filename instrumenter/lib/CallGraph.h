// AST -> Unit: the functions defined in a translation unit, what they call, and whose address is taken.
//
// One walk over the declarations outside system headers finds the functions; then each body is walked. A template is
// one function, its text; what its dependent calls call comes from the unit's instantiations. Dead code counts as
// code, functions of headers that the unit does not use do not (Emitted.h). No sites are assigned and nothing is
// rewritten here.
#pragma once

#include "Types.h"

namespace clang {
class ASTContext;
}

namespace vprof {

/// `by_clang`: clang compiles the unit, so what it does not use makes no code.
Unit collectUnit(clang::ASTContext &context, bool by_clang);

}  // namespace vprof
