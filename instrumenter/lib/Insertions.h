// Text that is inserted into sources: what the rewriter says, what is written.
#pragma once

#include <map>
#include <string>

#include "llvm/ADT/StringRef.h"

namespace vprof {

/// Text between two tokens: what belongs to the token before comes first. It never contains a newline, so lines stay.
struct Insertion {
  std::string behind;  ///< behind the token that ends here
  std::string before;  ///< before the token that begins here
};

/// Insertions by file (as the compiler names it) and offset.
using Edits = std::map<std::string, std::map<unsigned, Insertion>>;

/// The text with insertions by offset; a blank keeps words apart that would become one.
std::string withInsertions(llvm::StringRef original, const std::map<unsigned, Insertion> &insertions);

}  // namespace vprof
