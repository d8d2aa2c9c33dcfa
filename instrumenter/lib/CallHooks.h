// Descriptor entries at calls -> the text around each of the calls.
//
//   before:  (EVENT, f(x))
//   after:   (value = f(x), EVENT, value)      (f(x), EVENT) if f returns nothing
//   sync:    (object = ..., BEGIN, value = f(x), END, value)     in C++ END also if an exception leaves f
//   name:    (waits = COUNT, ..., value = f(x), ..., waited since ? NAME : nothing, value)
//
// The calls stay where they are, so temporaries live as long as before, and expressions see the variables in scope
// there. What is kept lies in variables of its own behind the function's brace, one for each call: calls may nest and
// be unsequenced. Events before a call are in the order of the entries, those after it in the reverse order, as at a
// function's entry and exit.
#pragma once

#include <string>
#include <vector>

#include "Descriptor.h"
#include "Types.h"
#include "llvm/Support/Error.h"

namespace vprof {

/// Text to put around a call as written; in a list outer calls are before those they contain.
struct CallText {
  const clang::Expr *call = nullptr;
  std::string before;
  std::string after;
};

struct CallHooks {
  std::string declarations;  ///< to put behind the function's brace
  std::vector<CallText> texts;
  std::vector<std::string> matched;  ///< entries that apply to a call
};

/// `hooks` are entries with `calls` that name the function. The error names a call that cannot carry its entry.
llvm::Expected<CallHooks> hookCalls(const Function &function, const std::vector<const Hook *> &hooks);

}  // namespace vprof
