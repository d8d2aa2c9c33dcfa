#include "Insertions.h"

#include "clang/Basic/CharInfo.h"

namespace vprof {
namespace {

bool areOneWord(char left, char right) {
  return clang::isAsciiIdentifierContinue(left, /*AllowDollar=*/true) &&
         clang::isAsciiIdentifierContinue(right, /*AllowDollar=*/true);
}

/// Adds text that begins a token of its own.
void append(std::string &text, llvm::StringRef next) {
  if (!text.empty() && !next.empty() && areOneWord(text.back(), next.front())) text += ' ';
  text += next;
}

}  // namespace

std::string withInsertions(llvm::StringRef original, const std::map<unsigned, Insertion> &insertions) {
  std::string text;
  size_t done = 0;
  for (const auto &[offset, inserted] : insertions) {
    for (const llvm::StringRef next : {original.slice(done, offset), {inserted.behind}, {inserted.before}})
      append(text, next);
    done = offset;
  }
  append(text, original.substr(done));
  return text;
}

}  // namespace vprof
