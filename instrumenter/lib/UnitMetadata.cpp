#include "UnitMetadata.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace vprof {
namespace {

using llvm::json::OStream;

/// JSON refuses bytes that are not UTF-8, paths do not.
std::string utf8(const std::string &text) {
  return llvm::json::fixUTF8(text);
}

void writeFunction(OStream &json, const Function &function) {
  json.attribute("id", utf8(function.id));
  json.attribute("name", utf8(function.name));
  json.attribute("file", utf8(function.file));
  json.attribute("line", function.line);
  if (function.site)
    json.attribute("site", *function.site);
  else
    json.attribute("site", nullptr);
  if (function.left.empty())
    json.attribute("left", nullptr);
  else
    json.attribute("left", function.left);
  json.attribute("effort", static_cast<int64_t>(function.effort));
  json.attribute("noreturn", function.noreturn);
  json.attributeArray("calls", [&] {
    for (const auto &[symbol, line] : function.calls) json.value(llvm::json::Array{symbol, line});
  });
  json.attributeArray("indirect", [&] {
    for (const auto &[type, line] : function.indirect) json.value(llvm::json::Array{utf8(type), line});
  });
  if (!function.virtuals.empty())
    json.attributeArray("virtual", [&] {
      for (const auto &[symbol, line] : function.virtuals) json.value(llvm::json::Array{symbol, line});
    });
  if (function.numbered.empty()) return;
  json.attributeArray("numbered", [&] {
    unsigned number = 0;
    for (const NumberedCall &call : function.numbered) json.value(llvm::json::Array{++number, call.symbol, call.line});
  });
}

void writeSymbol(OStream &json, const Symbol &symbol) {
  json.attribute("id", utf8(symbol.id));
  json.attribute("name", utf8(symbol.name));
  json.attribute("noreturn", symbol.noreturn);
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

}  // namespace

std::string payloadOf(const Unit &unit) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream);
  json.object([&] {
    json.attribute("schema", "vprof-unit/1");
    json.attribute("unit", utf8(unit.file));
    json.attribute("language", unit.language);
    json.attribute("status", "instrumented");
    json.attribute("reason", "");
    json.attributeArray("functions", [&] {
      for (const Function &function : unit.functions) json.object([&] { writeFunction(json, function); });
    });
    json.attributeArray("symbols", [&] {
      for (const Symbol &symbol : unit.symbols) json.object([&] { writeSymbol(json, symbol); });
    });
    json.attributeArray("taken", [&] {
      for (const auto &[symbol, type] : unit.taken) json.value(llvm::json::Array{symbol, utf8(type)});
    });
    if (!unit.overrides.empty())
      json.attributeArray("overrides", [&] {
        for (const auto &[method, overridden] : unit.overrides) json.value(llvm::json::Array{method, overridden});
      });
    json.attributeArray("matched", [&] {
      for (const std::string &entry : unit.matched) json.value(entry);
    });
    json.attributeArray("ignore_for_height", [&] {
      for (const std::string &glob : unit.ignore_for_height) json.value(utf8(glob));
    });
  });
  return text;
}

std::string assemblyOfChunk(const std::string &payload, const std::string &switches, unsigned sites) {
  return ".pushsection .vprof_meta,\"R\",@progbits\n.balign 8\n.ascii \"VPUM\"\n.long 1\n.quad " +
         (switches.empty() ? "0" : switches) + "\n.long " + std::to_string(sites) + "\n.long " +
         std::to_string(payload.size()) + "\n" + asciiDirectives(payload) + ".balign 8\n.popsection\n";
}

}  // namespace vprof
