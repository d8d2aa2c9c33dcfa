// Descriptor entries -> the text that calls vprof/vprof.h from a function (macros of vprof_prelude.h).
//
// Those at calls are CallHooks' part. All expressions here are evaluated at entry, over the parameters; exit hooks run
// by cleanup, so on every way out. The word `return` as a dequeued task means the returned value; then the function's
// return statements are rewritten as well, and a returned 0 (or a way out without return) dequeues nothing.
#pragma once

#include <string>
#include <vector>

#include "Descriptor.h"
#include "llvm/Support/Error.h"

namespace clang {
class FunctionDecl;
class ReturnStmt;
class Stmt;
}  // namespace clang

namespace vprof {

/// What the shape of the function forbids; the expressions themselves are left to the compiler.
llvm::Error checkHook(const Hook &hook, const clang::FunctionDecl &function);

/// Declarations to put behind the function's brace.
std::string hookText(const Hook &hook, const clang::FunctionDecl &function);

/// "interval/0" as part of a C name.
std::string nameOf(const Hook &hook);

/// A call of one of vprof_prelude.h's macros.
std::string macroCall(const std::string &macro, std::initializer_list<std::string> arguments);

/// An entry of interval, queue or lock by the macros of one place: ENTRY, EXIT or AT.
std::string eventText(const Hook &hook, const std::string &place);

/// The descriptor entry whose inserted text in `text` reaches over `offset`, or "".
std::string entryAt(const std::string &text, size_t offset);

/// Those of lambdas and local classes are not the function's.
std::vector<const clang::ReturnStmt *> findReturns(const clang::Stmt &body);

}  // namespace vprof
