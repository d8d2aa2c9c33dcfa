#include "CommandLine.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace vprof {
namespace {

bool startsWith(const std::string &text, const std::string &prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

/// Options whose value is the next argument (clang's and gcc's together).
bool takesNextArgument(const std::string &option) {
  static const std::set<std::string> options = {"-o",
                                                "-x",
                                                "-I",
                                                "-L",
                                                "-l",
                                                "-D",
                                                "-U",
                                                "-F",
                                                "-A",
                                                "-B",
                                                "-T",
                                                "-u",
                                                "-z",
                                                "-e",
                                                "-h",
                                                "-V",
                                                "-b",
                                                "-G",
                                                "-include",
                                                "-imacros",
                                                "-include-pch",
                                                "-isystem",
                                                "-iquote",
                                                "-idirafter",
                                                "-isysroot",
                                                "-iprefix",
                                                "-iwithprefix",
                                                "-iwithprefixbefore",
                                                "-imultilib",
                                                "-iframework",
                                                "-ivfsoverlay",
                                                "-cxx-isystem",
                                                "-MF",
                                                "-MT",
                                                "-MQ",
                                                "-MJ",
                                                "-Xlinker",
                                                "-Xassembler",
                                                "-Xpreprocessor",
                                                "-Xclang",
                                                "-Xanalyzer",
                                                "-mllvm",
                                                "-Xopenmp-target",
                                                "-arch",
                                                "-target",
                                                "-aux-info",
                                                "-param",
                                                "--param",
                                                "-specs",
                                                "-wrapper",
                                                "-dumpbase",
                                                "-dumpbase-ext",
                                                "-dumpdir",
                                                "-framework",
                                                "-rpath",
                                                "-Ttext",
                                                "-Tdata",
                                                "-Tbss",
                                                "-working-directory",
                                                "-resource-dir",
                                                "--sysroot",
                                                "-gcc-toolchain",
                                                "--output",
                                                "--language",
                                                "--include",
                                                "-serialize-diagnostics",
                                                "-fmodule-name",
                                                "-mthread-model",
                                                "-stdlib++-isystem",
                                                "-dyld-prefix",
                                                "--config"};
  return options.count(option) != 0;
}

bool asksForNoObject(const std::string &option) {
  static const std::set<std::string> options = {"-E",        "-M",           "-MM",          "-fsyntax-only", "-###",
                                                "--version", "--help",       "-dumpversion", "-dumpmachine",  "-cc1",
                                                "-cc1as",    "--precompile", "--analyze",    "-emit-ast"};
  return options.count(option) || startsWith(option, "-print-") || startsWith(option, "--print-") ||
         startsWith(option, "--help=");
}

/// Splits the text of a response file as gcc does: white space separates, quotes and backslashes keep.
Arguments splitResponse(const std::string &text) {
  Arguments arguments;
  std::string current;
  char quote = 0;
  bool open = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      current += text[++i];
      open = true;
    } else if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      open = true;
    } else if (!quote && std::isspace(static_cast<unsigned char>(c))) {
      if (open) arguments.push_back(current);
      current.clear();
      open = false;
    } else {
      current += c;
      open = true;
    }
  }
  if (open) arguments.push_back(current);
  return arguments;
}

void expandResponses(const Arguments &arguments, Arguments &expanded, int depth) {
  constexpr int kDeepest = 20;  // a file that names itself
  for (const std::string &argument : arguments) {
    std::ifstream file;
    if (argument.size() > 1 && argument[0] == '@' && depth < kDeepest) file.open(argument.substr(1));
    if (!file.is_open()) {
      expanded.push_back(argument);
      continue;
    }
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    expandResponses(splitResponse(text), expanded, depth + 1);
  }
}

std::string suffixOf(const std::string &path) {
  const size_t dot = path.find_last_of("./");
  return dot == std::string::npos || path[dot] != '.' ? "" : path.substr(dot + 1);
}

std::string stemOf(const std::string &path) {
  const std::string name = path.substr(path.find_last_of('/') + 1);
  return name.substr(0, name.find_last_of('.'));
}

/// The language name that -x would have for a file, "" for what is not C or C++ source.
std::string languageBySuffix(const std::string &path, bool cxx) {
  static const std::set<std::string> cxx_suffixes = {"cc", "cp", "cxx", "cpp", "CPP", "c++", "C"};
  const std::string suffix = suffixOf(path);
  if (suffix == "c") return cxx ? "c++" : "c";
  return cxx_suffixes.count(suffix) ? "c++" : "";
}

bool isHeader(const std::string &path, const std::string &language) {
  static const std::set<std::string> suffixes = {"h", "H", "hh", "hp", "hxx", "hpp", "HPP", "h++", "tcc"};
  return language.empty() ? suffixes.count(suffixOf(path)) != 0 : language.find("-header") != std::string::npos;
}

/// -c and -S have nothing to do for it.
bool isLinkerInput(const std::string &path, const std::string &language) {
  static const std::set<std::string> suffixes = {"o", "a", "so", "lo", "obj"};
  return language.empty() && suffixes.count(suffixOf(path)) != 0;
}

/// Reads the arguments from left to right.
class Parser {
 public:
  Parser(CommandLine &line, bool cxx) : line_(line), cxx_(cxx) {}

