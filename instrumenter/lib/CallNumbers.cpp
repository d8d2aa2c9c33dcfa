#include "CallNumbers.h"

#include <map>
#include <numeric>
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

/// Sets of symbols, by one that stands for all.
class Families {
 public:
  explicit Families(size_t symbols) : parent_(symbols) { std::iota(parent_.begin(), parent_.end(), 0u); }

  unsigned of(unsigned symbol) const {
    while (parent_[symbol] != symbol) symbol = parent_[symbol];
    return symbol;
  }
  void join(unsigned one, unsigned other) { parent_[of(one)] = of(other); }

 private:
  std::vector<unsigned> parent_;
};

/// What a call may lead to, as far as call numbers are concerned.
struct Target {
  std::optional<unsigned> symbol;  ///< none: a call through a pointer
  unsigned family = 0;             ///< of the symbol
  std::string type;                ///< of the function
};

/// True if one function may be what both lead to.
bool mayMeet(const Target &one, const Target &other) {
  return one.symbol && other.symbol ? one.family == other.family : one.type == other.type;
}

/// The functions of a unit that calls may lead to, by what they are worth here. Methods that override one another,
/// directly or not, are one family; every other function is its own.
class Targets {
 public:
  Targets(const Unit &unit, const clang::ASTContext &context) : context_(context), families_(unit.symbols.size()) {
    for (unsigned i = 0; i < unit.symbols.size(); ++i) index_[unit.symbols[i].id] = i;
    while (addProbeless(unit)) {
    }
    for (const auto &[method, overridden] : unit.overrides) families_.join(method, overridden);
  }

  /// Of a call that may lead to a probe; none for all others.
  std::optional<Target> of(const clang::CallExpr &call) {
    const Callees callees = calleesOf(call, context_);
    if (callees.size() != 1) return std::nullopt;
    const Callee &callee = callees[0];
    if (callee.kind == Callee::kPointer) return Target{std::nullopt, 0, callee.type};
    if (callee.kind != Callee::kDirect && callee.kind != Callee::kVirtual) return std::nullopt;
    const auto [place, is_new] = known_.try_emplace({callee.kind, callee.decl->getCanonicalDecl()});
    if (is_new) place->second = find(callee);
    return place->second;
  }

  unsigned familyOf(unsigned symbol) const { return families_.of(symbol); }

 private:
  /// Adds functions without a probe that call only such ones as are known to lead to none. False: there is no more.
  bool addProbeless(const Unit &unit) {
    const size_t before = probeless_.size();
    for (const Function &function : unit.functions)
      if (!function.site && function.indirect.empty() && function.virtuals.empty() &&
          llvm::all_of(function.calls, [&](const auto &call) {
            const Symbol &callee = unit.symbols[call.first];
            return isProbeless(*callee.decl, callee.id);
          }))
        probeless_.insert(function.id);
    return probeless_.size() != before;
  }

  std::optional<Target> find(const Callee &callee) const {
    const clang::FunctionDecl &decl = *callee.decl;
    if (decl.getBuiltinID() || decl.isConstexpr() || decl.hasAttr<clang::ReturnsTwiceAttr>()) return std::nullopt;
    const std::string id = identityOf(&decl);
    const auto place = index_.find(id);
    if (place == index_.end() || (callee.kind == Callee::kDirect && isProbeless(decl, id))) return std::nullopt;
    return Target{place->second, familyOf(place->second), typeText(decl.getType(), context_)};
  }

  bool isProbeless(const clang::FunctionDecl &decl, const std::string &id) const {
    return probeless_.count(id) || (isSystem(context_.getSourceManager(), decl.getLocation()) && !isExternal(decl));
  }

  const clang::ASTContext &context_;
  std::map<std::string, unsigned> index_;
  std::set<std::string> probeless_;
  Families families_;
  std::map<std::pair<Callee::Kind, const clang::FunctionDecl *>, std::optional<Target>> known_;
};

struct Call {
  WrittenCall written;
  Target target;
  unsigned line;
  bool can_be_numbered;
};

