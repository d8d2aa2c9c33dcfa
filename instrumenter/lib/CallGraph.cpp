#include "CallGraph.h"

#include <algorithm>
#include <map>
#include <set>

#include "CallWays.h"
#include "Calls.h"
#include "Effort.h"
#include "Emitted.h"
#include "Library.h"
#include "Names.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Mangle.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

namespace vprof {
namespace {

/// Where the text of a function's body begins: the same for all instantiations of a template.
unsigned placeOfBody(const clang::FunctionDecl *decl) {
  return decl->getBody()->getBeginLoc().getRawEncoding();
}

bool hasWrittenBody(const clang::FunctionDecl *decl) {
  return decl->doesThisDeclarationHaveABody() && !decl->isImplicit() && !decl->isDefaulted() && decl->getBody();
}

/// The functions of a unit that make code, their overridings, and the addresses taken; bodies are left to Describer.
class Finder : public clang::RecursiveASTVisitor<Finder> {
 public:
  explicit Finder(const clang::ASTContext &context) : context_(context), sources_(context.getSourceManager()) {}

  /// A function whose address is taken. `within`: the place of the outermost function where that is, or kNowhere.
  struct Taken {
    const clang::FunctionDecl *decl;
    unsigned within;
    bool runs = true;  ///< there is code of it
  };

  bool shouldVisitTemplateInstantiations() const { return true; }

  bool TraverseDecl(clang::Decl *decl) {
    if (!decl) return true;
    const clang::DeclContext *scope = decl->getLexicalDeclContext();
    if (scope && !scope->isRecord() && !scope->isFunctionOrMethod() && isSystem(sources_, decl->getLocation()))
      return true;
    const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl);
    if (!function || !hasWrittenBody(function)) return RecursiveASTVisitor::TraverseDecl(decl);
    if (function->isTemplateInstantiation() || functions_at.count(placeOfBody(function))) {
      instances.push_back(function);
      return true;
    }
    const bool is_outermost = within_ == kNowhere;
    if (is_outermost) within_ = placeOfBody(function);
    add(function, /*is_lambda=*/false, function->isConstexpr());
    const bool go_on = RecursiveASTVisitor::TraverseDecl(decl);
    if (is_outermost) within_ = kNowhere;
    return go_on;
  }

  bool VisitLambdaExpr(clang::LambdaExpr *lambda) {
    const clang::CXXMethodDecl *call = lambda->getCallOperator();
    if (!call->getBody()) return true;
    if (functions_at.count(placeOfBody(call)))
      instances.push_back(call);
    else
      add(call, /*is_lambda=*/true, saysConstexpr(*lambda));
    if (const clang::FunctionTemplateDecl *generic = call->getDescribedFunctionTemplate())
      instances.insert(instances.end(), generic->spec_begin(), generic->spec_end());
    return true;
  }

  bool VisitCXXMethodDecl(clang::CXXMethodDecl *method) {
    if (!method->isCanonicalDecl()) return true;
    for (const clang::CXXMethodDecl *overridden : method->overridden_methods())
      overrides.emplace_back(method, overridden);
    return true;
  }

  bool VisitFunctionDecl(clang::FunctionDecl *function) {
    if (const auto *alias = function->getAttr<clang::AliasAttr>()) linker_names_.insert(alias->getAliasee().str());
    if (const auto *ifunc = function->getAttr<clang::IFuncAttr>()) linker_names_.insert(ifunc->getResolver().str());
    return true;
  }

  bool VisitVarDecl(clang::VarDecl *variable) {
    const bool is_global = variable->hasGlobalStorage() && !variable->isStaticLocal();
    if (is_global && !variable->getType()->isDependentType()) variables_.push_back(variable);
    return true;
  }

  bool VisitCallExpr(clang::CallExpr *call) {
    called_.insert(call->getCallee()->IgnoreParenImpCasts());
    return true;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr *reference) {
    const auto *target = llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl());
    if (target && !called_.count(reference) && !target->getBuiltinID()) taken.push_back({target, within_});
    return true;
  }

