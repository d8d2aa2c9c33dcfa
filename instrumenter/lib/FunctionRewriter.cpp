#include "FunctionRewriter.h"

#include <algorithm>

#include "CallHooks.h"
#include "Hooks.h"
#include "SiteFinder.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"
#include "clang/AST/StmtCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"

namespace vprof {
namespace {

class Placer {
 public:
  Placer(Edits &edits, clang::ASTContext &context) : edits_(edits), context_(context) {}

  void behindToken(clang::SourceLocation token, const std::string &text) {
    const clang::SourceManager &sources = context_.getSourceManager();
    at(clang::Lexer::getLocForEndOfToken(token, 0, sources, context_.getLangOpts())).behind += text;
  }

  void before(clang::SourceLocation token, const std::string &text) { at(token).before += text; }

  /// The last token of an expression as written, a macro's use included; invalid if no semicolon follows.
  clang::SourceLocation endBeforeSemicolon(clang::SourceLocation last) const {
    const clang::SourceManager &sources = context_.getSourceManager();
    const clang::SourceLocation end = sources.getExpansionRange(last).getEnd();
    const auto next = clang::Lexer::findNextToken(end, sources, context_.getLangOpts());
    return next && next->is(clang::tok::semi) ? end : clang::SourceLocation();
  }

 private:
  Insertion &at(clang::SourceLocation place) {
    const clang::SourceManager &sources = context_.getSourceManager();
    const auto [file, offset] = sources.getDecomposedLoc(place);
    return edits_[sources.getFileEntryRefForID(file)->getName().str()][offset];
  }

  Edits &edits_;
  clang::ASTContext &context_;
};

/// Handlers of a function-try-block belong to the function, so that it becomes a block in a body of its own. Those of
/// constructors and destructors cannot: they catch what members and bases throw as well.
void placeInBody(const Function &function, const std::string &text, Placer &placer) {
  const clang::Stmt *body = function.decl->getBody();
  if (!llvm::isa<clang::CXXTryStmt>(body) ||
      llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(function.decl))
    return placer.behindToken(blockOf(*function.decl)->getBeginLoc(), text);
  placer.before(body->getBeginLoc(), "{" + text);
  placer.behindToken(body->getEndLoc(), " }");
}

/// The entries of a function by where their events are.
struct FunctionHooks {
  std::vector<const Hook *> ends;  ///< at its entry and exit
  std::vector<const Hook *> calls;

