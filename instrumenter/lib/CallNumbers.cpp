#include "CallNumbers.h"

#include <map>
#include <set>

#include "Calls.h"
#include "Names.h"
#include "WrittenCalls.h"
#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {
namespace {

/// Functions of the C library that have a probe all the same: the runtime's.
bool isExternal(const clang::FunctionDecl &decl) {
  static const std::set<llvm::StringRef> names = {
#define VPROF_EXTERNAL(type, name, parameters, arguments) #name,
#define VPROF_EXTERNAL_ALIAS(type, symbol, name, parameters, arguments) #symbol,
#include "external_functions.def"
  };
  return decl.isExternC() && decl.getIdentifier() && names.count(decl.getName());
}

/// The functions of a unit that calls may name, by what they are worth here.
class Symbols {
 public:
  Symbols(const Unit &unit, const clang::ASTContext &context) : context_(context) {
    for (unsigned i = 0; i < unit.symbols.size(); ++i) index_[unit.symbols[i].id] = i;
    for (const Function &function : unit.functions)
      if (!function.site && function.calls.empty() && function.indirect.empty() && function.virtuals.empty())
        leaves_.insert(function.id);
  }

  /// The symbol of a call that may lead to a probe, none for all others.
  std::optional<unsigned> of(const clang::CallExpr &call) {
    const clang::FunctionDecl *decl = namedBy(call);
    if (!decl) return std::nullopt;
    const auto [place, is_new] = known_.try_emplace(decl->getCanonicalDecl());
    if (is_new) place->second = find(*decl);
    return place->second;
  }

 private:
  const clang::FunctionDecl *namedBy(const clang::CallExpr &call) const {
    if (!looksLikeCall(call)) return nullptr;
    const Callees callees = calleesOf(call, context_);
    const bool names =
        callees.size() == 1 && (callees[0].kind == Callee::kDirect || callees[0].kind == Callee::kVirtual);
    return names ? callees[0].decl : nullptr;
  }

  std::optional<unsigned> find(const clang::FunctionDecl &decl) const {
    if (decl.getBuiltinID() || decl.isConstexpr() || decl.hasAttr<clang::ReturnsTwiceAttr>()) return std::nullopt;
    if (isSystem(context_.getSourceManager(), decl.getLocation()) && !isExternal(decl)) return std::nullopt;
    const std::string id = identityOf(&decl);
    const auto place = index_.find(id);
    if (place == index_.end() || leaves_.count(id)) return std::nullopt;
    return place->second;
  }

  const clang::ASTContext &context_;
  std::map<std::string, unsigned> index_;
  std::set<std::string> leaves_;
  std::map<const clang::FunctionDecl *, std::optional<unsigned>> known_;
};

struct Call {
  WrittenCall written;
  unsigned symbol;
  bool in_text;
};

std::vector<Call> callsOf(const clang::FunctionDecl &function, Symbols &symbols) {
  std::vector<Call> calls;
  const auto wanted = [&](const clang::CallExpr &call) { return symbols.of(call).has_value(); };
  for (WrittenCall &written : writtenCalls(function, wanted)) {
    const clang::CallExpr &call = *written.expression;
    calls.push_back({std::move(written), *symbols.of(call), isInText(call, function)});
  }
  return calls;
}

/// Drops calls among the arguments of another of the same function: that one's number counts for them.
void dropInner(std::vector<Call> &calls) {
  std::vector<Call> kept;
  for (const Call &call : calls)
    if (llvm::none_of(call.written.around, [&](size_t outer) { return calls[outer].symbol == call.symbol; }))
      kept.push_back(call);
  calls = std::move(kept);
}

/// The functions that are called at several places, all of which can be numbered: a call without a number would carry
/// that of an earlier one.
std::set<unsigned> symbolsToNumber(const std::vector<Call> &calls) {
  std::map<unsigned, unsigned> places;
  std::set<unsigned> hidden, chosen;
  for (const Call &call : calls) {
    ++places[call.symbol];
    if (!call.in_text) hidden.insert(call.symbol);
  }
  for (const auto &[symbol, count] : places)
    if (count > 1 && !hidden.count(symbol)) chosen.insert(symbol);
  return chosen;
}

/// Leaves out calls among whose arguments a number is always set behind theirs.
std::vector<Call> toNumber(std::vector<Call> calls) {
  const std::vector<Call> all = calls;
  dropInner(calls);
  const std::set<unsigned> symbols = symbolsToNumber(calls);
  std::set<const clang::CallExpr *> overwritten;
  for (const Call &call : calls)
    if (symbols.count(call.symbol))
      for (size_t outer : llvm::ArrayRef(call.written.around).drop_front(call.written.conditional))
        overwritten.insert(all[outer].written.expression);
  std::vector<Call> chosen;
  for (const Call &call : calls)
    if (symbols.count(call.symbol) && !overwritten.count(call.written.expression)) chosen.push_back(call);
  return chosen;
}

}  // namespace

void numberCalls(Unit &unit, const clang::ASTContext &context) {
  Symbols symbols(unit, context);
  for (Function &function : unit.functions) {
    if (!function.site) continue;
    for (const Call &call : toNumber(callsOf(*function.decl, symbols))) {
      if (function.numbered.size() == kMaxCallNumber) break;
      const unsigned line = placeOf(context.getSourceManager(), call.written.expression->getBeginLoc()).second;
      function.numbered.push_back({call.symbol, line, call.written.expression});
    }
  }
}

}  // namespace vprof
