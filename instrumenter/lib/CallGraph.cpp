#include "CallGraph.h"

#include <algorithm>
#include <map>
#include <set>

#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Index/USRGeneration.h"
#include "llvm/Support/Path.h"

namespace vprof {
namespace {

std::string typeText(clang::QualType type) {
  return type.getCanonicalType().getUnqualifiedType().getAsString();
}

/// Library functions that compilers expand in place or that cost next to nothing: no reason for a probe in the caller.
bool isCheapLibraryFunction(const clang::Builtin::Context &builtins, unsigned id) {
  static const std::set<llvm::StringRef> headers = {"string.h", "strings.h", "math.h", "ctype.h", "complex.h"};
  const char *header = builtins.getHeaderName(id);
  return header && headers.count(header);
}

class Collector : public clang::RecursiveASTVisitor<Collector> {
 public:
  explicit Collector(clang::ASTContext &context) : context_(context), sources_(context.getSourceManager()) {}

  Unit take() { return std::move(unit_); }

  bool TraverseDecl(clang::Decl *decl) {
    if (decl && decl->getLexicalDeclContext() == context_.getTranslationUnitDecl() && isSystem(decl->getLocation()))
      return true;
    return RecursiveASTVisitor::TraverseDecl(decl);
  }

  bool TraverseFunctionDecl(clang::FunctionDecl *decl) {
    if (!decl->doesThisDeclarationHaveABody()) return RecursiveASTVisitor::TraverseFunctionDecl(decl);
    unit_.functions.push_back(describe(decl));
    function_ = &unit_.functions.back();
    const bool more = RecursiveASTVisitor::TraverseFunctionDecl(decl);
    function_ = nullptr;
    return more;
  }

  bool VisitCallExpr(clang::CallExpr *call) {
    const clang::Expr *callee = call->getCallee()->IgnoreParenImpCasts();
    const clang::FunctionDecl *target = call->getDirectCallee();
    if (target) called_.insert(callee);
    if (!function_) return true;
    const unsigned line = placeOf(sources_, call->getBeginLoc()).second;
    if (target)
      addCall(target, line);
    else
      addIndirectCall(call->getCallee()->getType(), line);
    return true;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr *reference) {
    const auto *target = llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl());
    if (!target || called_.count(reference) || target->getBuiltinID()) return true;
    std::pair<unsigned, std::string> entry(symbol(target), typeText(target->getType()));
    if (taken_.insert(entry).second) unit_.taken.push_back(std::move(entry));
    return true;
  }

  bool VisitStmt(clang::Stmt *statement) {
    if (!function_) return true;
    function_->has_loop |= isLoop(statement);
    if (const auto *attributed = llvm::dyn_cast<clang::AttributedStmt>(statement))
      for (const clang::Attr *attribute : attributed->getAttrs())
        function_->has_musttail |= llvm::isa<clang::MustTailAttr>(attribute);
    if (!llvm::isa<clang::Expr, clang::CompoundStmt, clang::AttributedStmt>(statement)) ++function_->statements;
    for (const clang::Stmt *child : statement->children())
      if (isExpressionStatement(statement, child)) ++function_->statements;
    return true;
  }

 private:
  /// Headers found as system headers, and those of installed packages whatever option found them.
  bool isSystem(clang::SourceLocation location) const {
    if (location.isInvalid()) return false;
    location = sources_.getExpansionLoc(location);
    if (sources_.isInSystemHeader(location)) return true;
    const auto file = sources_.getFileEntryRefForID(sources_.getFileID(location));
    return file && (file->getName().starts_with("/usr/include/") || file->getName().starts_with("/usr/lib/"));
  }

  bool isLoop(const clang::Stmt *statement) const {
    if (llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::IndirectGotoStmt>(statement)) return true;
    const auto *jump = llvm::dyn_cast<clang::GotoStmt>(statement);
    return jump && sources_.isBeforeInTranslationUnit(jump->getLabel()->getLocation(), jump->getGotoLoc());
  }

