// Where statements stand in the text of the main file.
#pragma once

#include <optional>

#include "clang/Basic/SourceLocation.h"

namespace clang {
class ASTContext;
class Stmt;
}  // namespace clang

namespace vprof {

/// Bytes [begin, end) of the main file, and the line of the first one.
struct Place {
  unsigned begin = 0, end = 0, line = 0;
};

class Places {
 public:
  explicit Places(const clang::ASTContext &context) : context_(context) {}

  /// The text that a statement or expression comes from. Of what a macro writes this is the use of the macro. Nothing
  /// if it is not in the main file.
  std::optional<Place> of(clang::SourceRange range) const;

  /// As `of`, with the semicolon behind it.
  std::optional<Place> ofStatement(const clang::Stmt &statement) const;

  /// The line that reports name, also where the text is a macro's.
  unsigned lineOf(clang::SourceLocation location) const;

 private:
  const clang::ASTContext &context_;
};

}  // namespace vprof
