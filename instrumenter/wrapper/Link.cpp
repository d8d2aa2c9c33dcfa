#include "Link.h"

#include <algorithm>

namespace vprof {

Arguments linkArguments(const CommandLine &line, Arguments arguments, const Tools &tools) {
  if (line.relocatable || line.no_libraries) return arguments;
  const Arguments runtime = {"-L" + tools.library, "-Wl,-rpath," + tools.library, "-Wl,--push-state,--no-as-needed",
                             "-lvprof", "-Wl,--pop-state"};
  const bool only_inputs = std::find(arguments.begin(), arguments.end(), "--") != arguments.end();
  arguments.insert(arguments.begin(), tools.library + "/vprof_begin.o");
  if (only_inputs) {
    arguments.insert(arguments.begin() + 1, runtime.begin(), runtime.end());
  } else {
    arguments.insert(arguments.end(), {"-x", "none"});
    arguments.insert(arguments.end(), runtime.begin(), runtime.end());
  }
  arguments.push_back(tools.library + "/vprof_end.o");
  return arguments;
}

}  // namespace vprof
