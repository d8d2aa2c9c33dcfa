#include "Descriptor.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>

#include "Names.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace vprof {
namespace {

llvm::Error wrong(const llvm::Twine &what) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), what);
}

std::string text(const llvm::json::Object &object, llvm::StringRef key) {
  const auto found = object.getString(key);
  return found ? found->str() : "";
}

std::vector<std::string> texts(const llvm::json::Object &object, llvm::StringRef key) {
  std::vector<std::string> found;
  if (const llvm::json::Array *values = object.getArray(key))
    for (const llvm::json::Value &value : *values)
      if (auto s = value.getAsString()) found.push_back(s->str());
  return found;
}

struct Table {
  const char *name;
  const char *action_key;
  const char *value_key;
  std::set<std::string> actions;
};

const Table kTables[] = {
    {"interval", "event", "id", {"begin", "end", "abort", "on_behalf"}},
    {"sync", "role", "object", {"acquire", "release", "wait"}},
    {"queue", "role", "task", {"enqueue", "dequeue"}},
    {"lock", "event", "object", {"request", "grant", "release", "release_all"}},
};

/// One text, or a list of them.
std::vector<std::string> oneOrMore(const llvm::json::Object &object, llvm::StringRef key) {
  const std::string one = text(object, key);
  return one.empty() ? texts(object, key) : std::vector<std::string>{one};
}

llvm::Error checkPlace(const Hook &hook, const std::string &at) {
  const bool at_call = !hook.calls.empty();
  if (at_call && hook.table == "sync" && !at.empty())
    return wrong(hook.entry + ": a sync entry reaches around its call: leave 'at' out");
  const std::set<std::string> places =
      at_call ? std::set<std::string>{"before call", "after call"} : std::set<std::string>{"entry", "exit"};
  if (at.empty() || places.count(at)) return llvm::Error::success();
  return wrong(hook.entry + ": 'at' must be entry or exit, or before call or after call with 'call', not '" + at + "'");
}

/// The clocks that created_at may be of, by the numbers that Linux has given them for good.
llvm::Error readClock(Hook &hook, const std::string &name) {
  if (hook.created_at.empty()) return llvm::Error::success();
  if (hook.action != "begin") return wrong(hook.entry + ": 'created_at' is only for event = begin");
  const std::map<std::string, std::string> numbers = {{"CLOCK_REALTIME", "0"}, {"CLOCK_MONOTONIC", "1"}};
  const auto found = numbers.find(name);
  if (found == numbers.end())
    return wrong(hook.entry + ": 'clock' must be CLOCK_REALTIME or CLOCK_MONOTONIC, not '" + name + "'");
  hook.clock = found->second;
  return llvm::Error::success();
}

/// What a wait is called is known in the function that waits, by a call.
llvm::Error checkName(const Hook &hook) {
  const bool names_only = hook.table == "sync" && hook.action == "wait";
  if (names_only && hook.name.empty()) return wrong(hook.entry + ": 'name' is missing");
  if (names_only && !hook.value.empty()) return wrong(hook.entry + ": 'object' is not for role = wait");
  if (hook.name.empty()) return llvm::Error::success();
  if (hook.table != "sync" || hook.action == "release")
    return wrong(hook.entry + ": 'name' is only for sync entries with role = acquire or wait");
  if (hook.calls.empty()) return wrong(hook.entry + ": 'name' needs 'call', the call that waits");
  return llvm::Error::success();
}

llvm::Expected<Hook> readHook(const Table &table, size_t position, const llvm::json::Object &object) {
  Hook hook;
  hook.table = table.name;
  hook.entry = hook.table + "/" + std::to_string(position);
  hook.action = text(object, table.action_key);
  hook.functions = oneOrMore(object, "function");
  hook.calls = oneOrMore(object, "call");
  hook.value = text(object, table.value_key);
  hook.file = text(object, "file");
  hook.type = text(object, "type");
  hook.name = text(object, "name");
  hook.created_at = text(object, "created_at");
  hook.mode = text(object, "mode");
  hook.owner = text(object, "owner");
  const std::string at = text(object, "at");
  hook.late =
      at == "exit" || at == "after call" || (at.empty() && (hook.action == "dequeue" || hook.action == "grant"));
  if (!table.actions.count(hook.action))
    return wrong(hook.entry + ": unknown " + table.action_key + " '" + hook.action + "'");
  if (hook.functions.empty()) return wrong(hook.entry + ": 'function' is missing");
  if (hook.value.empty() && hook.action != "wait" && hook.action != "release_all")
    return wrong(hook.entry + ": '" + table.value_key + "' is missing");
  if (hook.mode.empty() && hook.action == "request") return wrong(hook.entry + ": 'mode' is missing");
  if (llvm::Error error = checkPlace(hook, at)) return std::move(error);
  if (llvm::Error error = checkName(hook)) return std::move(error);
  if (llvm::Error error = readClock(hook, text(object, "clock"))) return std::move(error);
  return hook;
}

