// Unit with sites -> those of its functions whose probe may stand before the body (VPROF_PROBES=entry, light).
//
// Such a function begins with a no-op that becomes a jump to a wrapper: a call of the body from a frame between it and
// its caller (runtime/abi/PROBE_ABI.md "Probes before the body"). So it must be certain that the body has no argument
// on the stack, and that it does not look for its caller's address. docs/design/entry-probes.md says why these rules
// are enough for clang 19, and for gcc with the options of wrapper/NoOps.h. All others, and all functions of a unit
// compiled with options that leave this uncertain, keep their probe in the body.
#pragma once

#include "CompilerText.h"
#include "Descriptor.h"
#include "Types.h"

namespace clang {
class CompilerInstance;
}

namespace vprof {

/// Sets `before_body` of functions with a site. Before call numbers are given: there is none in such functions.
/// `gcc_text`: what gcc reads, if it compiles the unit.
void chooseBeforeBody(Unit &unit, const Descriptor &descriptor, const clang::CompilerInstance &compiler,
                      const CompilerText *gcc_text);

/// As above, for VPROF_PROBES=light: all functions that may be. What takes long at times, and what somebody asks for,
/// is not expanded in callers any more; all others may be.
void chooseBeforeBodyLightly(Unit &unit, const Descriptor &descriptor, const clang::CompilerInstance &compiler,
                             const CompilerText *gcc_text);

}  // namespace vprof
