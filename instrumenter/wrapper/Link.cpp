#include "Link.h"

#include <algorithm>

namespace vprof {
namespace {

bool has(const Arguments &arguments, const std::string &option) {
  return std::find(arguments.begin(), arguments.end(), option) != arguments.end();
}

bool makesLibrary(const Arguments &arguments) {
  return has(arguments, "-shared") || has(arguments, "--shared");
}

/// The functions of the C library are then wrapped by the linker (runtime/src/interpose.h).
bool isStatic(const Arguments &arguments) {
  return (has(arguments, "-static") || has(arguments, "-static-pie")) && !makesLibrary(arguments);
}

/// A sanitizer's library insists on being first, before what comes by LD_PRELOAD. A library that is asked for in other
/// words is one that we would take for a program. And LD_PRELOAD takes no path with a space or a colon.
bool mustBeLinked(const Arguments &arguments, const Tools &tools) {
  return tools.library.find_first_of(" :") != std::string::npos ||
         std::any_of(arguments.begin(), arguments.end(), [](const std::string &argument) {
           return argument.compare(0, 10, "-fsanitize") == 0 || argument == "-Wl,-shared" ||
                  argument == "-Wl,-Bshareable";
         });
}

/// Inputs from here on are taken for sources of one language.
bool namesLanguage(const Arguments &arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string &argument) { return argument.compare(0, 2, "-x") == 0; });
}

/// What a link gets of the runtime. What rewritten code calls of it is weak; what the program's own source calls of
/// vprof.h comes out of the archive, if there is such a call.
Arguments runtimeFor(Runtime runtime, const Arguments &arguments, const Tools &tools) {
  const std::string search = "-Wl,-rpath," + tools.library, calls = tools.library + "/libvprof_calls.a";
  const Arguments whole = {"-L" + tools.library, "-Wl,--push-state,--no-as-needed", "-lvprof", "-Wl,--pop-state"};
  Arguments parts;
  if (isStatic(arguments)) {
    // Weak references bring nothing out of an archive. A static PIE that has a search path ends at its start (glibc).
    // Probes before bodies are found by .eh_frame_hdr, for which gcc does not ask here.
    const std::string wrappers = tools.library + "/vprof_wrap";
    parts = {wrappers + ".o", "-Wl,@" + wrappers + ".options", "-Wl,-u,__vprof_register", "-Wl,--eh-frame-hdr"};
    parts.insert(parts.end(), whole.begin(), whole.end());
  } else if (runtime == Runtime::kLinked) {
    parts = whole;
    parts.push_back(search);
  } else if (runtime == Runtime::kPreloaded) {
    parts = {calls};
  } else if (makesLibrary(arguments)) {
    // The dynamic linker loads libvprof with it if there is one. ld lets no program ask so, and glibc takes none.
    parts = {calls, "-Wl,--auxiliary=libvprof.so", search};
  } else {
    parts = {tools.library + "/vprof_start.o", calls, search};
  }
  return parts;
}

}  // namespace

Arguments linkArguments(const CommandLine &line, Arguments arguments, const Tools &tools) {
  if (line.relocatable) return arguments;
  const std::string begin = tools.library + "/vprof_begin.o";
  // libtool spells out all parts of a link that it has watched, objects and libraries, but no options.
  if (line.no_libraries && !has(arguments, begin)) return arguments;
  const Runtime runtime = mustBeLinked(arguments, tools) ? Runtime::kLinked : tools.runtime;
  Arguments added = runtimeFor(runtime, arguments, tools);
  if (namesLanguage(arguments)) added.insert(added.begin(), {"-x", "none"});
  const auto only_inputs = std::find(arguments.begin(), arguments.end(), "--");
  arguments.insert(only_inputs, added.begin(), added.end());
  if (!line.no_libraries) arguments.insert(arguments.begin(), begin);
  return arguments;
}

}  // namespace vprof