  /// An expression that stands as a statement: in a block, as the body of a control statement, behind a label.
  static bool isExpressionStatement(const clang::Stmt *parent, const clang::Stmt *child) {
    if (!child || !llvm::isa<clang::Expr>(child)) return false;
    if (llvm::isa<clang::CompoundStmt, clang::LabelStmt>(parent)) return true;
    if (const auto *s = llvm::dyn_cast<clang::IfStmt>(parent)) return child == s->getThen() || child == s->getElse();
    if (const auto *s = llvm::dyn_cast<clang::ForStmt>(parent)) return child == s->getBody();
    if (const auto *s = llvm::dyn_cast<clang::WhileStmt>(parent)) return child == s->getBody();
    if (const auto *s = llvm::dyn_cast<clang::DoStmt>(parent)) return child == s->getBody();
    if (const auto *s = llvm::dyn_cast<clang::SwitchCase>(parent)) return child == s->getSubStmt();
    return false;
  }

  std::string identity(const clang::FunctionDecl *decl) const {
    llvm::SmallString<128> usr;
    clang::index::generateUSRForDecl(decl, usr);
    std::string id = usr.str().str();
    if (!decl->isExternallyVisible()) {
      const clang::FunctionDecl *definition = nullptr;
      if (!decl->isDefined(definition)) definition = decl;
      id += "@" + placeOf(sources_, definition->getLocation()).first;
    }
    return id;
  }

  Function describe(clang::FunctionDecl *decl) const {
    Function function;
    function.decl = decl;
    function.id = identity(decl);
    function.name = decl->getQualifiedNameAsString();
    std::tie(function.file, function.line) = placeOf(sources_, decl->getLocation());
    function.noreturn = decl->isNoReturn();
    return function;
  }

  unsigned symbol(const clang::FunctionDecl *decl) {
    const auto [place, is_new] = symbols_.try_emplace(decl->getCanonicalDecl(), unit_.symbols.size());
    if (is_new) unit_.symbols.push_back({identity(decl), decl->getQualifiedNameAsString(), decl->isNoReturn()});
    return place->second;
  }

  void addCall(const clang::FunctionDecl *target, unsigned line) {
    const clang::Builtin::Context &builtins = context_.BuiltinInfo;
    const unsigned builtin = target->getBuiltinID();
    if (builtin && !builtins.isPredefinedLibFunction(builtin)) return;
    if (!builtin || !isCheapLibraryFunction(builtins, builtin)) function_->has_call = true;
    function_->calls.emplace_back(symbol(target), line);
  }

  void addIndirectCall(clang::QualType callee, unsigned line) {
    function_->has_call = true;
    const clang::QualType pointee = callee->getPointeeType();
    function_->indirect.emplace_back(typeText(pointee.isNull() ? callee : pointee), line);
  }

  clang::ASTContext &context_;
  const clang::SourceManager &sources_;
  Unit unit_;
  Function *function_ = nullptr;
  std::map<const clang::FunctionDecl *, unsigned> symbols_;
  std::set<const clang::Expr *> called_;
  std::set<std::pair<unsigned, std::string>> taken_;
};

}  // namespace

std::pair<std::string, unsigned> placeOf(const clang::SourceManager &sources, clang::SourceLocation location) {
  const clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(location));
  if (place.isInvalid()) return {"", 0};
  llvm::SmallString<128> path(place.getFilename());
  sources.getFileManager().makeAbsolutePath(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return {path.str().str(), place.getLine()};
}

Unit collectUnit(clang::ASTContext &context) {
  Collector collector(context);
  collector.TraverseDecl(context.getTranslationUnitDecl());
  Unit unit = collector.take();
  const clang::SourceManager &sources = context.getSourceManager();
  unit.file = placeOf(sources, sources.getLocForStartOfFile(sources.getMainFileID())).first;
  return unit;
}

}  // namespace vprof
