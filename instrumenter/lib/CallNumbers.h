// Unit with sites -> numbers for the calls that must be told apart: those of one callee at two or more places of a
// function with a probe (runtime/abi/PROBE_ABI.md "Call numbers").
//
// A function is numbered at all of its places or at none, since a call without a number carries that of an earlier one;
// methods that override one another count as one function. Left out are functions that operators, macros, bounds of
// arrays, implied or inlined library code call as well, or a template in calls that only its instantiations resolve,
// and callees that can lead to no probe. A call through a pointer that may lead to a numbered function takes the number
// back.
//
// Also without a number: unevaluated and constant expressions, and a call with a numbered call of another function
// among its arguments, which would overwrite its number. Calls of one function inside each other's arguments share one.
// With gcc, operands of an arithmetic expression that create objects have none.
#pragma once

#include "Types.h"

namespace clang {
class ASTContext;
}

namespace vprof {

inline constexpr unsigned kMaxCallNumber = 1023;

/// Fills `numbered` and `unplaced` of every function with a site, unless its probe is before the body; numbers go up
/// from 1 in source order. `by_gcc`: gcc compiles the unit.
void numberCalls(Unit &unit, const clang::ASTContext &context, bool by_gcc);

}  // namespace vprof