llvm::Error readTable(const Table &table, const llvm::json::Object &root, Descriptor &descriptor) {
  const llvm::json::Array *entries = root.getArray(table.name);
  if (!entries) return llvm::Error::success();
  for (size_t i = 0; i < entries->size(); ++i) {
    const llvm::json::Object *object = (*entries)[i].getAsObject();
    if (!object) return wrong(llvm::Twine(table.name) + "/" + llvm::Twine(i) + ": not a table");
    llvm::Expected<Hook> hook = readHook(table, i, *object);
    if (!hook) return hook.takeError();
    descriptor.hooks.push_back(std::move(*hook));
  }
  return llvm::Error::success();
}

bool isNamed(const std::string &wanted, const clang::FunctionDecl &decl, const std::string &name) {
  if (wanted == name) return true;
  if (wanted.back() != ')' || wanted.compare(0, name.size(), name) != 0) return false;
  std::string parameters = wanted.substr(name.size());
  parameters.erase(std::remove(parameters.begin(), parameters.end(), ' '), parameters.end());
  return parameters == parametersOf(&decl, /*canonical=*/false) ||
         parameters == parametersOf(&decl, /*canonical=*/true);
}

bool isAnyOf(const std::vector<std::string> &alternatives, const clang::FunctionDecl &decl, const std::string &name) {
  return std::any_of(alternatives.begin(), alternatives.end(),
                     [&](const std::string &wanted) { return isNamed(wanted, decl, name); });
}

bool matchesAny(const std::vector<std::string> &globs, const std::string &name) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string &glob) { return fnmatch(glob.c_str(), name.c_str(), 0) == 0; });
}

}  // namespace

bool Hook::names(const Function &candidate) const {
  if (!file.empty() && fnmatch(file.c_str(), candidate.file.c_str(), 0) != 0) return false;
  return isAnyOf(functions, *candidate.decl, candidate.name);
}

bool Hook::namesCallOf(const clang::FunctionDecl &callee) const {
  return isAnyOf(calls, callee, nameOf(&callee));
}

bool Descriptor::excludes(const std::string &name) const {
  return matchesAny(exclude, name);
}

bool Descriptor::probes(const std::string &name) const {
  return matchesAny(probe, name);
}

bool Descriptor::asksFor(const std::string &name) const {
  return std::any_of(probe.begin(), probe.end(), [&](const std::string &pattern) {
    return pattern.find_first_not_of('*') != std::string::npos && fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

bool Descriptor::plans(const std::string &name) const {
  return !only || matchesAny(*only, name);
}

llvm::Expected<Descriptor> readDescriptor(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return wrong("cannot read the descriptor " + path + ": " + buffer.getError().message());
  llvm::Expected<llvm::json::Value> value = llvm::json::parse((*buffer)->getBuffer());
  if (!value) return wrong("the descriptor " + path + " is not JSON: " + llvm::toString(value.takeError()));
  const llvm::json::Object *root = value->getAsObject();
  if (!root) return wrong("the descriptor " + path + " is not a JSON object");
  Descriptor descriptor;
  for (const Table &table : kTables)
    if (llvm::Error error = readTable(table, *root, descriptor)) return std::move(error);
  // Where both are at one place, a task is dequeued before the thread works for its interval: the edge ends there.
  std::stable_partition(descriptor.hooks.begin(), descriptor.hooks.end(),
                        [](const Hook &hook) { return hook.action == "dequeue" && !hook.late; });
  descriptor.probe = texts(*root, "probe");
  descriptor.exclude = texts(*root, "exclude");
  if (root->getArray("only")) descriptor.only = texts(*root, "only");
  descriptor.ignore_for_height = texts(*root, "ignore_for_height");
  return descriptor;
}

}  // namespace vprof
