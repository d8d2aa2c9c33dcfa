#include "SiteFinder.h"

#include <set>

#include "CompilerText.h"
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
  for (size_t i = 0; i < unit.functions.size(); ++i) {
    Function &function = unit.functions[i];
    const auto reason = untouchable.find(i);
    if (reason != untouchable.end())
      function.left = reason->second;
    else if (descriptor.excludes(function.name))
      function.left = "excluded";
    else if (isSmall(function) && !descriptor.probes(function.name))
      function.left = "small";
    else if (!descriptor.plans(function.name))
      function.left = "unplanned";
    else
      function.site = unit.sites++;
  }
}

}  // namespace vprof