  bool ofReturned() const {
    return llvm::any_of(ends, [](const Hook *hook) { return hook->ofReturned(); });
  }
};

std::string textBehindBrace(const Function &function, const FunctionHooks &hooks, const CallHooks &at_calls) {
  std::string text;
  const std::string probe = function.before_body        ? " __VPROF_PLACE("
                            : function.numbered.empty() ? " __VPROF_PROBE("
                                                        : " __VPROF_PROBE_CALLS(";
  if (function.site) text += probe + std::to_string(*function.site) + ")";
  for (const Hook *hook : hooks.ends) text += " " + hookText(*hook, *function.decl);
  text += at_calls.declarations;
  return text.empty() ? text : text + " ";
}

/// All text around calls of the function, outer calls first; a number is outside of hooks.
std::vector<CallText> textsAroundCalls(const Function &function, const CallHooks &at_calls) {
  std::vector<CallText> texts = at_calls.texts;
  const auto number = [&](const clang::Expr *call, size_t value) {
    const std::string set = "__VPROF_CALL_NUMBER(" + std::to_string(value) + ")";
    const bool is_statement = function.as_statements.count(call) != 0;
    const std::string before = is_statement ? "__extension__({ " + set + "; " : "(" + set + ", ";
    const std::string after = is_statement ? "; })" : ")";
    const auto hooked = llvm::find_if(texts, [&](const CallText &text) { return text.call == call; });
    if (hooked == texts.end())
      texts.push_back({call, before, after});
    else
      *hooked = {call, before + hooked->before, hooked->after + after};
  };
  for (size_t i = 0; i < function.numbered.size(); ++i) number(function.numbered[i].expression, i + 1);
  for (const clang::Expr *call : function.unplaced) number(call, 0);
  std::sort(texts.begin(), texts.end(), [](const CallText &one, const CallText &other) {
    const clang::SourceLocation begins[] = {one.call->getBeginLoc(), other.call->getBeginLoc()};
    return begins[0] != begins[1] ? begins[0] < begins[1] : other.call->getEndLoc() < one.call->getEndLoc();
  });
  return texts;
}

/// Of several texts at one place an outer call's is the outer one.
void placeAroundCalls(const Function &function, const CallHooks &at_calls, Placer &placer) {
  for (const CallText &text : textsAroundCalls(function, at_calls)) {
    placer.before(text.call->getBeginLoc(), text.before);
    placer.behindToken(text.call->getEndLoc(), text.after);
  }
}

llvm::Error rewriteReturns(const Hook &hook, const Function &function, Placer &placer) {
  for (const clang::ReturnStmt *statement : findReturns(*function.decl->getBody())) {
    const clang::SourceLocation last = placer.endBeforeSemicolon(statement->getRetValue()->getEndLoc());
    if (statement->getReturnLoc().isMacroID() || last.isInvalid())
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     hook.entry + ": a return of " + function.name + " comes from a macro");
    placer.behindToken(statement->getReturnLoc(), "__vprof_returned = (");
    placer.behindToken(last, ") __VPROF_RETURNED_END");
  }
  return llvm::Error::success();
}

llvm::Expected<FunctionHooks> hooksOf(const Function &function, const Descriptor &descriptor,
                                      const std::string &untouchable) {
  FunctionHooks hooks;
  for (const Hook &hook : descriptor.hooks) {
    if (!hook.names(function)) continue;
    if (!untouchable.empty())
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     hook.entry + ": " + function.name + " cannot be rewritten (" + untouchable + ")");
    if (llvm::Error error = checkHook(hook, *function.decl)) return std::move(error);
    if (hook.ofReturned() && hooks.ofReturned())
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     hook.entry + ": a second entry for the returned value of " + function.name);
    (hook.calls.empty() ? hooks.ends : hooks.calls).push_back(&hook);
  }
  return hooks;
}

/// Places all text of one function and notes the entries that it carries.
llvm::Error placeInFunction(Function &function, const FunctionHooks &hooks, std::vector<std::string> &matched,
                            Placer &placer) {
  llvm::Expected<CallHooks> at_calls = hookCalls(function, hooks.calls);
  if (!at_calls) return at_calls.takeError();
  // Such a hook pastes text around returned expressions, where a numbered call may begin or end.
  if (hooks.ofReturned()) function.numbered.clear();
  const std::string text = textBehindBrace(function, hooks, *at_calls);
  if (function.before_body)
    placer.before(function.attribute, function.is_expandable  ? "__VPROF_EXPANDABLE "
                                      : function.is_recursive ? "__VPROF_WRAPPED_RECURSIVE "
                                                              : "__VPROF_WRAPPED ");
  if (!text.empty()) placeInBody(function, text, placer);
  placeAroundCalls(function, *at_calls, placer);
  matched.insert(matched.end(), at_calls->matched.begin(), at_calls->matched.end());
  for (const Hook *hook : hooks.ends) {
    matched.push_back(hook->entry);
    if (!hook->ofReturned()) continue;
    if (llvm::Error error = rewriteReturns(*hook, function, placer)) return error;
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Expected<Edits> placeEdits(Unit &unit, const std::map<size_t, std::string> &untouchable,
                                 const Descriptor &descriptor, clang::ASTContext &context) {
  Edits edits;
  Placer placer(edits, context);
  for (size_t i = 0; i < unit.functions.size(); ++i) {
    const auto reason = untouchable.find(i);
    auto hooks = hooksOf(unit.functions[i], descriptor, reason == untouchable.end() ? "" : reason->second);
    if (!hooks) return hooks.takeError();
    if (llvm::Error error = placeInFunction(unit.functions[i], *hooks, unit.matched, placer)) return std::move(error);
  }
  return edits;
}

std::map<std::string, std::string> applyEdits(const Edits &edits, clang::ASTContext &context) {
  clang::SourceManager &sources = context.getSourceManager();
  std::map<std::string, std::string> texts;
  for (const auto &[name, insertions] : edits) {
    const auto entry = sources.getFileManager().getFileRef(name);
    texts[name] = withInsertions(sources.getMemoryBufferForFileOrFake(*entry).getBuffer(), insertions);
  }
  return texts;
}

}  // namespace vprof
