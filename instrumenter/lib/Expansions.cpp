#include "Expansions.h"

#include "clang/AST/DeclCXX.h"
#include "clang/AST/Mangle.h"
#include "llvm/Remarks/Remark.h"
#include "llvm/Remarks/RemarkParser.h"
#include "llvm/Support/MemoryBuffer.h"

namespace vprof {
namespace {

llvm::StringRef argument(const llvm::remarks::Remark &remark, llvm::StringRef key) {
  for (const llvm::remarks::Argument &one : remark.Args)
    if (one.Key == key) return one.Val;
  return "";
}

/// No other unit is likely to call it. A private method's callers are those of its class, mostly in the same file.
bool isOfTheUnit(const clang::FunctionDecl &function) {
  if (!function.isExternallyVisible()) return true;
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(&function);
  return method && method->getAccess() == clang::AS_private && !method->isVirtual() && !method->isInlined() &&
         !method->isTemplateInstantiation();
}

}  // namespace

Expansions::Expansions(const std::string &path) {
  namespace remarks = llvm::remarks;
  const auto text = llvm::MemoryBuffer::getFile(path);
  if (!text) return;
  auto parser = remarks::createRemarkParser(remarks::Format::YAML, (*text)->getBuffer());
  llvm::Error end = parser ? read(**parser) : parser.takeError();
  known_ = end.isA<remarks::EndOfFileError>();
  llvm::consumeError(std::move(end));
}

llvm::Error Expansions::read(llvm::remarks::RemarkParser &parser) {
  while (true) {
    auto remark = parser.next();
    if (!remark) return remark.takeError();
    const llvm::StringRef callee = argument(**remark, "Callee");
    if (callee.empty() || callee == argument(**remark, "Caller")) continue;
    Counts &counts = counts_[callee];
    ++((*remark)->RemarkType == llvm::remarks::Type::Passed ? counts.expanded : counts.kept);
  }
}

Expansions::Calls Expansions::of(const clang::FunctionDecl &function) const {
  if (!known_ || function.isTemplated() || !isOfTheUnit(function)) return Calls::kUnknown;
  const auto found = counts_.find(clang::ASTNameGenerator(function.getASTContext()).getName(&function));
  if (found == counts_.end() || found->second.expanded == 0) return Calls::kNoneExpanded;
  return found->second.kept == 0 ? Calls::kAllExpanded : Calls::kSomeExpanded;
}

}  // namespace vprof
