// The part of a target descriptor that rewrites code: hooks and exclusions, read from JSON (annotations/README.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "Types.h"
#include "llvm/Support/Error.h"

namespace vprof {

/// One entry of the tables interval, sync, queue or lock. Expressions are C text, not checked here: the compiler checks
/// them. Names are alternatives, with parameters for one of several overloads.
struct Hook {
  std::string entry;                   ///< table / position, e.g. "interval/0"
  std::string table;                   ///< interval | sync | queue | lock
  std::string action;                  ///< event of an interval or lock, role of the others
  std::vector<std::string> functions;  ///< get the hook
  std::vector<std::string> calls;      ///< if any: it is at the calls of these, not at the function's entry or exit
  std::string file;                    ///< glob of the files the function may stand in, "" for all
  bool late = false;                   ///< at exit, or after the call
  std::string value;                   ///< id, object or task; empty: of a sync wait, perhaps of a lock's release_all
  std::string type;                    ///< interval begin and end only, may be empty
  std::string name;                    ///< of waits: sync acquire and wait at a call, may be empty
  std::string created_at;              ///< interval begin only, may be empty: ns of the clock when it was created
  std::string clock;                   ///< its number, if created_at is there
  std::string mode;                    ///< lock only: S, X, an expression, or empty
  std::string owner;                   ///< lock only, may be empty

  /// True if the entry is about this function.
  bool names(const Function &candidate) const;

  /// True if the entry is about calls of this function.
  bool namesCallOf(const clang::FunctionDecl &callee) const;

  /// The value is what the function itself returns.
  bool ofReturned() const { return table == "queue" && late && calls.empty() && value == "return"; }
};

struct Descriptor {
  std::vector<Hook> hooks;
  std::vector<std::string> probe;                ///< globs of function names that get a site however small they are
  std::vector<std::string> exclude;              ///< globs of function names that get no site
  std::optional<std::vector<std::string>> only;  ///< a plan: if given, no other function gets a site
  std::vector<std::string> ignore_for_height;    ///< globs of error and exit functions, passed on in the metadata

  bool excludes(const std::string &name) const;
  bool probes(const std::string &name) const;
  bool plans(const std::string &name) const;
  /// By a pattern of `probe` that is not about all functions.
  bool asksFor(const std::string &name) const;
};

/// Reads the JSON file; unknown keys are ignored. The error is one line that names the entry and what is wrong with it.
llvm::Expected<Descriptor> readDescriptor(const std::string &path);

}  // namespace vprof