  /// Leaves out the functions that make no code here, with all that is inside of them; to be called once, at the end.
  void dropWithoutCode() {
    const std::set<unsigned> live = placesWithCode();
    functions_at.clear();
    std::vector<Function> kept;
    for (size_t i = 0; i < functions.size(); ++i) {
      if (!live.count(within_of_[i])) {
        without_code.push_back(functions[i].decl);
        continue;
      }
      functions_at[placeOfBody(functions[i].decl)] = kept.size();
      kept.push_back(std::move(functions[i]));
    }
    functions = std::move(kept);
    for (Taken &one : taken) one.runs = live.count(one.within);
  }

  std::vector<Function> functions;
  std::map<unsigned, size_t> functions_at;  ///< by the place of the body
  std::vector<const clang::FunctionDecl *> instances;
  std::vector<std::pair<const clang::FunctionDecl *, const clang::FunctionDecl *>> overrides;
  std::vector<Taken> taken;
  std::vector<const clang::FunctionDecl *> without_code;

 private:
  /// Of bodies that make code; those in the main file always count.
  std::set<unsigned> placesWithCode() const {
    Emitted emitted(context_);
    std::set<unsigned> places = {kNowhere};
    for (const Function &function : functions) {
      emitted.addRoot(function.decl);
      if (hasLinkerName(*function.decl)) emitted.add(function.decl);
      if (sources_.isWrittenInMainFile(sources_.getExpansionLoc(function.decl->getBody()->getBeginLoc())))
        places.insert(placeOfBody(function.decl));
    }
    for (const clang::FunctionDecl *instance : instances) emitted.addRoot(instance);
    for (const Taken &one : taken) emitted.add(one.decl);
    for (const clang::VarDecl *variable : variables_) emitted.add(variable);
    for (const clang::FunctionDecl *definition : emitted.close()) places.insert(placeOfBody(definition));
    return places;
  }

  /// True if an alias or ifunc names it.
  bool hasLinkerName(const clang::FunctionDecl &decl) const {
    return !linker_names_.empty() && !decl.isDependentContext() &&
           linker_names_.count(clang::ASTNameGenerator(decl.getASTContext()).getName(&decl));
  }

  static constexpr unsigned kNowhere = 0;

  void add(const clang::FunctionDecl *decl, bool is_lambda, bool is_constexpr) {
    Function function;
    function.decl = decl;
    function.is_lambda = is_lambda;
    function.is_constexpr = is_constexpr;
    functions_at[placeOfBody(decl)] = functions.size();
    functions.push_back(std::move(function));
    within_of_.push_back(within_);
  }

  /// A lambda's call operator is constexpr wherever C++ allows it; this is about the word.
  bool saysConstexpr(const clang::LambdaExpr &lambda) const {
    const clang::SourceLocation body = lambda.getBody()->getBeginLoc();
    clang::SourceLocation place = lambda.getIntroducerRange().getEnd();
    while (place.isFileID() && body.isFileID() && place < body) {
      const auto token = clang::Lexer::findNextToken(place, sources_, context_.getLangOpts());
      if (!token) return false;
      if (token->is(clang::tok::raw_identifier) &&
          (token->getRawIdentifier() == "constexpr" || token->getRawIdentifier() == "consteval"))
        return true;
      place = token->getLocation();
    }
    return false;
  }

  const clang::ASTContext &context_;
  const clang::SourceManager &sources_;
  std::set<const clang::Expr *> called_;
  std::vector<const clang::VarDecl *> variables_;
  std::set<std::string> linker_names_;  ///< that the text names in attributes
  unsigned within_ = kNowhere;          ///< the place of the outermost function around
  std::vector<unsigned> within_of_;     ///< the same of each of `functions`, its own if it is that
};

/// Fills in what the bodies contain.
class Describer {
 public:
  Describer(Finder &found, const CallWays &ways, const clang::ASTContext &context)
      : context_(context),
        sources_(context.getSourceManager()),
        ways_(ways),
        library_(context),
        effort_(context, library_, canonical(found.taken)),
        functions_at_(found.functions_at),
        instances_(std::move(found.instances)) {
    unit_.language = context.getLangOpts().CPlusPlus ? "c++" : "c";
    unit_.functions = std::move(found.functions);
    unit_.without_code = std::move(found.without_code);
    for (Function &function : unit_.functions) name(function);
    for (const Finder::Taken &one : found.taken)
      if (one.runs) addTaken(one.decl, typeText(one.decl->getType(), context_));
    std::set<std::pair<unsigned, unsigned>> overrides;
    for (const auto &[method, overridden] : found.overrides) overrides.emplace(symbol(method), symbol(overridden));
    unit_.overrides.assign(overrides.begin(), overrides.end());
  }

