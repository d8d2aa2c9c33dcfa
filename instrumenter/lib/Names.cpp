#include "Names.h"

#include <algorithm>

#include "OlderClang.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Index/USRGeneration.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace vprof {
namespace {

const clang::CXXRecordDecl *lambdaOf(const clang::FunctionDecl *decl) {
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(decl);
  return method && method->getParent()->isLambda() ? method->getParent() : nullptr;
}

/// The function whose text a declaration stands in, if any.
const clang::FunctionDecl *enclosingFunction(const clang::Decl *decl) {
  const clang::DeclContext *context = decl->getDeclContext();
  while (context && !context->isFunctionOrMethod()) context = context->getParent();
  return llvm::dyn_cast_or_null<clang::FunctionDecl>(context);
}

std::string recordName(const clang::CXXRecordDecl *record) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  const auto *special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record);
  if (special && special->isExplicitSpecialization())
    special->getNameForDiagnostic(stream, special->getASTContext().getPrintingPolicy(), /*Qualified=*/false);
  else if (record->getIdentifier())
    stream << record->getName();
  else
    stream << "(anonymous)";
  return name;
}

/// The name of one scope of a qualified name, "" for what is not written in it.
std::string scopeName(const clang::DeclContext *scope) {
  if (const auto *space = llvm::dyn_cast<clang::NamespaceDecl>(scope)) {
    if (space->isAnonymousNamespace()) return "(anonymous namespace)";
    return space->isInline() ? "" : space->getName().str();
  }
  const auto *record = llvm::dyn_cast<clang::CXXRecordDecl>(scope);
  return record && !record->isLambda() ? recordName(record) : "";
}

/// Constructors and destructors of templates are named without the template's parameters.
std::string lastName(const clang::FunctionDecl *decl) {
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(decl);
  if (llvm::isa<clang::CXXConstructorDecl>(decl) && method->getParent()->getIdentifier())
    return method->getParent()->getName().str();
  if (llvm::isa<clang::CXXDestructorDecl>(decl) && method->getParent()->getIdentifier())
    return "~" + method->getParent()->getName().str();
  if (const auto *conversion = llvm::dyn_cast<clang::CXXConversionDecl>(decl))
    return "operator " + conversion->getConversionType().getAsString(writtenTypes(decl));
  return decl->getNameAsString();
}

}  // namespace

std::pair<std::string, unsigned> placeOf(const clang::SourceManager &sources, clang::SourceLocation location) {
  const clang::PresumedLoc place = sources.getPresumedLoc(sources.getExpansionLoc(location));
  if (place.isInvalid()) return {"", 0};
  llvm::SmallString<128> path(place.getFilename());
  sources.getFileManager().makeAbsolutePath(path);
  llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  return {path.str().str(), place.getLine()};
}

bool isSystem(const clang::SourceManager &sources, clang::SourceLocation location) {
  if (location.isInvalid()) return false;
  location = sources.getExpansionLoc(location);
  if (sources.isInSystemHeader(location)) return true;
  const auto file = sources.getFileEntryRefForID(sources.getFileID(location));
  return file && (startsWith(file->getName(), "/usr/include/") || startsWith(file->getName(), "/usr/lib/"));
}

const clang::FunctionDecl *patternOf(const clang::FunctionDecl *decl) {
  if (decl->getTemplateSpecializationKind() == clang::TSK_ExplicitSpecialization) return decl;
  const clang::FunctionDecl *pattern = decl->getTemplateInstantiationPattern(/*ForDefinition=*/false);
  return pattern ? pattern : decl;
}

std::string identityOf(const clang::FunctionDecl *instance) {
  const clang::FunctionDecl *decl = patternOf(instance);
  const clang::SourceManager &sources = decl->getASTContext().getSourceManager();
  if (const clang::CXXRecordDecl *lambda = lambdaOf(decl)) {
    const auto [file, line] = placeOf(sources, lambda->getLocation());
    const clang::FunctionDecl *outer = enclosingFunction(lambda);
    return (outer ? identityOf(outer) : "c:@" + file) + "@lambda@" + std::to_string(line) + ":" +
           std::to_string(sources.getExpansionColumnNumber(lambda->getLocation()));
  }
  llvm::SmallString<128> usr;
  clang::index::generateUSRForDecl(decl, usr);
  std::string id = usr.str().str();
  if (!decl->isExternallyVisible()) {
    const clang::FunctionDecl *definition = nullptr;
    if (!decl->isDefined(definition)) definition = decl;
    id += "@" + placeOf(sources, definition->getLocation()).first;
  }
  return id;
}

std::string nameOf(const clang::FunctionDecl *instance) {
  const clang::FunctionDecl *decl = patternOf(instance);
  const clang::CXXRecordDecl *lambda = lambdaOf(decl);
  std::string name = lastName(decl);
  if (lambda) {
    const clang::SourceManager &sources = decl->getASTContext().getSourceManager();
    name = "lambda@" + std::to_string(placeOf(sources, lambda->getLocation()).second);
  }
  for (const clang::DeclContext *scope = decl->getDeclContext(); scope; scope = scope->getParent()) {
    if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(scope)) return nameOf(function) + "()::" + name;
    if (const std::string outer = scopeName(scope); !outer.empty()) name = outer + "::" + name;
  }
  return name;
}

std::string parametersOf(const clang::FunctionDecl *decl, bool canonical) {
  const clang::PrintingPolicy policy = writtenTypes(decl);
  std::string text = "(";
  for (const clang::ParmVarDecl *parameter : decl->parameters()) {
    const clang::QualType type = parameter->getType();
    text += (text.back() == '(' ? "" : ",") + (canonical ? type.getCanonicalType() : type).getAsString(policy);
  }
  if (decl->isVariadic()) text += text.back() == '(' ? "..." : ",...";
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text + ")";
}

clang::PrintingPolicy writtenTypes(const clang::FunctionDecl *decl) {
  clang::PrintingPolicy policy(decl->getASTContext().getLangOpts());
  policy.SuppressUnwrittenScope = true;
  return policy;
}

}  // namespace vprof
