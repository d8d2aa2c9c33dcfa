// Unit -> Unit with sites: which functions carry a probe, and why the others do not.
//
// A function is eligible if it does enough (Effort.h), or calls what is outside of the program and may take long
// (Library.h), or always leads to such a call, or is called by a decision that leads to a probe (CallWays.h), or if it
// is main, or the descriptor asks for it. It must also be safe to probe, and not excluded by the
// descriptor. Sites are numbered from 0 in source order, so the same text gives the same numbers. The reasons are
// listed in UNIT_METADATA.md.
#pragma once

#include "Descriptor.h"
#include "Types.h"

namespace clang {
class ASTContext;
class CompoundStmt;
class FunctionDecl;
}  // namespace clang

namespace vprof {

class CompilerText;

/// Functions that must not be touched, by index into `unit.functions`: the reason. Hooks respect this as well as
/// probes. A lambda may be called in a constant expression without saying constexpr; that shows only when a probe in it
/// does not compile, so that `spare_lambdas` leaves out all that could be.
std::map<size_t, std::string> findUntouchable(const Unit &unit, const clang::ASTContext &context, bool spare_lambdas);

/// Adds those that gcc does not read as clang does ("unseen"), and those for another instruction set than the unit's,
/// whose registers the prelude does not know ("target").
void addUntouchableByGcc(const Unit &unit, const CompilerText &text, std::map<size_t, std::string> &untouchable);

/// The braces of a function's body, those behind `try` of a function-try-block; null for a coroutine.
const clang::CompoundStmt *blockOf(const clang::FunctionDecl &function);

/// Sets `site` or `left` of every function, and `unit.sites`.
void assignSites(Unit &unit, const std::map<size_t, std::string> &untouchable, const Descriptor &descriptor);

}  // namespace vprof
