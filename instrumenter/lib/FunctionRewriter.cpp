#include "FunctionRewriter.h"

#include <algorithm>

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
    before(clang::Lexer::getLocForEndOfToken(token, 0, sources, context_.getLangOpts()), text);
  }

  void before(clang::SourceLocation place, const std::string &text) {
    const clang::SourceManager &sources = context_.getSourceManager();
    const auto [file, offset] = sources.getDecomposedLoc(place);
    edits_[sources.getFileEntryRefForID(file)->getName().str()][offset] += text;
  }

  /// The last token of an expression as written, a macro's use included; invalid if no semicolon follows.
  clang::SourceLocation endBeforeSemicolon(clang::SourceLocation last) const {
    const clang::SourceManager &sources = context_.getSourceManager();
    const clang::SourceLocation end = sources.getExpansionRange(last).getEnd();
    const auto next = clang::Lexer::findNextToken(end, sources, context_.getLangOpts());
    return next && next->is(clang::tok::semi) ? end : clang::SourceLocation();
  }

 private:
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

std::string textBehindBrace(const Function &function, const std::vector<const Hook *> &hooks) {
  std::string text;
  const std::string probe = function.numbered.empty() ? " __VPROF_PROBE(" : " __VPROF_PROBE_CALLS(";
  if (function.site) text += probe + std::to_string(*function.site) + ")";
  for (const Hook *hook : hooks) text += " " + hookText(*hook, *function.decl);
  return text.empty() ? text : text + " ";
}

/// `f(x)` becomes `(__VPROF_CALL_NUMBER(1), f(x))`.
void placeNumbers(const Function &function, Placer &placer) {
  unsigned number = 0;
  for (const NumberedCall &call : function.numbered) {
    placer.before(call.expression->getBeginLoc(), "(__VPROF_CALL_NUMBER(" + std::to_string(++number) + "), ");
    placer.behindToken(call.expression->getEndLoc(), ")");
  }
}

llvm::Error rewriteReturns(const Hook &hook, const Function &function, Placer &placer) {
  for (const clang::ReturnStmt *statement : findReturns(*function.decl->getBody())) {
    const clang::SourceLocation last = placer.endBeforeSemicolon(statement->getRetValue()->getEndLoc());
    if (statement->getReturnLoc().isMacroID() || last.isInvalid())
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     hook.entry + ": a return of " + function.name + " comes from a macro");
    placer.behindToken(statement->getReturnLoc(), " __vprof_returned = (");
    placer.behindToken(last, ") __VPROF_RETURNED_END");
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<const Hook *>> hooksOf(const Function &function, const Descriptor &descriptor,
                                                  const std::string &untouchable) {
  std::vector<const Hook *> hooks;
  unsigned of_returned = 0;
  for (const Hook &hook : descriptor.hooks) {
    if (!hook.names(function)) continue;
    if (!untouchable.empty())
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     hook.entry + ": " + hook.function + " cannot be rewritten (" + untouchable + ")");
    if (llvm::Error error = checkHook(hook, *function.decl)) return std::move(error);
    if (hook.ofReturned() && ++of_returned > 1)
      return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                     hook.entry + ": a second entry for the returned value of " + hook.function);
    hooks.push_back(&hook);
  }
  return hooks;
}

}  // namespace

llvm::Expected<Edits> placeEdits(Unit &unit, const std::map<size_t, std::string> &untouchable,
                                 const Descriptor &descriptor, clang::ASTContext &context) {
  Edits edits;
  Placer placer(edits, context);
  for (size_t i = 0; i < unit.functions.size(); ++i) {
    Function &function = unit.functions[i];
    const auto reason = untouchable.find(i);
    auto hooks = hooksOf(function, descriptor, reason == untouchable.end() ? "" : reason->second);
    if (!hooks) return hooks.takeError();
    // Such a hook pastes text around returned expressions, where a numbered call may begin or end.
    if (std::any_of(hooks->begin(), hooks->end(), [](const Hook *hook) { return hook->ofReturned(); }))
      function.numbered.clear();
    const std::string text = textBehindBrace(function, *hooks);
    if (!text.empty()) placeInBody(function, text, placer);
    placeNumbers(function, placer);
    for (const Hook *hook : *hooks) {
      unit.matched.push_back(hook->entry);
      if (!hook->ofReturned()) continue;
      if (llvm::Error error = rewriteReturns(*hook, function, placer)) return std::move(error);
    }
  }
  return edits;
}

std::map<std::string, std::string> applyEdits(const Edits &edits, clang::ASTContext &context) {
  clang::SourceManager &sources = context.getSourceManager();
  std::map<std::string, std::string> texts;
  for (const auto &[name, insertions] : edits) {
    const auto entry = sources.getFileManager().getFileRef(name);
    const llvm::StringRef original = sources.getMemoryBufferForFileOrFake(*entry).getBuffer();
    std::string &text = texts[name];
    size_t done = 0;
    for (const auto &[offset, inserted] : insertions) {
      text += original.slice(done, offset).str() + inserted;
      done = offset;
    }
    text += original.substr(done).str();
  }
  return texts;
}

}  // namespace vprof
