// The arguments of a link that makes a program or shared library with the runtime.
#pragma once

#include "CommandLine.h"
#include "Tools.h"

namespace vprof {

/// `arguments` with vprof_begin.o before all inputs (runtime/abi/PROBE_ABI.md), and with what the result gets of the
/// runtime (Tools::runtime). Unchanged for what is linked again (-r), and without libraries where nothing of ours is.
Arguments linkArguments(const CommandLine &line, Arguments arguments, const Tools &tools);

}  // namespace vprof
