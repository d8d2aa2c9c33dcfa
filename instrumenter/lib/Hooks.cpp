#include "Hooks.h"

#include <algorithm>

#include "Calls.h"
#include "Names.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Stmt.h"

namespace vprof {
namespace {

/// "interval/0" as part of a C name and back.
std::string nameOf(const Hook &hook) {
  std::string name = hook.entry;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string call(const std::string &macro, std::initializer_list<std::string> arguments) {
  std::string text = macro + "(";
  for (const std::string &argument : arguments) text += (text.back() == '(' ? "" : ", ") + argument;
  return text + ")";
}

std::string intervalText(const Hook &hook) {
  const std::string place = hook.at_exit ? "EXIT" : "ENTRY";
  const std::string value = "(" + hook.value + ")";
  if (hook.action == "begin" || !hook.type.empty()) {
    const std::string function = hook.action == "begin" ? "interval_begin" : "interval_end_typed";
    const std::string type = hook.type.empty() ? "0" : "(" + hook.type + ")";
    return call("__VPROF_TYPED_" + place, {nameOf(hook), function, value, type});
  }
  const std::string function = hook.action == "on_behalf" ? "on_behalf" : "interval_" + hook.action;
  return call("__VPROF_" + place, {nameOf(hook), function, value});
}

std::string syncText(const Hook &hook) {
  const bool acquire = hook.action == "acquire";
  return call("__VPROF_AROUND", {nameOf(hook), acquire ? "wait_begin" : "wake", acquire ? "wait_end" : "wake_done",
                                 "(" + hook.value + ")"});
}

std::string queueText(const Hook &hook, const clang::FunctionDecl &function) {
  if (hook.ofReturned()) {
    return call("__VPROF_RETURNED",
                {function.getReturnType().getUnqualifiedType().getAsString(writtenTypes(&function))});
  }
  return call(hook.at_exit ? "__VPROF_EXIT" : "__VPROF_ENTRY", {nameOf(hook), hook.action, "(" + hook.value + ")"});
}

}  // namespace

llvm::Error checkHook(const Hook &hook, const clang::FunctionDecl &function) {
  if (!hook.ofReturned() || function.getReturnType()->isScalarType()) return llvm::Error::success();
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 hook.entry + ": " + hook.function + " returns neither a pointer nor a number");
}

std::string hookText(const Hook &hook, const clang::FunctionDecl &function) {
  if (hook.table == "interval") return intervalText(hook);
  return hook.table == "sync" ? syncText(hook) : queueText(hook, function);
}

std::string entryAt(const std::string &text, size_t offset) {
  static const std::string tables[] = {"interval_", "sync_", "queue_"};
  const size_t macro = text.rfind("__VPROF_", offset);
  const size_t open = text.find('(', macro);
  if (macro == std::string::npos || open == std::string::npos) return "";
  for (const std::string &table : tables)
    if (text.compare(open + 1, table.size(), table) == 0) {
      const size_t digits = open + 1 + table.size();
      return table.substr(0, table.size() - 1) + "/" + text.substr(digits, text.find(',', digits) - digits);
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
