#include "Places.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Stmt.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

namespace vprof {

std::optional<Place> Places::of(clang::SourceRange range) const {
  const clang::SourceManager &sources = context_.getSourceManager();
  if (range.isInvalid()) return std::nullopt;
  const clang::SourceLocation first = sources.getExpansionLoc(range.getBegin());
  const clang::SourceLocation last = sources.getExpansionRange(range.getEnd()).getEnd();
  const auto [begin_file, begin] = sources.getDecomposedLoc(first);
  const auto [end_file, end] = sources.getDecomposedLoc(last);
  if (begin_file != sources.getMainFileID() || end_file != begin_file || end < begin) return std::nullopt;
  const unsigned length = clang::Lexer::MeasureTokenLength(last, sources, context_.getLangOpts());
  return Place{begin, end + length, lineOf(range.getBegin())};
}

std::optional<Place> Places::ofStatement(const clang::Stmt &statement) const {
  std::optional<Place> place = of(statement.getSourceRange());
  if (!place) return place;
  const clang::SourceManager &sources = context_.getSourceManager();
  const clang::SourceLocation last = sources.getExpansionRange(statement.getEndLoc()).getEnd();
  const auto next = clang::Lexer::findNextToken(last, sources, context_.getLangOpts());
  const bool closed = llvm::isa<clang::CompoundStmt>(statement) || llvm::isa<clang::NullStmt>(statement);
  if (!closed && next && next->is(clang::tok::semi) && sources.isInMainFile(next->getLocation()))
    place->end = sources.getFileOffset(next->getEndLoc());
  return place;
}

unsigned Places::lineOf(clang::SourceLocation location) const {
  return context_.getSourceManager().getExpansionLineNumber(location);
}

}  // namespace vprof
