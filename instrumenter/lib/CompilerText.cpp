#include "CompilerText.h"

#include <algorithm>
#include <optional>

#include "OlderClang.h"
#include "clang/Basic/FileManager.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace vprof {
namespace {

/// `# LINE "NAME" FLAGS`: the next line is that one.
struct Marker {
  unsigned line = 0;
  std::string name;
  bool enters = false, returns = false, system = false;
};

/// The name between quotes; gcc escapes quotes and backslashes, and bytes that do not print in octal.
std::string unescape(llvm::StringRef quoted) {
  std::string name;
  while (!quoted.empty()) {
    unsigned code;
    if (quoted.front() != '\\' || quoted.size() == 1) {
      name += quoted.front();
      quoted = quoted.drop_front();
    } else if (quoted.size() > 3 && llvm::isDigit(quoted[1]) && !quoted.substr(1, 3).getAsInteger(8, code)) {
      name += static_cast<char>(code);
      quoted = quoted.drop_front(4);
    } else {
      name += quoted[1];
      quoted = quoted.drop_front(2);
    }
  }
  return name;
}

std::optional<Marker> parseMarker(llvm::StringRef line) {
  Marker marker;
  line = line.ltrim();  // as the directive was, whose line it takes
  if (!line.consume_front("# ") || line.consumeInteger(10, marker.line) || !line.consume_front(" \""))
    return std::nullopt;
  const auto [quoted, flags] = line.rsplit('"');
  marker.name = unescape(quoted);
  marker.enters = flags.contains(" 1");
  marker.returns = flags.contains(" 2");
  marker.system = flags.contains(" 3");
  return marker;
}

/// The offset of a line of the file, from 1, and its text.
std::pair<unsigned, llvm::StringRef> lineOf(const clang::SourceManager &sources, clang::FileID file, unsigned line) {
  const unsigned offset = sources.getFileOffset(sources.translateLineCol(file, line, 1));
  return {offset, sources.getBufferData(file).substr(offset).split('\n').first.rtrim('\r')};
}

/// One line for all text between two directives, at line 0 of a header of its own: so code from there has no line in
/// the debug information.
std::string atNoLine(llvm::StringRef text) {
  std::string result, region;
  bool in_directive = false;
  const auto end_region = [&] {
    if (!region.empty()) result += "# 0 \"<vprof>\" 3\n" + region + "\n";
    region.clear();
  };
  while (!text.empty()) {
    const auto [line, rest] = text.split('\n');
    text = rest;
    if (in_directive || startsWith(line, "#")) {
      end_region();
      result += line.str() + "\n";
      in_directive = line.take_back() == "\\";
    } else {
      region += line.str() + " ";
    }
  }
  end_region();
  return result;
}

/// Takes the files that were left from the end of `files`. gcc 12 does not say that it enters some files (libstdc++'s
/// bits/time_members.h is one), so a return may be one to the file that seems to be read. A name that was never entered
/// is one of #line.
void returnTo(const std::string &name, std::vector<std::string> &files) {
  const size_t count = files.size();
  if (count < 2 || (files[count - 2] != name && files.back() == name)) return;
  const auto entered = std::find(files.rbegin() + 1, files.rend(), name);
  files.resize(entered == files.rend() ? count - 1 : files.rend() - entered);
}

}  // namespace

CompilerText::CompilerText(std::string text, const clang::SourceManager &sources)
    : text_(std::move(text)), sources_(sources) {
  addLines();
  if (problem_.empty() && main_file_ == 0) problem_ = "the compiler's text does not name the main file";
}