  Unit describe() {
    for (Function &function : unit_.functions) describeBody(function, function.decl, /*is_instance=*/false);
    for (size_t i = 0; i < instances_.size(); ++i) describeInstance(instances_[i]);
    return std::move(unit_);
  }

 private:
  /// Also what is taken where there is no code: a function's effort is the same in all units that include its text.
  static std::set<const clang::FunctionDecl *> canonical(const std::vector<Finder::Taken> &taken) {
    std::set<const clang::FunctionDecl *> patterns;
    for (const Finder::Taken &one : taken) patterns.insert(patternOf(one.decl)->getCanonicalDecl());
    return patterns;
  }

  void name(Function &function) const {
    function.id = identityOf(function.decl);
    function.name = nameOf(function.decl);
    std::tie(function.file, function.line) = placeOf(sources_, function.decl->getLocation());
    function.noreturn = function.decl->isNoReturn();
  }

  /// Counts a call of a function that is no library code with a definition.
  void countCall(const Callee &callee) {
    function_->calls_out |= callee.kind == Callee::kDirect && mayTakeLong(*callee.decl, context_);
  }

  void describeInstance(const clang::FunctionDecl *decl) {
    if (!decl->getBody() || !described_.insert(decl).second) return;
    const auto place = functions_at_.find(placeOfBody(decl));
    if (place != functions_at_.end()) describeBody(unit_.functions[place->second], decl, /*is_instance=*/true);
  }

  void describeBody(Function &function, const clang::FunctionDecl *decl, bool is_instance) {
    function_ = &function;
    if (const auto *constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(decl)) {
      for (const clang::CXXCtorInitializer *initializer : constructor->inits())
        if (initializer->isWritten()) walkPart(initializer->getInit(), /*counts=*/false, is_instance);
      for (const Callee &callee : impliedCallees(*constructor, context_)) add(callee, function.line, /*counts=*/false);
    }
    if (!is_instance) {
      function.effort = effort_.of(decl);
      function.loops = effort_.loops(decl);
      function.is_small = effort_.isSmall(decl);
      function.may_be_expanded = effort_.mayBeExpanded(decl);
      function.is_decided = ways_.isDecided(decl);
    }
    walkPart(decl->getBody(), /*counts=*/!is_instance, is_instance);
    if (const auto *destructor = llvm::dyn_cast<clang::CXXDestructorDecl>(decl))
      for (const Callee &callee : impliedCallees(*destructor)) add(callee, function.line, /*counts=*/false);
    if (!is_instance) noteAlwaysCalled(function);
  }

  void noteAlwaysCalled(Function &function) {
    const std::set<const clang::FunctionDecl *> &always = ways_.alwaysCalled(function.decl);
    for (const auto &[symbol, line] : function.calls)
      if (always.count(unit_.symbols[symbol].decl)) function.always_called.push_back(symbol);
    function.always_calls_out = llvm::any_of(always, [&](const clang::FunctionDecl *callee) {
      const clang::FunctionDecl *code = library_.definitionOf(callee);
      return code ? library_.reach(code).takes_long : mayTakeLong(*callee, context_);
    });
  }

  /// `counts`: the code is under the probe, and makes its function eligible for one.
  void walkPart(const clang::Stmt *part, bool counts, bool is_instance) {
    std::set<const clang::Expr *> called;
    walk(part, [&](const clang::Stmt &statement, const clang::Stmt &at, bool written) {
      if (counts && written) count(statement);
      const unsigned line = placeOf(sources_, at.getBeginLoc()).second;
      for (const Callee &callee : calleesOf(statement, context_)) add(callee, line, counts);
      if (is_instance) noteInstance(statement, called);
    });
  }

