#include "Variables.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/Expr.h"

namespace vprof {
namespace {

/// The literal that a variable holds as long as it lives; null if it may hold another value.
const clang::StringLiteral *constantText(const clang::VarDecl &variable, const clang::ASTContext &context) {
  const clang::Expr *value = variable.getAnyInitializer();
  const auto *text = value ? llvm::dyn_cast<clang::StringLiteral>(value->IgnoreParenImpCasts()) : nullptr;
  if (!text || text->getCharByteWidth() != 1 || text->isUTF8()) return nullptr;
  const clang::QualType type = variable.getType();
  const bool constant =
      type.isConstQualified() || (type->isArrayType() && context.getBaseElementType(type).isConstQualified());
  return constant ? text : nullptr;
}

bool endRunsCode(const clang::VarDecl &variable, const clang::ASTContext &context) {
  if (variable.hasAttr<clang::CleanupAttr>()) return true;
  const clang::CXXRecordDecl *record = context.getBaseElementType(variable.getType())->getAsCXXRecordDecl();
  return record && record->hasDefinition() && !record->hasTrivialDestructor();
}

}  // namespace

unsigned Variables::number(const clang::VarDecl &variable) {
  const auto [place, is_new] = numbers_.try_emplace(variable.getCanonicalDecl(), variables_.size());
  if (is_new) variables_.push_back(&variable);
  return place->second;
}

llvm::json::Array Variables::describe() const {
  llvm::json::Array result;
  for (const clang::VarDecl *variable : variables_) {
    const clang::QualType type = variable->getType();
    llvm::json::Object one{{"name", variable->getNameAsString()},
                           {"local", variable->hasLocalStorage()},
                           {"parameter", llvm::isa<clang::ParmVarDecl>(variable)},
                           {"reference", type->isReferenceType()},
                           {"volatile", type.isVolatileQualified() || type->isAtomicType() ||
                                            context_.getBaseElementType(type).isVolatileQualified()},
                           {"destructor", endRunsCode(*variable, context_)}};
    if (const clang::StringLiteral *text = constantText(*variable, context_))
      one["text"] = llvm::json::fixUTF8(text->getString());
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace vprof
