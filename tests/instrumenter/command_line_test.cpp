// How the wrapper reads compiler command lines.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "CommandLine.h"

namespace {

using vprof::Arguments;
using vprof::CommandLine;
using vprof::Language;
using vprof::Mode;

CommandLine parse(const Arguments &arguments) {
  return vprof::parseCommandLine(arguments, /*cxx=*/false);
}

std::vector<std::string> sourcesOf(const CommandLine &line) {
  std::vector<std::string> paths;
  for (const vprof::Source &source : line.sources) paths.push_back(source.path);
  return paths;
}

using Strings = std::vector<std::string>;

TEST(CommandLine, CompilesOneSource) {
  const CommandLine line = parse({"-O2", "-c", "dir/a.c", "-o", "out/a.o"});
  EXPECT_EQ(line.mode, Mode::kCompile);
  EXPECT_EQ(sourcesOf(line), Strings{"dir/a.c"});
  EXPECT_EQ(line.objectOf(line.sources[0]), "out/a.o");
}

TEST(CommandLine, NamesTheObjectAsTheCompilerDoes) {
  const CommandLine object = parse({"-c", "dir/a.b.c"});
  EXPECT_EQ(object.objectOf(object.sources[0]), "a.b.o");
  const CommandLine assembly = parse({"-S", "dir/a.c"});
  EXPECT_EQ(assembly.objectOf(assembly.sources[0]), "a.s");
}

TEST(CommandLine, LinksSourcesAndObjectsInOneGo) {
  const CommandLine line = parse({"a.c", "b.o", "c.c", "-oprog", "-lm"});
  EXPECT_EQ(line.mode, Mode::kLink);
  EXPECT_EQ(sourcesOf(line), (Strings{"a.c", "c.c"}));
  EXPECT_EQ(line.output, "prog");
}

TEST(CommandLine, LinksObjectsOnly) {
  const CommandLine line = parse({"-o", "prog", "a.o", "libb.a"});
  EXPECT_EQ(line.mode, Mode::kLink);
  EXPECT_TRUE(line.sources.empty());
}

TEST(CommandLine, PassesThroughWhatMakesNoObject) {
  for (const Arguments &arguments : std::vector<Arguments>{{"-E", "a.c"},
                                                           {"-M", "a.c"},
                                                           {"-MM", "a.c"},
                                                           {"-fsyntax-only", "a.c"},
                                                           {"--version"},
                                                           {"-print-search-dirs"},
                                                           {"-c", "a.S"},
                                                           {"-c", "a.i"},
                                                           {"-x", "c-header", "a.h"},
                                                           {"a.h"},
                                                           {"-v"},
                                                           {}})
    EXPECT_EQ(parse(arguments).mode, Mode::kPassThrough) << testing::PrintToString(arguments);
}

TEST(CommandLine, DependencyOptionsDoNotStopACompilation) {
  const CommandLine line = parse({"-MMD", "-MF", "a.d", "-MT", "a.o", "-c", "a.c"});
  EXPECT_EQ(line.mode, Mode::kCompile);
  EXPECT_FALSE(line.dependencies);
  EXPECT_TRUE(line.dependency_target);
  EXPECT_TRUE(parse({"-MD", "-c", "a.c"}).dependencies);
}

TEST(CommandLine, SeparateArgumentsAreNoInputs) {
  const CommandLine line = parse({"-include", "x.c", "-I", "y.c", "-Xclang", "z.c", "-c", "a.c", "-D", "w.c"});
  EXPECT_EQ(sourcesOf(line), Strings{"a.c"});
}

TEST(CommandLine, LanguageOptionHoldsForWhatFollows) {
  const CommandLine line = parse({"-c", "-x", "c", "a.txt", "-xc++", "b.txt", "-x", "none", "c.o"});
  ASSERT_EQ(line.sources.size(), 2u);
  EXPECT_EQ(line.sources[0].language, Language::kC);
  EXPECT_EQ(line.sources[1].language, Language::kCxx);
}

TEST(CommandLine, TheCxxCompilerTakesCForCxx) {
  EXPECT_EQ(vprof::parseCommandLine({"-c", "a.c"}, /*cxx=*/true).sources[0].language, Language::kCxx);
  EXPECT_EQ(parse({"-c", "a.cpp"}).sources[0].language, Language::kCxx);
}

TEST(CommandLine, StandardInputIsASourceOfTheLanguageSaid) {
  const CommandLine line = parse({"-c", "-xc", "-"});
  ASSERT_EQ(line.sources.size(), 1u);
  EXPECT_EQ(line.sources[0].path, "-");
  EXPECT_EQ(parse({"-c", "-"}).mode, Mode::kPassThrough);
}

TEST(CommandLine, ObjectsOfALinkHaveNoLanguage) {
  const CommandLine line = parse({"-xc", "text", "-x", "assembler", "low", "-lm", "b.o"});
  EXPECT_EQ(line.withObjects({{1, "text.o"}}), (Arguments{"text.o", "-x", "assembler", "low", "-lm", "b.o"}));
}

TEST(CommandLine, UnknownOptionsStayInOrder) {
  const Arguments arguments = {"-fnew-thing", "--odd=1", "-c", "a.c", "-weird"};
  const CommandLine line = parse(arguments);
  EXPECT_EQ(line.arguments, arguments);
  EXPECT_EQ(line.argumentsFor(line.sources[0]), arguments);
}

TEST(CommandLine, ArgumentsForOneSourceLeaveOtherInputsAndTheOutputOut) {
  const CommandLine line = parse({"-g", "a.c", "-o", "prog", "b.c", "c.o", "-lm", "-l", "z"});
  EXPECT_EQ(line.argumentsFor(line.sources[1]), (Arguments{"-g", "b.c"}));
}

TEST(CommandLine, KnowsLinksThatAreLinkedAgain) {
  EXPECT_TRUE(parse({"-r", "-o", "x.o", "a.o"}).relocatable);
  EXPECT_FALSE(parse({"-rdynamic", "-o", "x", "a.o"}).relocatable);
  EXPECT_TRUE(parse({"-nostdlib", "-o", "x", "a.o"}).no_libraries);
}

TEST(CommandLine, BehindTheDoubleDashEverythingIsAnInput) {
  const CommandLine line = parse({"-c", "--", "-odd.c"});
  EXPECT_EQ(sourcesOf(line), Strings{"-odd.c"});
  EXPECT_EQ(line.output, "");
}

TEST(CommandLine, ExpandsResponseFiles) {
  const std::string path = testing::TempDir() + "/vprof_response";
  std::ofstream(path) << "-c \"a b.c\"\n-DX='y z' -DQ=\\\"q\\\" ''";
  const CommandLine line = parse({"-g", "@" + path});
  EXPECT_EQ(line.arguments, (Arguments{"-g", "-c", "a b.c", "-DX=y z", "-DQ=\"q\"", ""}));
  EXPECT_EQ(sourcesOf(line), Strings{"a b.c"});
  std::remove(path.c_str());
}

TEST(CommandLine, AMissingResponseFileStays) {
  EXPECT_EQ(parse({"-c", "a.c", "@nowhere"}).arguments, (Arguments{"-c", "a.c", "@nowhere"}));
}

}  // namespace