struct CallsOfBlock {
  std::vector<Call> calls;
  std::vector<Target> unlisted;   ///< of calls in bounds of arrays and the like, where no text can be put
  std::set<unsigned> unresolved;  ///< lines of a template's calls whose callees only its instantiations know
  std::set<const clang::Expr *> as_statements;
};

/// The operands of one arithmetic expression that are calls, and the operators that it consists of.
struct Operands {
  std::vector<const clang::Expr *> calls;
  std::set<const clang::Stmt *> operators;

  void add(const clang::Expr *expression) {
    expression = expression->IgnoreParenCasts();
    const auto *binary = llvm::dyn_cast<clang::BinaryOperator>(expression);
    if (binary && !binary->isLogicalOp() && !binary->isAssignmentOp() && !binary->isCommaOp()) {
      operators.insert(binary);
      add(binary->getLHS());
      add(binary->getRHS());
    } else if (const auto *unary = llvm::dyn_cast<clang::UnaryOperator>(expression); unary && unary->isArithmeticOp()) {
      add(unary->getSubExpr());
    } else if (llvm::isa<clang::CallExpr>(expression)) {
      calls.push_back(expression);
    }
  }
};

/// Whether a temporary object ends with the full expression that the call is in.
bool hasTemporaries(const clang::Stmt &statement) {
  if (llvm::isa<clang::MaterializeTemporaryExpr, clang::CXXBindTemporaryExpr, clang::LambdaExpr>(statement))
    return true;
  return llvm::any_of(statement.children(), [](const clang::Stmt *child) { return child && hasTemporaries(*child); });
}

/// gcc takes what stands before a comma out of all operands of an expression, and evaluates it first. So of several
/// calls there each has a statement of its own for its number, or none where that would end objects too early.
void keepWithOperands(const clang::FunctionDecl &function, CallsOfBlock &block) {
  std::map<const clang::Expr *, Call *> listed;
  for (Call &call : block.calls) listed[call.written.expression] = &call;
  std::set<const clang::Stmt *> known;  // parts of expressions that were looked at
  walk(function.getBody(), [&](const clang::Stmt &statement, const clang::Stmt &, bool) {
    if (!llvm::isa<clang::BinaryOperator>(statement) || known.count(&statement)) return;
    Operands operands;
    operands.add(llvm::cast<clang::Expr>(&statement));
    known.insert(operands.operators.begin(), operands.operators.end());
    llvm::erase_if(operands.calls, [&](const clang::Expr *operand) { return !listed.count(operand); });
    if (operands.calls.size() < 2) return;
    for (const clang::Expr *operand : operands.calls)
      if (operand->isTypeDependent() || hasTemporaries(*operand))
        listed[operand]->can_be_numbered = false;
      else
        block.as_statements.insert(operand);
  });
}

CallsOfBlock callsOf(const clang::FunctionDecl &function, Targets &targets, bool by_gcc) {
  const clang::ASTContext &context = function.getASTContext();
  const auto lineOf = [&](const clang::Expr &call) {
    return placeOf(context.getSourceManager(), call.getBeginLoc()).second;
  };
  CallsOfBlock block;
  std::set<const clang::Stmt *> listed;
  const auto wanted = [&](const clang::CallExpr &call) { return targets.of(call).has_value(); };
  for (WrittenCall &written : writtenCalls(function, wanted)) {
    const clang::CallExpr &call = *written.expression;
    listed.insert(&call);
    block.calls.push_back(
        {std::move(written), *targets.of(call), lineOf(call), looksLikeCall(call) && isInText(call, function)});
  }
  if (by_gcc) keepWithOperands(function, block);
  walk(function.getBody(), [&](const clang::Stmt &statement, const clang::Stmt &, bool) {
    const auto *call = llvm::dyn_cast<clang::CallExpr>(&statement);
    if (!call || listed.count(call)) return;
    if (const std::optional<Target> target = targets.of(*call)) block.unlisted.push_back(*target);
    for (const Callee &callee : calleesOf(*call, context))
      if (callee.kind == Callee::kDependent) block.unresolved.insert(lineOf(*call));
  });
  return block;
}

