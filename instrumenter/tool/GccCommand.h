// A command of gcc -> one that clang parses the same unit with.
#pragma once

#include <string>
#include <vector>

namespace vprof {

/// `command` without the options that clang does not know, and without those about warnings, sanitizers, tuning and
/// debug information, whose values may be gcc's own and which a parse does not need. What gcc accepts with a warning,
/// and clang refuses (implicit declarations), is accepted.
std::vector<std::string> clangCommand(const std::vector<std::string> &command);

}  // namespace vprof
