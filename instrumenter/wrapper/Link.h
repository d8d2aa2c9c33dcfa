// The arguments of a link that makes a program or shared library with the runtime.
#pragma once

#include "CommandLine.h"
#include "Tools.h"

namespace vprof {

/// `arguments` with vprof_begin.o before all inputs and with the runtime library (runtime/abi/PROBE_ABI.md). Unchanged
/// for what is linked again (-r), and for programs without libraries but what they need to find a runtime they name.
Arguments linkArguments(const CommandLine &line, Arguments arguments, const Tools &tools);

}  // namespace vprof
