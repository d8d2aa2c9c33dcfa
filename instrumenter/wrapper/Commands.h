// The commands that compile one unit, by the real compiler's family.
//
// Clang reads the rewritten text in place of each file. GCC cannot: it first puts the unit together (-E
// -fdirectives-only), and compiles the text that vprof-rewrite made of that. The dependency file (-MD) is the first
// command's.
#pragma once

#include "CommandLine.h"
#include "Compile.h"
#include "Tools.h"

namespace vprof {

struct Commands {
  Arguments plain;        ///< compiles the original
  Arguments preprocess;   ///< writes the text to instrument; empty: none is needed
  std::string text;       ///< where to
  Arguments parse;        ///< what vprof-rewrite parses
  Arguments rewritten;    ///< compiles the rewritten text; clang needs the manifest in addition
  Arguments with_no_ops;  ///< the same if probes stand before bodies; empty: they may not
  Arguments verdict;      ///< says all about the original; its results are below the scratch directory
};

/// `tools.family` must not be kOther. What a command leaves behind beside the unit's results is below `scratch`.
Commands commandsFor(const Unit &unit, const Tools &tools, const std::string &scratch);

/// `arguments` with `options`, before "--": behind it the compiler takes everything for an input.
Arguments withOptions(const Arguments &arguments, const Arguments &options);

}  // namespace vprof
