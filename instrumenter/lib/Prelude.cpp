#include "Prelude.h"

#include "UnitMetadata.h"
#include "clang/Basic/Version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

namespace vprof {
namespace {

/// Each line of assembly as one C string literal.
std::string topLevelAssembly(llvm::StringRef assembly) {
  std::string text = "__asm__(\n";
  while (!assembly.empty()) {
    const auto [line, rest] = assembly.split('\n');
    text += '"';
    for (const char c : line) {
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += "\\n\"\n";
    assembly = rest;
  }
  return text + ");\n";
}

/// Weak, since a cache of compilations may give two objects of one program the same text and so the same name.
std::string switchAssembly(const std::string &symbol, unsigned sites) {
  return ".pushsection vprof_switch,\"aw\",@progbits\n.hidden " + symbol + "\n.weak " + symbol + "\n.type " + symbol +
         ",@object\n.size " + symbol + "," + std::to_string(sites) + "\n" + symbol + ":\n.zero " +
         std::to_string(sites) + "\n.popsection\n";
}

#if CLANG_VERSION_MAJOR >= 17
uint64_t hashOf(const std::string &text) {
  return llvm::xxh3_64bits(llvm::StringRef(text));
}
#else
uint64_t hashOf(const std::string &text) {
  return llvm::xxHash64(text);
}
#endif

}  // namespace

std::string switchSymbol(const std::string &object, const std::string &source) {
  const std::string both = object + '\0' + source;
  return "__vprof_sw_" + llvm::utohexstr(hashOf(both), /*LowerCase=*/true);
}

std::string preludeText(const Unit &unit, const std::string &switches, const std::string &fixed, bool returns) {
  std::string text = "#pragma GCC system_header\n";
  text += "extern volatile unsigned char __vprof_sw[] __asm__(\"" + switches +
          "\") __attribute__((__visibility__(\"hidden\")));\n";
  if (llvm::any_of(unit.functions, [](const Function &function) { return function.before_body; }))
    text += "#define __VPROF_SWITCH \"" + switches + "\"\n";
  if (returns) text += "#define __VPROF_RETURNS\n";
  if (unit.sites) text += topLevelAssembly(switchAssembly(switches, unit.sites));
  text += topLevelAssembly(assemblyOf(chunkOf(unit), unit.sites ? switches : "", unit.sites));
  return text + fixed;
}

}  // namespace vprof
