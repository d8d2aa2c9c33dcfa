// Where the wrapper finds the other programs and files, and what the environment asks for.
#pragma once

#include <string>
#include <vector>

namespace vprof {

/// As -include finds it, behind the program's own headers: no header of a program begins with two underscores.
inline constexpr char kPreludeName[] = "__vprof_prelude.h";

enum class Family { kClang, kGcc, kOther };

/// VPROF_RUNTIME: how programs get libvprof.
enum class Runtime {
  kFound,      ///< they start without, and look for it where there is a session (runtime/src/vprof_start.c)
  kLinked,     ///< they need it to start
  kPreloaded,  ///< they start without; whoever wants to record brings it
};

/// VPROF_PROBES: where probes stand.
enum class Probes {
  kEntry,  ///< before bodies where they may; no call is expanded unseen
  kLight,  ///< the same, but what the compiler expands stays expanded, and is not seen there
  kBody,   ///< in bodies
};

struct Tools {
  std::vector<std::string>
      compiler;  ///< the real compiler, perhaps behind a launcher: "ccache clang"; none if there is none
  Family family = Family::kClang;   ///< the real compiler's
  bool is_rewriters_clang = false;  ///< the clang whose parser vprof-rewrite has: it prints the same
  bool may_wrap = false;            ///< probes before bodies were tried with it: clang 19 or gcc 12 for x86-64
  Probes probes = Probes::kEntry;
  Runtime runtime = Runtime::kFound;
  std::string library;     ///< PREFIX/lib/vprof
  std::string include;     ///< PREFIX/include
  std::string emit_tree;   ///< VPROF_EMIT_TREE or --emit-tree, absolute; "" for none
  std::string descriptor;  ///< VPROF_DESCRIPTOR, "" for none

  /// `compiler` without launchers.
  std::vector<std::string> bareCompiler() const;
  std::string rewriter() const { return library + "/vprof-rewrite"; }
  std::string prelude() const { return library + "/" + kPreludeName; }
};

/// Looks beside the wrapper's own binary: PREFIX/bin/vprof-cc.
Tools findTools(bool cxx);

}  // namespace vprof
