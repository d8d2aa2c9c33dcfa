// The compiler's record of what it expanded (clang: -fsave-optimization-record, passes `inline`) -> by function,
// whether.
//
// vprof-cc has the original unit compiled once for it, where probes may stand before bodies: what a compiler expands
// depends on all of a unit and on its options, and no rule over the text came near (docs/design/entry-probes.md "Where
// the instructions are"). The probes change what is compiled later, so this is advice: BeforeBody.h is right with any.
#pragma once

#include <string>

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

namespace clang {
class FunctionDecl;
}
namespace llvm::remarks {
class RemarkParser;
}

namespace vprof {

class Expansions {
 public:
  /// Nothing is known.
  Expansions() = default;

  /// Nothing is known either if there is no such file, or it is damaged.
  explicit Expansions(const std::string &path);

  enum class Calls { kUnknown, kNoneExpanded, kSomeExpanded, kAllExpanded };

  /// The calls by name in the unit. Unknown of functions that other units may call, but for private methods that are
  /// not inline: others' calls of those are rare.
  Calls of(const clang::FunctionDecl &function) const;

 private:
  /// Returns what ends it: EndOfFileError if all was read.
  llvm::Error read(llvm::remarks::RemarkParser &parser);

  struct Counts {
    unsigned expanded = 0, kept = 0;
  };

  llvm::StringMap<Counts> counts_;  ///< by the linker's name
  bool known_ = false;
};

}  // namespace vprof
