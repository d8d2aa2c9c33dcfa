// AST -> Unit: the functions defined in a translation unit, what they call, and whose address is taken.
//
// One walk over the declarations outside system headers finds the functions; then each body is walked. A template is
// one function, its text; what its dependent calls call comes from the unit's instantiations. Dead code counts as
// code. No sites are assigned and nothing is rewritten here.
#pragma once

#include "Types.h"

namespace clang {
class ASTContext;
}

namespace vprof {

Unit collectUnit(clang::ASTContext &context);

}  // namespace vprof