  /// What the walk over declarations does not see, since it does not enter instantiations.
  void noteInstance(const clang::Stmt &statement, std::set<const clang::Expr *> &called) {
    if (const auto *lambda = llvm::dyn_cast<clang::LambdaExpr>(&statement)) {
      instances_.push_back(lambda->getCallOperator());
      if (const auto *generic = lambda->getCallOperator()->getDescribedFunctionTemplate())
        instances_.insert(instances_.end(), generic->spec_begin(), generic->spec_end());
    }
    if (const auto *call = llvm::dyn_cast<clang::CallExpr>(&statement))
      called.insert(call->getCallee()->IgnoreParenImpCasts());
    const auto *reference = llvm::dyn_cast<clang::DeclRefExpr>(&statement);
    const auto *target = reference ? llvm::dyn_cast<clang::FunctionDecl>(reference->getDecl()) : nullptr;
    if (target && !called.count(reference) && !target->getBuiltinID())
      addTaken(target, typeText(target->getType(), context_));
  }

  void count(const clang::Stmt &statement) {
    if (const auto *attributed = llvm::dyn_cast<clang::AttributedStmt>(&statement))
      for (const clang::Attr *attribute : attributed->getAttrs())
        function_->has_musttail |= llvm::isa<clang::MustTailAttr>(attribute);
  }

  unsigned symbol(const clang::FunctionDecl *decl) {
    const clang::FunctionDecl *pattern = patternOf(decl)->getCanonicalDecl();
    const auto [place, is_new] = symbols_.try_emplace(pattern, unit_.symbols.size());
    if (is_new) unit_.symbols.push_back({identityOf(pattern), nameOf(pattern), decl->isNoReturn(), pattern});
    return place->second;
  }

  template <typename First>
  static void addUnique(std::vector<std::pair<First, unsigned>> &list, First first, unsigned second) {
    std::pair<First, unsigned> entry(std::move(first), second);
    if (std::find(list.begin(), list.end(), entry) == list.end()) list.push_back(std::move(entry));
  }

  void addTaken(const clang::FunctionDecl *decl, const std::string &type) {
    if (const clang::FunctionDecl *code = library_.definitionOf(decl)) {
      for (const Callee &behind : library_.reach(code).callees)
        if (behind.kind == Callee::kDirect) addTaken(behind.decl, type);
      return;
    }
    std::pair<unsigned, std::string> entry(symbol(decl), type);
    if (taken_.insert(entry).second) unit_.taken.push_back(std::move(entry));
  }

  void add(const Callee &callee, unsigned line, bool counts) {
    const clang::FunctionDecl *code = callee.kind == Callee::kDirect ? library_.definitionOf(callee.decl) : nullptr;
    if (!code) {
      if (counts) countCall(callee);
      return record(callee, line);
    }
    const Library::Reach &reach = library_.reach(code);
    function_->calls_out |= counts && reach.takes_long;
    for (const Callee &behind : reach.callees) record(behind, line);
  }

  void record(const Callee &callee, unsigned line) {
    switch (callee.kind) {
      case Callee::kDirect:
        return addUnique(function_->calls, symbol(callee.decl), line);
      case Callee::kVirtual:
        return addUnique(function_->virtuals, symbol(callee.decl), line);
      case Callee::kPointer:
        return addUnique(function_->indirect, callee.type, line);
      case Callee::kTaken:
        return addTaken(callee.decl, callee.type);
      case Callee::kThrough:
        unit_.through.emplace(callee.type, callee.to);
        return;
      case Callee::kDependent:
        return;
    }
  }

  const clang::ASTContext &context_;
  const clang::SourceManager &sources_;
  const CallWays &ways_;
  Library library_;
  Effort effort_;
  const std::map<unsigned, size_t> &functions_at_;
  std::vector<const clang::FunctionDecl *> instances_;
  std::set<const clang::FunctionDecl *> described_;
  Unit unit_;
  Function *function_ = nullptr;
  std::map<const clang::FunctionDecl *, unsigned> symbols_;
  std::set<std::pair<unsigned, std::string>> taken_;
};

}  // namespace

Unit collectUnit(clang::ASTContext &context, bool by_clang) {
  Finder finder(context);
  finder.TraverseDecl(context.getTranslationUnitDecl());
  CallWays ways(context);
  for (const Function &function : finder.functions) ways.add(function.decl);
  if (by_clang && !makesCodeOfAll(context)) finder.dropWithoutCode();
  Unit unit = Describer(finder, ways, context).describe();
  const clang::SourceManager &sources = context.getSourceManager();
  unit.file = placeOf(sources, sources.getLocForStartOfFile(sources.getMainFileID())).first;
  return unit;
}

}  // namespace vprof
