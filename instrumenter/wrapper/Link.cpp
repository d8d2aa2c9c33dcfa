#include "Link.h"

#include <algorithm>

namespace vprof {

Arguments linkArguments(const CommandLine &line, Arguments arguments, const Tools &tools) {
  if (line.relocatable || line.no_libraries) return arguments;
  const Arguments runtime = {"-L" + tools.library, "-Wl,-rpath," + tools.library, "-Wl,--push-state,--no-as-needed",
                             "-lvprof", "-Wl,--pop-state"};
  const auto only_inputs = std::find(arguments.begin(), arguments.end(), "--");
  arguments.insert(only_inputs, runtime.begin(), runtime.end());
  arguments.insert(arguments.begin(), tools.library + "/vprof_begin.o");
  return arguments;
}

}  // namespace vprof
