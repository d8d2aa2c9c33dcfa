// What one pass over a translation unit finds. The arrow diagram of the instrumenter is in ../README.md.
//
// Unit is what ends up in the metadata chunk (UNIT_METADATA.md gives the fields); Edit is what ends up in the text.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace clang {
class Expr;
class FunctionDecl;
}  // namespace clang

namespace vprof {

/// A function named by a call or by taking its address.
struct Symbol {
  std::string id;
  std::string name;
  bool noreturn = false;
  const clang::FunctionDecl *decl = nullptr;
};

/// A call told apart from others of the same function; its number is its place in the list, from 1.
struct NumberedCall {
  unsigned symbol = 0;  ///< index of the callee, or of the method named by a virtual call
  unsigned line = 0;
  const clang::Expr *expression = nullptr;
};

/// A function defined in the unit. `site` and `left` exclude each other: exactly one is set once sites are assigned.
struct Function {
  const clang::FunctionDecl *decl = nullptr;
  std::string id;
  std::string name;
  std::string file;
  unsigned line = 0;
  std::optional<unsigned> site;
  std::string left;
  bool before_body = false;         ///< its probe is there (BeforeBody.h)
  clang::SourceLocation attribute;  ///< as well: where the attribute goes that asks for the no-op
  bool is_recursive = false;        ///< as well: it calls itself
  bool is_expandable = false;       ///< as well: copies in its callers may be, where it is not seen
  double effort = 0;                ///< Effort.h
  bool may_be_expanded = false;     ///< in its callers: Effort.h
  bool loops = false;               ///< Effort.h
  bool is_small = false;            ///< by its effort
  bool calls_out = false;           ///< of the library, what may take long (Library.h)
  bool always_calls_out = false;    ///< on every way through it
  bool is_decided = false;          ///< its call is, by a condition (CallWays.h)
  bool has_musttail = false;
  bool is_lambda = false;
  bool is_constexpr = false;  ///< as written, consteval included
  bool noreturn = false;
  std::vector<std::pair<unsigned, unsigned>> calls;        ///< index of the symbol, line; each once
  std::vector<std::pair<std::string, unsigned>> indirect;  ///< canonical type of the callee, line
  std::vector<std::pair<unsigned, unsigned>> virtuals;     ///< as calls: the method named by a virtual call
  std::vector<unsigned> always_called;                     ///< symbols of `calls` (CallWays.h)
  std::vector<NumberedCall> numbered;
  std::vector<const clang::Expr *> unplaced;  ///< calls that must not carry the number of an earlier one, and have none
  std::set<const clang::Expr *> as_statements;  ///< of both: where a statement sets the number, not an operand
};

/// Everything known of a translation unit. Symbols are unique by id.
struct Unit {
  std::string file;
  std::string language = "c";
  std::vector<Function> functions;                        ///< those of which code is made
  std::vector<const clang::FunctionDecl *> without_code;  ///< the others
  std::vector<Symbol> symbols;
  std::vector<std::pair<unsigned, std::string>> taken;    ///< index of the symbol, canonical type
  std::set<std::pair<std::string, std::string>> through;  ///< canonical types: code called as one calls the other
  std::vector<std::pair<unsigned, unsigned>> overrides;   ///< symbols: the overriding method, the overridden
  std::vector<std::string> matched;                       ///< descriptor entries applied: "interval/0"
  std::vector<std::string> ignore_for_height;             ///< the descriptor's globs, as they are
  unsigned sites = 0;
};

}  // namespace vprof