/// Follows the markers: which file is read is known from where one is entered and left; another name in between comes
/// from #line.
void CompilerText::addLines() {
  std::vector<std::string> files;  // the names under which they were entered
  std::string presumed;
  unsigned number = 0;
  bool is_system = false, command_line_read = false;
  for (size_t offset = 0, end; offset < text_.size(); offset = end + 1) {
    end = std::min(text_.find('\n', offset), text_.size());
    const llvm::StringRef line(text_.data() + offset, end - offset);
    if (const std::optional<Marker> marker = parseMarker(line)) {
      if (files.empty() || marker->enters) files.push_back(marker->name);
      if (marker->returns) returnTo(marker->name, files);
      command_line_read |= marker->name == "<command-line>";
      if (command_line_read && !main_file_ && files.size() == 1 && marker->name == files[0]) main_file_ = offset;
      presumed = pathOf(marker->name) == pathOf(files.back()) ? "" : marker->name;
      number = marker->line;
      is_system = marker->system;
      continue;
    }
    if (!is_system && main_file_) {
      checkLine(line);
      lines_[{pathOf(files.back()), presumed, number}].emplace_back(offset, line.size());
    }
    ++number;
  }
}

/// The prelude says which registers a call changes, and that depends on the instruction set.
void CompilerText::checkLine(llvm::StringRef line) {
  line = line.ltrim();
  if (!line.consume_front("#")) return;
  line = line.ltrim();
  if (!line.consume_front("pragma")) return;
  line = line.ltrim();
  if (line.consume_front("GCC") && startsWith(line.ltrim(), "target")) problem_ = "#pragma GCC target";
}

CompilerText::Place CompilerText::placeOf(clang::FileID file, unsigned line) const {
  const std::string &path = pathOf(sources_.getFileEntryRefForID(file)->getName());
  const clang::PresumedLoc presumed = sources_.getPresumedLoc(sources_.translateLineCol(file, line, 1));
  const std::string name = presumed.getFilename();
  return {path, pathOf(name) == path ? "" : name, presumed.getLine()};
}

/// Two lines of a file may claim to be the same one.
bool CompilerText::isAmbiguous(clang::FileID file, const Place &place) const {
  if (!sources_.hasLineTable()) return false;
  const auto [uses, is_new] = uses_.try_emplace(file);
  const unsigned count = is_new ? sources_.getBufferData(file).count('\n') + 1 : 0;
  for (unsigned line = 1; line <= count; ++line) ++uses->second[placeOf(file, line)];
  return uses->second[place] > 1;
}

const std::string &CompilerText::pathOf(llvm::StringRef name) const {
  const auto [place, is_new] = paths_.try_emplace(name.str());
  llvm::SmallString<256> path;
  if (is_new) place->second = llvm::sys::fs::real_path(name, path) ? name.str() : path.str().str();
  return place->second;
}

/// Where the text has a place of a file, once for each time that it includes the file.
std::vector<unsigned> CompilerText::offsetsOf(clang::FileID file, unsigned offset) const {
  const unsigned number = sources_.getLineNumber(file, offset);
  const Place place = placeOf(file, number);
  const auto found = lines_.find(place);
  if (found == lines_.end() || isAmbiguous(file, place)) return {};
  const auto [begin, original] = lineOf(sources_, file, number);
  std::vector<unsigned> offsets;
  for (const auto &[start, length] : found->second)
    if (llvm::StringRef(text_).substr(start, length).rtrim('\r') == original)
      offsets.push_back(start + (offset - begin));
  return offsets;
}

bool CompilerText::sees(clang::SourceLocation place) const {
  const auto [file, offset] = sources_.getDecomposedExpansionLoc(place);
  return !offsetsOf(file, offset).empty();
}

std::string CompilerText::withEdits(const Edits &edits, const std::string &prelude) const {
  std::map<unsigned, Insertion> inserted;
  // gcc takes the file that it opens for the base file.
  const llvm::StringRef main_name = llvm::StringRef(text_).substr(main_file_).split('\n').first.split(' ').second;
  inserted[main_file_].before = "# 1 \"<vprof>\" 1 3\n#undef __BASE_FILE__\n#define __BASE_FILE__ " +
                                main_name.split(' ').second.str() + "\n" + atNoLine(prelude) +
                                "# 0 \"<command-line>\" 2\n";
  for (const auto &[name, insertions] : edits) {
    const auto entry = sources_.getFileManager().getFileRef(name);
    const clang::FileID file = sources_.translateFile(*entry);
    for (const auto &[offset, insertion] : insertions)
      for (const unsigned place : offsetsOf(file, offset)) inserted[place] = insertion;
  }
  return withInsertions(text_, inserted);
}

}  // namespace vprof
