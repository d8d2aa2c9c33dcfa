#include "Link.h"

#include <algorithm>

namespace vprof {

// The functions of the C library are then wrapped by the linker (runtime/src/interpose.h).
static bool isStatic(const Arguments &arguments) {
  const auto has = [&](const char *option) {
    return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
  };
  return (has("-static") || has("-static-pie")) && !has("-shared");
}

Arguments linkArguments(const CommandLine &line, Arguments arguments, const Tools &tools) {
  if (line.relocatable) return arguments;
  const std::string search = "-Wl,-rpath," + tools.library;
  if (line.no_libraries) {
    // libtool spells out all parts of a link that it has watched: begin object and -lvprof, but no options.
    const auto runtime = std::find(arguments.begin(), arguments.end(), "-lvprof");
    if (runtime != arguments.end()) arguments.insert(runtime, search);
    return arguments;
  }
  Arguments runtime = {"-L" + tools.library, "-Wl,--push-state,--no-as-needed", "-lvprof", "-Wl,--pop-state"};
  if (isStatic(arguments)) {
    const std::string wrappers = tools.library + "/vprof_wrap";
    // Nothing refers to the runtime strongly, and weak references bring nothing out of an archive.
    runtime.insert(runtime.begin(), {wrappers + ".o", "-Wl,@" + wrappers + ".options", "-Wl,-u,__vprof_register"});
  } else if (tools.preloaded) {
    runtime.clear();  // the references to it are weak
  } else {
    runtime.push_back(search);  // a static PIE that has a search path ends at its start (glibc)
  }
  const auto only_inputs = std::find(arguments.begin(), arguments.end(), "--");
  arguments.insert(only_inputs, runtime.begin(), runtime.end());
  arguments.insert(arguments.begin(), tools.library + "/vprof_begin.o");
  return arguments;
}

}  // namespace vprof
