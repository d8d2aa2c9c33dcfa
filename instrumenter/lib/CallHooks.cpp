#include "CallHooks.h"

#include <algorithm>

#include "Hooks.h"
#include "Names.h"
#include "WrittenCalls.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Expr.h"
#include "clang/AST/QualTypeNames.h"
#include "clang/Lex/Lexer.h"
#include "llvm/Support/Path.h"

namespace vprof {
namespace {

/// An expression of the descriptor with the word `return` replaced; `found` if it is there.
std::string withReturned(const std::string &expression, const std::string &returned, bool &found) {
  const char *text = expression.c_str();
  clang::Lexer lexer(clang::SourceLocation(), clang::LangOptions(), text, text, text + expression.size());
  std::string result;
  size_t done = 0;
  clang::Token token;
  for (lexer.LexFromRawLexer(token); token.isNot(clang::tok::eof); lexer.LexFromRawLexer(token)) {
    if (token.isNot(clang::tok::raw_identifier) || token.getRawIdentifier() != "return") continue;
    const size_t start = token.getRawIdentifier().data() - text;
    result += expression.substr(done, start - done) + returned;
    done = start + token.getLength();
    found = true;
  }
  return result + expression.substr(done);
}

/// The text of one call; `number` tells the function's calls with hooks apart.
class CallWriter {
 public:
  CallWriter(const Function &function, const clang::CallExpr &call, unsigned number)
      : function_(function),
        call_(call),
        type_(call.getCallReturnType(function.decl->getASTContext())),
        number_(std::to_string(number)),
        value_("__vprof_value_" + number_) {}

  llvm::Error write(const std::vector<const Hook *> &hooks) {
    const bool is_late = llvm::any_of(hooks, [](const Hook *hook) { return hook->late || hook->table == "sync"; });
    for (const Hook *hook : hooks)
      if (llvm::Error error = add(*hook)) return error;
    const bool keeps_value = is_late && !type_->isVoidType();
    if (keeps_value) {
      declarations_ += macroCall(" __VPROF_KEEP_VALUE", {nameOf(*hooks.front()), number_, typeName()});
      before_ += value_ + " = ";
      after_ += ", __VPROF_VALUE(" + number_ + ")";
    }
    return llvm::Error::success();
  }

  CallText text() const { return {&call_, "(" + before_, after_ + ")"}; }
  const std::string &declarations() const { return declarations_; }

 private:
  llvm::Error add(const Hook &hook) {
    if (!isInText(call_, *function_.decl)) return wrong(hook, "is written by a macro");
    if (hook.table == "sync") {
      if (llvm::Error error = checkValue(hook)) return error;
      return addSync(hook);
    }
    bool uses_value = false;
    Hook event = hook;
    event.value = withReturned(hook.value, value_, uses_value);
    event.type = withReturned(hook.type, value_, uses_value);
    event.created_at = withReturned(hook.created_at, value_, uses_value);
    event.mode = withReturned(hook.mode, value_, uses_value);
    event.owner = withReturned(hook.owner, value_, uses_value);
    if (uses_value && !hook.late) return wrong(hook, "has not returned yet: 'return' is for at = \"after call\"");
    if (uses_value && type_->isVoidType()) return wrong(hook, "returns nothing");
    if (hook.table == "queue" && uses_value) event.action += "_any";
    const std::string text = eventText(event, "AT");
    if (!hook.late) {
      before_ += text + ", ";
      return llvm::Error::success();
    }
    after_ = ", " + text + after_;
    return checkValue(hook);
  }

  llvm::Error addSync(const Hook &hook) {
    const std::string name = nameOf(hook) + "_" + number_;
    if (!hook.name.empty())
      if (llvm::Error error = addName(hook, name)) return error;
    if (hook.action == "wait") return llvm::Error::success();
    const bool acquire = hook.action == "acquire";
    declarations_ += macroCall(" __VPROF_KEEP_OBJECT", {name});
    const std::string begin = acquire ? "wait_begin" : "wake", end = acquire ? "wait_end" : "wake_done";
    before_ += macroCall("__VPROF_AT_OBJECT", {name, begin, end, "(" + hook.value + ")"}) + ", ";
    after_ = ", " + macroCall("__VPROF_DONE_OBJECT", {name, end}) + after_;
    return llvm::Error::success();
  }

  /// Around all that waits: what the call has waited for is known when it has returned.
  llvm::Error addName(const Hook &hook, const std::string &name) {
    bool uses_value = false;
    const std::string text = withReturned(hook.name, value_, uses_value);
    if (uses_value && type_->isVoidType()) return wrong(hook, "returns nothing");
    declarations_ += macroCall(" __VPROF_KEEP_WAITS", {name});
    before_ += macroCall("__VPROF_AT_WAITS", {name}) + ", ";
    after_ = ", " + macroCall("__VPROF_NAME_WAITS", {name, "(" + text + ")"}) + after_;
    return llvm::Error::success();
  }

  /// What comes after a call can pass on what fits into a variable that is assigned.
  llvm::Error checkValue(const Hook &hook) const {
    if (type_->isVoidType() || (type_->isScalarType() && !type_->isDependentType())) return llvm::Error::success();
    return wrong(hook, "returns neither a pointer nor a number");
  }

  /// Valid in the caller: a method may name a type of its own class without the class.
  std::string typeName() const {
    const clang::ASTContext &context = function_.decl->getASTContext();
    const clang::QualType type = type_.getUnqualifiedType();
    const clang::PrintingPolicy policy = writtenTypes(function_.decl);
    if (!context.getLangOpts().CPlusPlus) return type.getAsString(policy);
    return clang::TypeName::getFullyQualifiedName(type, context, policy);
  }

  llvm::Error wrong(const Hook &hook, const std::string &what) const {
    const auto [file, line] = placeOf(function_.decl->getASTContext().getSourceManager(), call_.getBeginLoc());
    return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                   hook.entry + ": a call of " + nameOf(call_.getDirectCallee()) + " in " +
                                       function_.name + " " + what + " (" + llvm::sys::path::filename(file).str() +
                                       ":" + std::to_string(line) + ")");
  }

  const Function &function_;
  const clang::CallExpr &call_;
  const clang::QualType type_;
  const std::string number_;
  const std::string value_;
  std::string declarations_, before_, after_;
};

std::vector<const Hook *> hooksOf(const clang::CallExpr &call, const std::vector<const Hook *> &hooks) {
  std::vector<const Hook *> found;
  if (call.getDirectCallee() && looksLikeCall(call))
    for (const Hook *hook : hooks)
      if (hook->namesCallOf(*call.getDirectCallee())) found.push_back(hook);
  return found;
}

}  // namespace

llvm::Expected<CallHooks> hookCalls(const Function &function, const std::vector<const Hook *> &hooks) {
  CallHooks result;
  if (hooks.empty()) return result;
  const auto wanted = [&](const clang::CallExpr &call) { return !hooksOf(call, hooks).empty(); };
  for (const WrittenCall &call : writtenCalls(*function.decl, wanted)) {
    const std::vector<const Hook *> ours = hooksOf(*call.expression, hooks);
    CallWriter writer(function, *call.expression, result.texts.size() + 1);
    if (llvm::Error error = writer.write(ours)) return std::move(error);
    result.declarations += writer.declarations();
    result.texts.push_back(writer.text());
    for (const Hook *hook : ours)
      if (!llvm::is_contained(result.matched, hook->entry)) result.matched.push_back(hook->entry);
  }
  return result;
}

}  // namespace vprof
