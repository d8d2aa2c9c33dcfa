#include "UnitMetadata.h"

#include <map>
#include <set>

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace vprof {
namespace {

using llvm::json::OStream;

/// JSON refuses bytes that are not UTF-8, paths do not.
std::string utf8(const std::string &text) {
  return llvm::json::fixUTF8(text);
}

/// A callee by its identity, so that the text is the same in all units.
llvm::json::Value calleeOf(const Unit &unit, unsigned symbol) {
  return utf8(unit.symbols[symbol].id);
}

template <typename List, typename Entry>
void writeList(OStream &json, const char *name, const List &list, Entry entryOf) {
  if (list.empty()) return;
  json.attributeArray(name, [&] {
    for (const auto &one : list) json.value(entryOf(one));
  });
}

void writeFunction(OStream &json, const Unit &unit, const Function &function) {
  using llvm::json::Array;
  const auto call = [&](const auto &one) { return Array{calleeOf(unit, one.first), one.second}; };
  json.attribute("id", utf8(function.id));
  json.attribute("name", utf8(function.name));
  json.attribute("file", utf8(function.file));
  json.attribute("line", function.line);
  if (!function.left.empty()) json.attribute("left", function.left);
  json.attribute("effort", static_cast<int64_t>(function.effort));
  if (function.noreturn) json.attribute("noreturn", true);
  if (function.before_body) json.attribute("before_body", true);
  writeList(json, "calls", function.calls, call);
  writeList(json, "indirect", function.indirect, [](const auto &one) { return Array{utf8(one.first), one.second}; });
  writeList(json, "virtual", function.virtuals, call);
  unsigned number = 0;
  writeList(json, "numbered", function.numbered,
            [&](const NumberedCall &one) { return Array{++number, calleeOf(unit, one.symbol), one.line}; });
}

void writeSymbol(OStream &json, const Symbol &symbol) {
  json.attribute("id", utf8(symbol.id));
  json.attribute("name", utf8(symbol.name));
  if (symbol.noreturn) json.attribute("noreturn", true);
}

template <typename Write>
std::string objectOf(Write write) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream);
  json.object([&] { write(json); });
  return text;
}

/// The overridings that a virtual call may need to find one of the unit's functions, at any remove.
std::vector<std::pair<unsigned, unsigned>> overridesAbove(const Unit &unit) {
  std::set<std::string> described;
  for (const Function &function : unit.functions) described.insert(function.id);
  std::vector<unsigned> todo;
  for (const auto &[method, overridden] : unit.overrides)
    if (described.count(unit.symbols[method].id)) todo.push_back(method);
  std::multimap<unsigned, unsigned> all(unit.overrides.begin(), unit.overrides.end());
  std::set<std::pair<unsigned, unsigned>> found;
  while (!todo.empty()) {
    const auto [first, last] = all.equal_range(todo.back());
    todo.pop_back();
    for (auto one = first; one != last; ++one)
      if (found.insert(*one).second) todo.push_back(one->second);
  }
  return {found.begin(), found.end()};
}

/// The symbols of a chunk: those of the unit that it names, numbered anew.
class Named {
 public:
  explicit Named(const Unit &unit) : unit_(unit) {}

  unsigned add(unsigned symbol) {
    const auto [place, is_new] = index_.try_emplace(symbol, texts.size());
    if (is_new) texts.push_back(objectOf([&](OStream &json) { writeSymbol(json, unit_.symbols[symbol]); }));
    return place->second;
  }

  std::vector<std::string> texts;

 private:
  const Unit &unit_;
  std::map<unsigned, unsigned> index_;
};

void writePayload(OStream &json, const Unit &unit, Named &named) {
  using llvm::json::Array;
  json.attribute("schema", "vprof-unit/2");
  json.attribute("unit", utf8(unit.file));
  json.attribute("language", unit.language);
  json.attribute("status", "instrumented");
  json.attribute("reason", "");
  const auto overrides = overridesAbove(unit);
  writeList(json, "taken", unit.taken, [&](const auto &one) { return Array{named.add(one.first), utf8(one.second)}; });
  writeList(json, "through", unit.through, [](const auto &one) { return Array{utf8(one.first), utf8(one.second)}; });
  writeList(json, "overrides", overrides,
            [&](const auto &one) { return Array{named.add(one.first), named.add(one.second)}; });
  writeList(json, "matched", unit.matched, [](const std::string &entry) { return llvm::json::Value(entry); });
  writeList(json, "ignore_for_height", unit.ignore_for_height,
            [](const std::string &glob) { return llvm::json::Value(utf8(glob)); });
}

void appendEscaped(std::string &text, unsigned char byte) {
  const bool plain = byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
  if (plain) {
    text += static_cast<char>(byte);
    return;
  }
  text += '\\';
  for (int shift : {6, 3, 0}) text += static_cast<char>('0' + ((byte >> shift) & 7));
}

/// One .ascii directive per 100 bytes keeps the text readable in `vprof-cc -S`.
std::string asciiDirectives(const std::string &bytes) {
  constexpr size_t kPerLine = 100;
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += kPerLine) {
    text += ".ascii \"";
    for (const char c : bytes.substr(i, kPerLine)) appendEscaped(text, static_cast<unsigned char>(c));
    text += "\"\n";
  }
  return text;
}

/// The place of a text in .vprof_text, where the linker keeps one of equal ones. The label is one that may be defined
/// again, since link-time optimisation assembles several units at once; 0b and 1b would be numbers in Intel's syntax.
std::string referenceTo(const std::string &text) {
  return ".pushsection .vprof_text,\"MS\",@progbits,1\n2:\n" + asciiDirectives(text) +
         ".byte 0\n.popsection\n.long 2b\n";
}

}  // namespace

Chunk chunkOf(const Unit &unit) {
  Chunk chunk;
  Named named(unit);
  for (const Function &function : unit.functions) {
    chunk.functions.push_back(objectOf([&](OStream &json) { writeFunction(json, unit, function); }));
    for (const auto &call : function.calls) named.add(call.first);
    for (const auto &call : function.virtuals) named.add(call.first);
    for (const NumberedCall &call : function.numbered) named.add(call.symbol);
  }
  chunk.payload = objectOf([&](OStream &json) { writePayload(json, unit, named); });
  chunk.symbols = std::move(named.texts);
  return chunk;
}

std::string assemblyOf(const Chunk &chunk, const std::string &switches, unsigned sites) {
  const size_t texts = chunk.functions.size() + chunk.symbols.size();
  const size_t length = 8 + 4 * texts + chunk.payload.size();
  std::string text = ".pushsection .vprof_meta,\"R\",@progbits\n.balign 8\n.ascii \"VPUM\"\n.long 2\n.quad " +
                     (switches.empty() ? "0" : switches) + "\n.long " + std::to_string(sites) + "\n.long " +
                     std::to_string(length) + "\n.long " + std::to_string(chunk.functions.size()) + "\n.long " +
                     std::to_string(chunk.symbols.size()) + "\n";
  for (const std::vector<std::string> *list : {&chunk.functions, &chunk.symbols})
    for (const std::string &one : *list) text += referenceTo(one);
  return text + asciiDirectives(chunk.payload) + ".balign 8\n.popsection\n";
}

}  // namespace vprof
