#include "Commands.h"

#include <algorithm>
#include <filesystem>

#include "NoOps.h"

namespace vprof {
namespace {

Arguments join(const Arguments &first, const Arguments &second) {
  Arguments result = first;
  result.insert(result.end(), second.begin(), second.end());
  return result;
}

/// The compiler with options for the rewritten text where probes stand before bodies: calls are told apart by where
/// they return to, so lines of addresses are wanted. A user who says anything about debug information gets that. The
/// version is one that older tools read (valgrind 3.19 reads none of version 5 by clang); to name it asks for all by
/// itself.
Arguments withLines(const Arguments &compiler, const Arguments &arguments, const char *only_lines) {
  const auto asks = [](const std::string &argument) { return argument.compare(0, 2, "-g") == 0; };
  const Arguments all = join(compiler, arguments);
  return std::any_of(all.begin(), all.end(), asks) ? compiler : join(compiler, {"-gdwarf-4", only_lines});
}

/// The prelude comes behind the user's own -include, so that a precompiled header named there stays the first.
Arguments forRewritten(const Tools &tools) {
  return {"-idirafter", tools.library, "-include", kPreludeName};
}

Commands commandsForClang(const Tools &tools, const Arguments &arguments) {
  Commands commands;
  commands.plain = join(tools.compiler, arguments);
  commands.parse = join(tools.bareCompiler(), arguments);
  commands.rewritten = withOptions(commands.plain, forRewritten(tools));
  if (tools.may_wrap) {
    const Arguments compiler = withLines(tools.compiler, arguments, "-gline-tables-only");
    commands.with_no_ops = withOptions(join(compiler, arguments), join(forRewritten(tools), optionsForClang()));
  }
  commands.verdict = withOptions(commands.plain, {"-fsyntax-only"});
  return commands;
}

/// The arguments of a unit without -o, and with the source in another place and language if one is given.
Arguments gccArguments(const CommandLine &line, const Arguments &source) {
  Arguments result;
  for (size_t i = 0; i < line.arguments.size(); ++i) {
    const auto &dropped = line.output_option;
    if (i == line.sources[0].index && !source.empty())
      result.insert(result.end(), source.begin(), source.end());
    else if (std::find(dropped.begin(), dropped.end(), i) == dropped.end())
      result.push_back(line.arguments[i]);
  }
  return result;
}

/// The dependency file's name and target as they are by default, for a command with another -o.
Arguments dependencyOptions(const CommandLine &line, const std::string &object) {
  const auto asks = [](const std::string &argument) { return argument == "-MD" || argument == "-MMD"; };
  if (std::none_of(line.arguments.begin(), line.arguments.end(), asks)) return {};
  Arguments options;
  if (line.dependencies) options = {"-MF", std::filesystem::path(object).replace_extension(".d")};
  if (!line.dependency_target && !line.output.empty()) options.insert(options.end(), {"-MQ", line.output});
  return options;
}

Commands commandsForGcc(const Unit &unit, const Tools &tools, const Arguments &arguments, const std::string &scratch) {
  const CommandLine line = parseCommandLine(arguments, unit.source.language == Language::kCxx);
  const std::string language = unit.source.language == Language::kC ? "cpp-output" : "c++-cpp-output";
  const std::string rewritten = scratch + "/text";
  const Arguments original_to =
      join(join(tools.compiler, gccArguments(line, {})), dependencyOptions(line, unit.object));
  Commands commands;
  commands.plain = join(tools.compiler, arguments);
  commands.text = scratch + "/original";
  commands.preprocess = join(original_to, {"-E", "-fdirectives-only", "-o", commands.text});
  commands.parse = join(tools.bareCompiler(), arguments);
  // The text is UTF-8 whatever the source was.
  const Arguments to_object = join(gccArguments(line, {"-x", language, rewritten}),
                                   {"-fdirectives-only", "-finput-charset=UTF-8", "-o", unit.object});
  commands.rewritten = join(tools.compiler, to_object);
  if (tools.may_wrap && mayHaveNoOps(tools.compiler, line))
    commands.with_no_ops = join(join(withLines(tools.compiler, arguments, "-g1"), to_object), optionsForGcc());
  commands.verdict = join(original_to, {"-S", "-o", scratch + "/verdict.s"});
  return commands;
}

}  // namespace

Commands commandsFor(const Unit &unit, const Tools &tools, const std::string &scratch) {
  const Arguments arguments = withOptions(unit.arguments, {"-idirafter", tools.include});
  if (tools.family == Family::kGcc) return commandsForGcc(unit, tools, arguments, scratch);
  return commandsForClang(tools, arguments);
}

Arguments withOptions(const Arguments &arguments, const Arguments &options) {
  Arguments result = arguments;
  result.insert(std::find(result.begin(), result.end(), "--"), options.begin(), options.end());
  return result;
}

}  // namespace vprof
