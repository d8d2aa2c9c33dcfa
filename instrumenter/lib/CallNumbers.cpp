#include "CallNumbers.h"

#include <map>
#include <set>

#include "Calls.h"
#include "Names.h"
#include "SiteFinder.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
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
    if (llvm::isa<clang::CXXOperatorCallExpr, clang::UserDefinedLiteral>(call)) return nullptr;
    const Callees callees = calleesOf(call, context_);
    const bool names =
        callees.size() == 1 && (callees[0].kind == Callee::kDirect || callees[0].kind == Callee::kVirtual);
    return names ? callees[0].decl : nullptr;
  }

  std::optional<unsigned> find(const clang::FunctionDecl &decl) const {
    if (decl.getBuiltinID() || decl.isConstexpr() || decl.hasAttr<clang::ReturnsTwiceAttr>()) return std::nullopt;
    if (llvm::isa<clang::CXXConversionDecl>(decl)) return std::nullopt;
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
  const clang::CallExpr *expression;
  unsigned symbol;
  std::vector<size_t> around;  ///< calls among whose arguments it is, outermost first
};

/// The calls of one body, written in its own file and run by it, in source order.
class Finder : public clang::RecursiveASTVisitor<Finder> {
 public:
  Finder(Symbols &symbols, const clang::FunctionDecl &function)
      : symbols_(symbols), sources_(function.getASTContext().getSourceManager()), block_(blockOf(function)) {
    TraverseStmt(const_cast<clang::CompoundStmt *>(block_));
  }

  std::vector<Call> calls;

  bool TraverseTypeLoc(clang::TypeLoc) { return true; }
  bool TraverseAttr(clang::Attr *) { return true; }

  bool TraverseDecl(clang::Decl *decl) {
    const auto *variable = llvm::dyn_cast_or_null<clang::VarDecl>(decl);
    return !variable || variable->isConstexpr() ? true : RecursiveASTVisitor::TraverseDecl(decl);
  }

  bool dataTraverseStmtPre(clang::Stmt *statement) {
    if (llvm::isa<clang::UnaryExprOrTypeTraitExpr, clang::CXXNoexceptExpr, clang::CXXTypeidExpr, clang::ConstantExpr,
                  clang::GenericSelectionExpr, clang::LambdaExpr, clang::BlockExpr, clang::RequiresExpr,
                  clang::OMPExecutableDirective>(statement))
      return false;
    if (const auto *call = llvm::dyn_cast<clang::CallExpr>(statement)) note(*call);
    return true;
  }

  bool dataTraverseStmtPost(clang::Stmt *statement) {
    if (!open_.empty() && calls[open_.back()].expression == statement) open_.pop_back();
    return true;
  }

 private:
  void note(const clang::CallExpr &call) {
    const auto symbol = symbols_.of(call);
    if (!symbol || !isInBlock(call.getBeginLoc()) || !isInBlock(call.getRParenLoc()) || !seen_.insert(&call).second)
      return;
    calls.push_back({&call, *symbol, open_});
    open_.push_back(calls.size() - 1);
  }

  bool isInBlock(clang::SourceLocation place) const {
    return place.isFileID() && sources_.isWrittenInSameFile(place, block_->getLBracLoc());
  }

  Symbols &symbols_;
  const clang::SourceManager &sources_;
  const clang::CompoundStmt *block_;
  std::vector<size_t> open_;
  std::set<const clang::CallExpr *> seen_;
};

/// Drops calls among the arguments of another of the same function: that one's number counts for them.
void dropInner(std::vector<Call> &calls) {
  std::vector<Call> kept;
  for (const Call &call : calls)
    if (std::none_of(call.around.begin(), call.around.end(),
                     [&](size_t outer) { return calls[outer].symbol == call.symbol; }))
      kept.push_back(call);
  calls = std::move(kept);
}

/// Drops calls with others among their arguments, then those whose function is called at no other place.
std::vector<Call> toNumber(std::vector<Call> calls) {
  const std::vector<Call> all = calls;
  dropInner(calls);
  std::map<unsigned, unsigned> places;
  for (const Call &call : calls) ++places[call.symbol];
  std::set<const clang::CallExpr *> overwritten;
  for (const Call &call : calls)
    if (places[call.symbol] > 1)
      for (size_t outer : call.around) overwritten.insert(all[outer].expression);
  std::vector<Call> chosen;
  for (const Call &call : calls)
    if (places[call.symbol] > 1 && !overwritten.count(call.expression)) chosen.push_back(call);
  return chosen;
}

}  // namespace

void numberCalls(Unit &unit, const clang::ASTContext &context) {
  Symbols symbols(unit, context);
  for (Function &function : unit.functions) {
    if (!function.site) continue;
    for (const Call &call : toNumber(Finder(symbols, *function.decl).calls)) {
      if (function.numbered.size() == kMaxCallNumber) break;
      const unsigned line = placeOf(context.getSourceManager(), call.expression->getBeginLoc()).second;
      function.numbered.push_back({call.symbol, line, call.expression});
    }
  }
}

}  // namespace vprof
