// What releases of LLVM before 16 have not, or have under another name: packaging/compilers.py says which are built.
#pragma once

#include "llvm/ADT/APSInt.h"
#include "llvm/ADT/StringRef.h"

namespace vprof {

inline bool startsWith(llvm::StringRef text, llvm::StringRef prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Whether a number is one of 64 bits, so that getExtValue() is it.
inline bool fits64(const llvm::APSInt &number) {
  return number.isSigned() ? number.isSignedIntN(64) : number.isIntN(63);
}

}  // namespace vprof
