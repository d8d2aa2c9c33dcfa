#include "Hooks.h"

#include <algorithm>
#include <map>

#include "Calls.h"
#include "Names.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Stmt.h"

namespace vprof {
namespace {

std::string syncText(const Hook &hook) {
  const bool acquire = hook.action == "acquire";
  return macroCall("__VPROF_AROUND", {nameOf(hook), acquire ? "wait_begin" : "wake", acquire ? "wait_end" : "wake_done",
                                      "(" + hook.value + ")"});
}

std::string returnedText(const clang::FunctionDecl &function) {
  return macroCall("__VPROF_RETURNED",
                   {function.getReturnType().getUnqualifiedType().getAsString(writtenTypes(&function))});
}

/// The end of vprof/vprof.h's function of an entry of interval or queue.
std::string eventFunction(const Hook &hook) {
  if (hook.table == "queue" || hook.action == "on_behalf") return hook.action;
  return "interval_" + hook.action + (hook.action == "end" && !hook.type.empty() ? "_typed" : "");
}

}  // namespace

std::string nameOf(const Hook &hook) {
  std::string name = hook.entry;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string macroCall(const std::string &macro, std::initializer_list<std::string> arguments) {
  std::string text = macro + "(";
  for (const std::string &argument : arguments) text += (text.back() == '(' ? "" : ", ") + argument;
  return text + ")";
}

/// An entry of lock: its step as vprof.h numbers it.
static std::string lockText(const Hook &hook, const std::string &place) {
  const std::map<std::string, std::string> steps = {
      {"request", "0"}, {"grant", "1"}, {"release", "2"}, {"release_all", "3"}};
  const std::map<std::string, std::string> modes = {{"", "-1"}, {"S", "0"}, {"X", "1"}};
  const auto mode = modes.find(hook.mode);
  return macroCall("__VPROF_LOCK_" + place,
                   {nameOf(hook), steps.at(hook.action), hook.value.empty() ? "1" : "(" + hook.value + ")",
                    mode == modes.end() ? "(" + hook.mode + ") != 0" : mode->second,
                    hook.owner.empty() ? "0" : "(" + hook.owner + ")"});
}

std::string eventText(const Hook &hook, const std::string &place) {
  if (hook.table == "lock") return lockText(hook, place);
  const std::string value = "(" + hook.value + ")";
  if (hook.action != "begin" && hook.type.empty())
    return macroCall("__VPROF_" + place, {nameOf(hook), eventFunction(hook), value});
  const std::string type = hook.type.empty() ? "0" : "(" + hook.type + ")";
  if (!hook.created_at.empty())
    return macroCall("__VPROF_CREATED_" + place, {nameOf(hook), value, type, "(" + hook.created_at + ")", hook.clock});
  return macroCall("__VPROF_TYPED_" + place, {nameOf(hook), eventFunction(hook), value, type});
}

llvm::Error checkHook(const Hook &hook, const clang::FunctionDecl &function) {
  if (!hook.ofReturned() || function.getReturnType()->isScalarType()) return llvm::Error::success();
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 hook.entry + ": " + nameOf(&function) + " returns neither a pointer nor a number");
}

std::string hookText(const Hook &hook, const clang::FunctionDecl &function) {
  if (hook.table == "sync") return syncText(hook);
  return hook.ofReturned() ? returnedText(function) : eventText(hook, hook.late ? "EXIT" : "ENTRY");
}

std::string entryAt(const std::string &text, size_t offset) {
  static const std::string tables[] = {"interval_", "sync_", "queue_", "lock_"};
  const size_t macro = text.rfind("__VPROF_", offset);
  const size_t open = text.find('(', macro);
  if (macro == std::string::npos || open == std::string::npos) return "";
  for (const std::string &table : tables)
    if (text.compare(open + 1, table.size(), table) == 0) {
      const size_t digits = open + 1 + table.size();
      return table.substr(0, table.size() - 1) + "/" +
             text.substr(digits, text.find_first_not_of("0123456789", digits) - digits);
    }
  return "";
}

std::vector<const clang::ReturnStmt *> findReturns(const clang::Stmt &body) {
  std::vector<const clang::ReturnStmt *> found;
  walk(&body, [&](const clang::Stmt &statement, const clang::Stmt &, bool) {
    if (const auto *r = llvm::dyn_cast<clang::ReturnStmt>(&statement)) found.push_back(r);
  });
  return found;
}

}  // namespace vprof
