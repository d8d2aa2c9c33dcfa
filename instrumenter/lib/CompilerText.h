// A unit as gcc reads it, one text with the program's headers in place: where a line of a file is in it, and the same
// text with insertions.
//
// Clang can be told to read other text for a file; gcc cannot. So gcc itself puts the unit together (-E
// -fdirectives-only: includes and conditions are done, macros and lines are as they were), vprof-rewrite inserts into
// that, and gcc compiles the result. What a header is, and which parts of it count, is gcc's own view; clang's only
// says what to insert. A function whose lines gcc does not see gets no probe.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "Insertions.h"
#include "Types.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {

class CompilerText {
 public:
  /// `text` is what gcc wrote for the main file of `sources`, which must outlive this.
  CompilerText(std::string text, const clang::SourceManager &sources);

  /// Why the text cannot be instrumented, "" if it can.
  const std::string &problem() const { return problem_; }

  /// True if gcc reads the line of `place` as it is in its file.
  bool sees(clang::SourceLocation place) const;

  /// The text with the insertions at each place where it includes their file, `prelude` before the main file.
  std::string withEdits(const Edits &edits, const std::string &prelude) const;

 private:
  /// File, the name that #line gave it or "", line.
  using Place = std::tuple<std::string, std::string, unsigned>;
  void addLines();
  void checkLine(llvm::StringRef line);
  Place placeOf(clang::FileID file, unsigned line) const;
  bool isAmbiguous(clang::FileID file, const Place &place) const;
  std::vector<unsigned> offsetsOf(clang::FileID file, unsigned offset) const;
  const std::string &pathOf(llvm::StringRef name) const;

  std::string text_;
  const clang::SourceManager &sources_;
  std::string problem_;
  unsigned main_file_ = 0;                                         ///< offset of the marker that begins it
  std::map<Place, std::vector<std::pair<size_t, size_t>>> lines_;  ///< offset, length
  mutable std::map<std::string, std::string> paths_;
  mutable std::map<clang::FileID, std::map<Place, unsigned>> uses_;
};

}  // namespace vprof