/// What is called where no number can be put: by macros and operators, by calls that are not listed, and by code that
/// C++ implies or the library has. Of the last two only the lines are known.
struct Hidden {
  std::set<unsigned> families;
  std::set<std::string> types;

  Hidden(const Function &function, const CallsOfBlock &block, const Targets &targets) {
    const std::vector<Call> &calls = block.calls;
    const auto is_all_of = [&](unsigned line, auto &&matches) {
      return !block.unresolved.count(line) &&
             llvm::any_of(calls, [&](const Call &call) { return call.line == line && matches(call.target); });
    };
    for (const auto *list : {&function.calls, &function.virtuals})
      for (const auto &[symbol, line] : *list)
        if (!is_all_of(line, [id = symbol](const Target &target) { return target.symbol == id; }))
          families.insert(targets.familyOf(symbol));
    for (const auto &[type, line] : function.indirect)
      if (!is_all_of(line, [&text = type](const Target &target) { return !target.symbol && target.type == text; }))
        types.insert(type);
    for (const Call &call : calls)
      if (!call.can_be_numbered) hide(call.target);
    for (const Target &target : block.unlisted) hide(target);
  }

  void hide(const Target &target) {
    if (target.symbol)
      families.insert(target.family);
    else
      types.insert(target.type);
  }

  bool covers(const Target &target) const { return families.count(target.family) || types.count(target.type); }
};

/// The calls without those among the arguments of another that may lead to the same function: that one's number
/// counts for them.
std::vector<const Call *> withoutInner(const std::vector<Call> &calls, std::set<const Call *> &sharing) {
  std::vector<const Call *> kept;
  for (const Call &call : calls) {
    bool is_inner = false;
    for (size_t outer : call.written.around)
      if (mayMeet(calls[outer].target, call.target)) {
        sharing.insert(&calls[outer]);
        is_inner = true;
      }
    if (!is_inner) kept.push_back(&call);
  }
  return kept;
}

/// Drops all but the calls of functions that are called at several places, and those through pointers that may lead
/// there. A family is numbered at all of its places or at none: a call without a number carries that of an earlier one.
void keepToldApart(std::vector<const Call *> &calls, const Hidden &hidden) {
  std::map<unsigned, unsigned> places;
  std::set<std::string> types;
  for (const Call *call : calls)
    if (call->target.symbol) ++places[call->target.family];
  for (const Call *call : calls)
    if (call->target.symbol && hidden.covers(call->target)) places[call->target.family] = 0;
  for (const Call *call : calls)
    if (call->target.symbol && places[call->target.family] > 1) types.insert(call->target.type);
  llvm::erase_if(calls, [&](const Call *call) {
    return call->target.symbol ? places[call->target.family] < 2 : !types.count(call->target.type);
  });
}

/// Those before which a number is set, in source order.
std::vector<const Call *> toNumber(const Function &function, const CallsOfBlock &block, const Targets &targets) {
  const std::vector<Call> &all = block.calls;
  std::set<const Call *> sharing, overwritten;
  std::vector<const Call *> calls = withoutInner(all, sharing);
  keepToldApart(calls, Hidden(function, block, targets));
  for (const Call *call : calls)
    for (size_t outer : llvm::ArrayRef(call->written.around).drop_front(call->written.conditional))
      overwritten.insert(&all[outer]);
  llvm::erase_if(calls, [&](const Call *call) { return overwritten.count(call) && !sharing.count(call); });
  return calls;
}

}  // namespace

void numberCalls(Unit &unit, const clang::ASTContext &context, bool by_gcc) {
  Targets targets(unit, context);
  for (Function &function : unit.functions) {
    if (!function.site || function.before_body) continue;
    const CallsOfBlock block = callsOf(*function.decl, targets, by_gcc);
    function.as_statements = block.as_statements;
    for (const Call *call : toNumber(function, block, targets))
      if (call->target.symbol && function.numbered.size() < kMaxCallNumber)
        function.numbered.push_back({*call->target.symbol, call->line, call->written.expression});
      else
        function.unplaced.push_back(call->written.expression);
  }
}

}  // namespace vprof
