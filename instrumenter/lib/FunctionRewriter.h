// Unit with sites + descriptor -> edits: the probe behind each function's brace, the hooks behind the probe.
//
// Insertions are made on the line of the brace, of a call's ends, of `return` for hooks of the returned value, so lines
// stay. Every way out is covered by the cleanup attribute of what the macros of vprof_prelude.h declare.
#pragma once

#include <map>
#include <string>

#include "Descriptor.h"
#include "Insertions.h"
#include "Types.h"
#include "llvm/Support/Error.h"

namespace clang {
class ASTContext;
}

namespace vprof {

/// Also records the applied entries in `unit.matched`. The error names an entry whose function cannot be rewritten.
llvm::Expected<Edits> placeEdits(Unit &unit, const std::map<size_t, std::string> &untouchable,
                                 const Descriptor &descriptor, clang::ASTContext &context);

/// The text of each file with its insertions, by the file's name.
std::map<std::string, std::string> applyEdits(const Edits &edits, clang::ASTContext &context);

}  // namespace vprof
