// Objects whose no-ops are joined: as gcc writes them, and as nobody does.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "CommandLine.h"
#include "NoOps.h"

namespace vprof {
namespace {

namespace fs = std::filesystem;

const std::string kFive = "\x90\x90\x90\x90\x90", kOne("\x0f\x1f\x44\x00\x08", 5);

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

void write(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

class NoOps : public testing::Test {
 protected:
  NoOps() : folder_(fs::path(testing::TempDir()) / ("no_ops" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~NoOps() override { fs::remove_all(folder_); }

  /// An object with three functions that begin with no-ops, by gcc.
  std::string compiled(const std::string &options) {
    write(folder_ / "a.c",
          "#define F(name) __attribute__((patchable_function_entry(5, 0))) int name(int n) { return n + 1; }\n"
          "F(one) F(two) F(three)\n");
    const std::string object = folder_ / "a.o";
    const std::string command = "gcc " + options + " -c " + (folder_ / "a.c").string() + " -o " + object;
    EXPECT_EQ(system(command.c_str()), 0);
    return object;
  }

  fs::path folder_;
};

TEST_F(NoOps, AreJoinedOnce) {
  for (const char *options : {"-O2", "-O2 -ffunction-sections -fcf-protection=full", "-O0 -fPIC -g"}) {
    const std::string object = compiled(options);
    ASSERT_EQ(count(read(object), kFive), 3u);
    ASSERT_TRUE(joinNoOps(object));
    EXPECT_EQ(count(read(object), kFive), 0u);
    EXPECT_EQ(count(read(object), kOne), 3u);
    const std::string joined = read(object);
    EXPECT_TRUE(joinNoOps(object));  // there is no table any more
    EXPECT_EQ(read(object), joined);
  }
}

TEST_F(NoOps, OfABrokenObjectStayAsTheyAre) {
  const std::string object = compiled("-O2"), whole = read(object);
  size_t refused = 0;
  for (size_t length = 0; length < whole.size(); length += 7) {
    write(object, whole.substr(0, length));
    if (joinNoOps(object)) continue;
    EXPECT_EQ(read(object), whole.substr(0, length));
    ++refused;
  }
  EXPECT_GT(refused, whole.size() / 14);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(~changed[at]);
    write(object, changed);
    if (!joinNoOps(object)) EXPECT_EQ(read(object), changed);
  }
  write(object, "int main;");
  EXPECT_FALSE(joinNoOps(object));
  EXPECT_FALSE(joinNoOps(folder_ / "none.o"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);
}

TEST(NoOpsOfCommands, AreNotWhereArgumentsMayBeElsewhere) {
  const auto may = [](const Arguments &arguments) {
    return mayHaveNoOps({"ccache", "gcc"}, parseCommandLine(arguments, false));
  };
  EXPECT_TRUE(may({"-O2", "-g", "-fPIC", "-c", "a.c"}));
  for (const char *option : {"-flto", "-flto=auto", "-S", "-pg", "-fsanitize=thread", "-fprofile-use", "-mcmodel=large",
                             "-fipa-pta", "-fno-asynchronous-unwind-tables"})
    EXPECT_FALSE(may({"-O2", option, "-c", "a.c"})) << option;
  EXPECT_FALSE(mayHaveNoOps({"gcc", "-flto"}, parseCommandLine({"-O2", "-c", "a.c"}, false)));
}

}  // namespace
}  // namespace vprof