  void parse() {
    for (position_ = 0; position_ < line_.arguments.size(); ++position_) {
      const std::string argument = line_.arguments[position_];
      if (only_inputs_ || argument.size() < 2 || argument[0] != '-')
        input(argument);
      else if (argument == "--")
        only_inputs_ = true;
      else
        option(argument);
    }
    line_.mode = mode();
    if (line_.mode == Mode::kPassThrough) line_.sources.clear();
  }

 private:
  void option(const std::string &argument) {
    no_object_ |= asksForNoObject(argument);
    compile_ |= argument == "-c" || argument == "-S";
    line_.assembly |= argument == "-S";
    line_.relocatable |= argument == "-r" || argument == "-Wl,-r" || argument == "-Wl,--relocatable";
    line_.no_libraries |= argument == "-nostdlib" || argument == "-nodefaultlibs";
    line_.dependencies |= argument == "-MD" || argument == "-MMD";
    dependency_file_ |= startsWith(argument, "-MF");
    line_.dependency_target |= startsWith(argument, "-MT") || startsWith(argument, "-MQ");
    if (takesNextArgument(argument))
      value(argument);
    else if (startsWith(argument, "-o") && !startsWith(argument, "-object"))
      setOutput(argument.substr(2), {position_});
    else if (startsWith(argument, "-x"))
      setLanguage(argument.substr(2), {position_});
    else if (startsWith(argument, "-l"))
      line_.inputs.push_back(position_);
  }

  void value(const std::string &argument) {
    if (++position_ == line_.arguments.size()) return;
    const std::string &next = line_.arguments[position_];
    if (argument == "-o" || argument == "--output") setOutput(next, {position_ - 1, position_});
    if (argument == "-x" || argument == "--language") setLanguage(next, {position_ - 1, position_});
    if (argument == "-l") line_.inputs.insert(line_.inputs.end(), {position_ - 1, position_});
  }

  void setOutput(const std::string &path, const std::vector<size_t> &indices) {
    line_.output = path;
    line_.output_option.insert(line_.output_option.end(), indices.begin(), indices.end());
  }

  void setLanguage(const std::string &name, const std::vector<size_t> &indices) {
    language_ = name == "none" ? "" : name;
    line_.languages.insert(line_.languages.end(), indices.begin(), indices.end());
  }

  void input(const std::string &path) {
    line_.inputs.push_back(position_);
    header_ |= isHeader(path, language_);
    const std::string language = language_.empty() ? languageBySuffix(path, cxx_) : language_;
    compiled_ += !isLinkerInput(path, language_);
    if (language != "c" && language != "c++")
      line_.others.push_back(position_);
    else
      line_.sources.push_back({position_, path, language == "c" ? Language::kC : Language::kCxx});
  }

  Mode mode() {
    line_.dependencies &= !dependency_file_;
    if (no_object_ || header_ || line_.inputs.empty()) return Mode::kPassThrough;
    if (!compile_) return Mode::kLink;
    if (compiled_ > 1 && !line_.output.empty()) return Mode::kPassThrough;  // one output for all: an error, mostly
    return line_.sources.empty() ? Mode::kPassThrough : Mode::kCompile;
  }

  CommandLine &line_;
  const bool cxx_;
  size_t position_ = 0;
  size_t compiled_ = 0;  ///< inputs with something to do for -c
  std::string language_;
  bool only_inputs_ = false, no_object_ = false, compile_ = false, header_ = false, dependency_file_ = false;
};

bool contains(const std::vector<size_t> &indices, size_t index) {
  return std::find(indices.begin(), indices.end(), index) != indices.end();
}

}  // namespace

Arguments CommandLine::argumentsFor(const Source &source) const {
  Arguments result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool late = i > source.index && contains(languages, i);
    if (i == source.index || (!late && !contains(inputs, i) && !contains(output_option, i)))
      result.push_back(arguments[i]);
  }
  return result;
}

Arguments CommandLine::argumentsForOthers() const {
  Arguments result;
  for (size_t i = 0; i < arguments.size() && !others.empty(); ++i)
    if (contains(others, i) || (!contains(inputs, i) && !contains(output_option, i))) result.push_back(arguments[i]);
  return result;
}

Arguments CommandLine::withObjects(const std::map<size_t, std::string> &objects) const {
  Arguments result;
  std::string said = "none", told = "none";
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    if (contains(languages, i)) {
      if (argument != "-x" && argument != "--language")
        said = startsWith(argument, "-x") ? argument.substr(2) : argument;
      continue;
    }
    const auto object = objects.find(i);
    const bool is_object = object != objects.end();
    const std::string language = is_object ? "none" : said;
    if ((is_object || contains(others, i)) && language != told) {
      result.insert(result.end(), {"-x", language});
      told = language;
    }
    result.push_back(is_object ? object->second : argument);
  }
  return result;
}

std::string CommandLine::objectOf(const Source &source) const {
  return output.empty() ? stemOf(source.path) + (assembly ? ".s" : ".o") : output;
}

CommandLine parseCommandLine(const Arguments &arguments, bool cxx) {
  CommandLine line;
  expandResponses(arguments, line.arguments, 0);
  Parser(line, cxx).parse();
  return line;
}

}  // namespace vprof
