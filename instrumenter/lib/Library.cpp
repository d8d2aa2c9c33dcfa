#include "Library.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "Names.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {
namespace {

/// An order that is the same in every run, unlike that of addresses.
bool isBeforeInText(const Callee &a, const Callee &b) {
  const auto key = [](const Callee &callee) {
    return std::make_tuple(callee.kind, callee.decl ? callee.decl->getLocation().getRawEncoding() : 0, callee.type,
                           callee.to, callee.decl ? callee.decl->getID() : 0);
  };
  return key(a) < key(b);
}

}  // namespace

const clang::FunctionDecl *Library::definitionOf(const clang::FunctionDecl *decl) const {
  if (!context_.getLangOpts().CPlusPlus || decl->isExternC()) return nullptr;
  const clang::FunctionDecl *definition = nullptr;
  const auto *destructor = llvm::dyn_cast<clang::CXXDestructorDecl>(decl);
  const bool written = decl->isDefined(definition) && !definition->isImplicit() && !definition->isDefaulted();
  if (written) return isSystem(context_.getSourceManager(), definition->getLocation()) ? definition : nullptr;
  if (definition) return definition;
  return destructor && (decl->isImplicit() || decl->isDefaulted()) ? decl : nullptr;
}

void Library::add(Facts &facts, const Callee &callee) {
  if (callee.kind == Callee::kDependent) return;
  const clang::FunctionDecl *inner = callee.decl ? definitionOf(callee.decl) : nullptr;
  if (inner && callee.kind == Callee::kDirect) {
    facts.inner.push_back(inner);
  } else if (inner && callee.kind == Callee::kTaken) {
    facts.taken.emplace(inner, callee.type);
  } else if (callee.kind == Callee::kDirect && isSystem(context_.getSourceManager(), callee.decl->getLocation())) {
    facts.takes_long |= mayTakeLong(*callee.decl, context_);
  } else {
    facts.callees.insert(callee);
  }
}

const Library::Facts &Library::factsOf(const clang::FunctionDecl *definition) {
  const auto [place, is_new] = facts_.try_emplace(definition);
  Facts &facts = place->second;
  if (!is_new) return facts;
  std::set<const clang::Stmt *> called;
  const auto visit = [&](const clang::Stmt &statement, const clang::Stmt &, bool) {
    if (const auto *call = llvm::dyn_cast<clang::CallExpr>(&statement))
      called.insert(call->getCallee()->IgnoreParenImpCasts());
    for (const Callee &callee : calleesOf(statement, context_)) add(facts, callee);
    const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(&statement);
    const auto *target = reference ? llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl()) : nullptr;
    if (target && !target->getBuiltinID() && !called.count(reference))
      add(facts, {Callee::kTaken, target, typeText(target->getType(), context_)});
  };
  walk(definition->getBody(), visit);
  if (const auto *constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(definition))
    for (const clang::CXXCtorInitializer *initializer : constructor->inits()) walk(initializer->getInit(), visit);
  if (const auto *destructor = llvm::dyn_cast<clang::CXXDestructorDecl>(definition))
    for (const Callee &callee : impliedCallees(*destructor)) add(facts, callee);
  return facts;
}

Library::Closure Library::closureOf(const clang::FunctionDecl *definition) {
  Closure closure;
  std::set<const clang::FunctionDecl *> seen = {definition};
  std::vector<const clang::FunctionDecl *> todo = {definition};
  while (!todo.empty()) {
    const Facts &facts = factsOf(todo.back());
    todo.pop_back();
    closure.takes_long |= facts.takes_long;
    closure.callees.insert(facts.callees.begin(), facts.callees.end());
    closure.taken.insert(facts.taken.begin(), facts.taken.end());
    for (const clang::FunctionDecl *inner : facts.inner)
      if (seen.insert(inner).second) todo.push_back(inner);
  }
  return closure;
}

const Library::Reach &Library::reach(const clang::FunctionDecl *definition) {
  const auto [place, is_new] = reaches_.try_emplace(definition);
  if (!is_new) return place->second;
  Closure closure = closureOf(definition);
  for (const auto &[taken, type] : closure.taken)
    for (const Callee &callee : closureOf(taken).callees) {
      if (callee.kind == Callee::kDirect || callee.kind == Callee::kVirtual)
        closure.callees.insert({Callee::kTaken, callee.decl, type});
      else if (callee.kind == Callee::kPointer && callee.type != type)
        closure.callees.insert({Callee::kThrough, nullptr, type, callee.type});
    }
  place->second.takes_long = closure.takes_long;
  place->second.callees.assign(closure.callees.begin(), closure.callees.end());
  std::sort(place->second.callees.begin(), place->second.callees.end(), isBeforeInText);
  return place->second;
}

bool mayTakeLong(const clang::FunctionDecl &decl, const clang::ASTContext &context) {
  static const std::set<llvm::StringRef> cheap = {"string.h", "strings.h", "wchar.h", "math.h",
                                                  "ctype.h",  "complex.h", "setjmp.h"};
  if (!isSystem(context.getSourceManager(), decl.getLocation())) return false;
  if (decl.isNoReturn() || decl.hasAttr<clang::ConstAttr>() || decl.hasAttr<clang::PureAttr>()) return false;
  const unsigned builtin = decl.getBuiltinID();
  const char *header = builtin ? context.BuiltinInfo.getHeaderName(builtin) : nullptr;
  return !(header && cheap.count(header)) && !isAllocation(decl);
}

bool isAllocation(const clang::FunctionDecl &decl) {
  if (decl.isReplaceableGlobalAllocationFunction()) return true;
  switch (decl.getBuiltinID()) {
    case clang::Builtin::BImalloc:
    case clang::Builtin::BIcalloc:
    case clang::Builtin::BIrealloc:
    case clang::Builtin::BIfree:
      return true;
    default:
      return false;
  }
}

}  // namespace vprof
