#include "SiteFinder.h"

#include <set>

#include "CompilerText.h"
#include "Names.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Mangle.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {
namespace {

void addIfuncResolvers(const clang::DeclContext &scope, std::set<std::string> &names) {
  for (const clang::Decl *decl : scope.decls()) {
    if (const auto *ifunc = decl->getAttr<clang::IFuncAttr>()) names.insert(ifunc->getResolver().str());
    if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl))
      addIfuncResolvers(*llvm::cast<clang::DeclContext>(decl), names);
  }
}

/// Linker names of functions that run while the program is being relocated: nothing may be called from them.
std::set<std::string> findIfuncResolvers(const clang::ASTContext &context) {
  std::set<std::string> names;
  addIfuncResolvers(*context.getTranslationUnitDecl(), names);
  return names;
}

bool isIfuncResolver(const Function &function, const std::set<std::string> &resolvers) {
  return !resolvers.empty() && !function.decl->isDependentContext() &&
         resolvers.count(clang::ASTNameGenerator(function.decl->getASTContext()).getName(function.decl));
}

/// True if the text at `location` reaches the compiler through the main file, not through -include or a precompiled
/// header.
bool isIncludedByMainFile(const clang::SourceManager &sources, clang::SourceLocation location) {
  if (sources.isLoadedSourceLocation(location)) return false;
  clang::FileID file = sources.getFileID(location);
  while (file != sources.getMainFileID()) {
    const clang::SourceLocation from = sources.getIncludeLoc(file);
    if (from.isInvalid()) return false;
    file = sources.getFileID(from);
  }
  return true;
}

std::string unsafeAttribute(const clang::FunctionDecl &decl) {
  if (decl.hasAttr<clang::NakedAttr>()) return "naked";
  if (decl.hasAttr<clang::AnyX86InterruptAttr>()) return "interrupt";
  if (decl.hasAttr<clang::NoInstrumentFunctionAttr>()) return "no_instrument_function";
  return "";
}

std::string untouchableReason(const Function &function, const clang::SourceManager &sources, bool spare_lambdas) {
  const clang::Stmt *body = function.decl->getBody();
  const clang::CompoundStmt *block = blockOf(*function.decl);
  if (const std::string reason = unsafeAttribute(*function.decl); !reason.empty()) return reason;
  if (!block) return "coroutine";
  if (function.is_constexpr || (spare_lambdas && function.is_lambda && function.decl->isConstexpr()))
    return "constexpr";
  if (function.has_musttail) return "musttail";
  if (block->getLBracLoc().isMacroID() || block->getRBracLoc().isMacroID() || body->getBeginLoc().isMacroID() ||
      body->getEndLoc().isMacroID())
    return "macro";
  if (!isIncludedByMainFile(sources, block->getLBracLoc())) return "before-prelude";
  return "";
}

bool isSmall(const Function &function) {
  return function.is_small && !function.calls_out && !function.decl->isMain();
}

bool isInMainFile(const Function &function) {
  const clang::SourceManager &sources = function.decl->getASTContext().getSourceManager();
  return sources.isWrittenInMainFile(sources.getExpansionLoc(function.decl->getBody()->getBeginLoc()));
}

/// Small functions, by index, that get a probe all the same: since their callers' work would hide them.
///
/// One is what a condition decides about and always leads to a function with a probe, or to one that the unit does not
/// define: that one's time would be the caller's without a word of the decision. The other is what always leads to a
/// call that may take long, which two tests cannot make longer. What a function of a header calls in the main file
/// counts as not defined, as other units see it.
class Spared {
 public:
  explicit Spared(const Unit &unit) : unit_(unit) {
    for (size_t i = 0; i < unit.functions.size(); ++i) defined_[unit.functions[i].id] = i;
    leading_ = closed([&](const Function &function) { return !isSmall(function); }, /*foreign=*/true);
    waiting_ = closed([&](const Function &function) { return function.always_calls_out; }, /*foreign=*/false);
  }

  bool has(size_t index) const {
    return waiting_.count(index) || (leading_.count(index) && unit_.functions[index].is_decided);
  }

