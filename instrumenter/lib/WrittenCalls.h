// A function -> the calls that its block writes and runs, in source order: text can be put around them.
//
// Left out is what is a function of its own (lambdas, blocks, local classes), and what is no plain code: unevaluated
// and constant expressions, types, OpenMP directives.
#pragma once

#include <functional>
#include <vector>

namespace clang {
class CallExpr;
class FunctionDecl;
}  // namespace clang

namespace vprof {

struct WrittenCall {
  const clang::CallExpr *expression = nullptr;
  std::vector<size_t> around;  ///< calls of the list among whose arguments it is, outermost first
  size_t conditional = 0;      ///< so many of these may run without it: ?:, &&, || or a block stands between
};

/// Those for which `wanted` is true; those that a macro writes are asked for as well.
std::vector<WrittenCall> writtenCalls(const clang::FunctionDecl &function,
                                      const std::function<bool(const clang::CallExpr &)> &wanted);

/// True if text can be put around the call: no macro wrote its ends, and they stand in the function's own file.
bool isInText(const clang::CallExpr &call, const clang::FunctionDecl &function);

/// True for `f(x)` and `a.f(x)`, false for operators, literals and conversions, which may not look like calls.
bool looksLikeCall(const clang::CallExpr &call);

}  // namespace vprof
