// Unit with sites -> numbers for the calls that must be told apart: those of one callee at two or more places of a
// function with a probe (runtime/PROBE_ABI.md "Call numbers").
//
// Left without a number: operators, calls in macros and in unevaluated or constant expressions, callees that can lead
// to no probe, and a call with a numbered call of another function among its arguments, which would overwrite its
// number. Calls of one function inside each other's arguments share a number.
#pragma once

#include "Types.h"

namespace clang {
class ASTContext;
}

namespace vprof {

inline constexpr unsigned kMaxCallNumber = 1023;

/// Fills `numbered` of every function with a site; numbers go up from 1 in source order.
void numberCalls(Unit &unit, const clang::ASTContext &context);

}  // namespace vprof