 private:
  /// The functions for which `is_one` holds, and those that always call one; `foreign`: what is not defined is one.
  template <typename Predicate>
  std::set<size_t> closed(const Predicate &is_one, bool foreign) const {
    std::set<size_t> found;
    for (size_t i = 0; i < unit_.functions.size(); ++i)
      if (is_one(unit_.functions[i])) found.insert(i);
    for (size_t before = unit_.functions.size() + 1; before != found.size();) {
      before = found.size();
      for (size_t i = 0; i < unit_.functions.size(); ++i)
        if (llvm::any_of(unit_.functions[i].always_called,
                         [&](unsigned symbol) { return leadsTo(found, foreign, unit_.functions[i], symbol); }))
          found.insert(i);
    }
    return found;
  }

  bool leadsTo(const std::set<size_t> &found, bool foreign, const Function &caller, unsigned symbol) const {
    const Symbol &callee = unit_.symbols[symbol];
    const clang::SourceManager &sources = callee.decl->getASTContext().getSourceManager();
    const auto place = defined_.find(callee.id);
    if (callee.noreturn || (place == defined_.end() && isSystem(sources, callee.decl->getLocation()))) return false;
    if (place == defined_.end() || (isInMainFile(unit_.functions[place->second]) && !isInMainFile(caller)))
      return foreign;
    return found.count(place->second);
  }

  const Unit &unit_;
  std::map<std::string, size_t> defined_;
  std::set<size_t> leading_, waiting_;
};

/// A file included several times makes several functions of one text, which cannot carry different probes.
std::string placeOfText(const clang::FunctionDecl &decl, const clang::SourceManager &sources) {
  const auto [file, offset] = sources.getDecomposedExpansionLoc(decl.getBody()->getBeginLoc());
  const auto entry = sources.getFileEntryRefForID(file);
  return (entry ? entry->getName().str() : "") + ":" + std::to_string(offset);
}

}  // namespace

const clang::CompoundStmt *blockOf(const clang::FunctionDecl &function) {
  const clang::Stmt *body = function.getBody();
  if (const auto *whole = llvm::dyn_cast<clang::CXXTryStmt>(body)) return whole->getTryBlock();
  return llvm::dyn_cast<clang::CompoundStmt>(body);
}

std::map<size_t, std::string> findUntouchable(const Unit &unit, const clang::ASTContext &context, bool spare_lambdas) {
  const clang::SourceManager &sources = context.getSourceManager();
  const std::set<std::string> resolvers = findIfuncResolvers(context);
  std::map<std::string, unsigned> uses;
  for (const Function &function : unit.functions) ++uses[placeOfText(*function.decl, sources)];
  for (const clang::FunctionDecl *decl : unit.without_code) ++uses[placeOfText(*decl, sources)];
  std::map<size_t, std::string> untouchable;
  for (size_t i = 0; i < unit.functions.size(); ++i) {
    const Function &function = unit.functions[i];
    std::string reason = untouchableReason(function, sources, spare_lambdas);
    if (reason.empty() && isIfuncResolver(function, resolvers)) reason = "ifunc";
    if (reason.empty() && uses[placeOfText(*function.decl, sources)] > 1) reason = "included-twice";
    if (!reason.empty()) untouchable[i] = reason;
  }
  return untouchable;
}

void addUntouchableByGcc(const Unit &unit, const CompilerText &text, std::map<size_t, std::string> &untouchable) {
  for (size_t i = 0; i < unit.functions.size(); ++i) {
    const clang::FunctionDecl &decl = *unit.functions[i].decl;
    if (decl.hasAttr<clang::TargetAttr>() || decl.hasAttr<clang::TargetClonesAttr>())
      untouchable.try_emplace(i, "target");
    if (const clang::CompoundStmt *block = blockOf(decl); block && !text.sees(block->getLBracLoc()))
      untouchable.try_emplace(i, "unseen");
  }
}

void assignSites(Unit &unit, const std::map<size_t, std::string> &untouchable, const Descriptor &descriptor) {
  const Spared spared(unit);
  for (size_t i = 0; i < unit.functions.size(); ++i) {
    Function &function = unit.functions[i];
    const auto reason = untouchable.find(i);
    if (reason != untouchable.end())
      function.left = reason->second;
    else if (descriptor.excludes(function.name))
      function.left = "excluded";
    else if (isSmall(function) && !spared.has(i) && !descriptor.probes(function.name))
      function.left = "small";
    else if (!descriptor.plans(function.name))
      function.left = "unplanned";
    else
      function.site = unit.sites++;
  }
}

}  // namespace vprof
