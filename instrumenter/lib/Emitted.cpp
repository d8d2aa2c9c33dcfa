#include "Emitted.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"

namespace vprof {

/// What a piece of code names, implied code included. Bodies of lambdas and local classes count as code where they are.
class Emitted::Names : public clang::RecursiveASTVisitor<Names> {
 public:
  explicit Names(Emitted &emitted) : emitted_(emitted) {}

  bool shouldVisitImplicitCode() const { return true; }

  bool VisitExpr(clang::Expr *expression) {
    if (expression->isPRValue()) emitted_.addDestructorOf(expression->getType());
    return true;
  }

  bool VisitDeclRefExpr(clang::DeclRefExpr *reference) {
    addDecl(reference->getDecl());
    return true;
  }

  bool VisitMemberExpr(clang::MemberExpr *member) {
    addDecl(member->getMemberDecl());
    return true;
  }

  /// Of a virtual method the one that the compiler may know to be meant.
  bool VisitCXXMemberCallExpr(clang::CXXMemberCallExpr *call) {
    addMeant(call->getMethodDecl(), call->getImplicitObjectArgument());
    return true;
  }

  bool VisitCXXOperatorCallExpr(clang::CXXOperatorCallExpr *call) {
    if (call->getNumArgs())
      addMeant(llvm::dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee()), call->getArg(0));
    return true;
  }

  bool VisitCXXConstructExpr(clang::CXXConstructExpr *construction) {
    emitted_.add(construction->getConstructor());
    return true;
  }

  bool VisitCXXInheritedCtorInitExpr(clang::CXXInheritedCtorInitExpr *construction) {
    emitted_.add(construction->getConstructor());
    return true;
  }

  bool VisitCXXNewExpr(clang::CXXNewExpr *creation) {
    emitted_.add(creation->getOperatorNew());
    emitted_.add(creation->getOperatorDelete());
    emitted_.addDestructorOf(creation->getAllocatedType());
    return true;
  }

  bool VisitCXXDeleteExpr(clang::CXXDeleteExpr *deletion) {
    emitted_.add(deletion->getOperatorDelete());
    if (!deletion->getArgument()->isTypeDependent()) emitted_.addDestructorOf(deletion->getDestroyedType());
    return true;
  }

  bool VisitLambdaExpr(clang::LambdaExpr *lambda) {
    emitted_.addParts(*lambda->getLambdaClass());
    return true;
  }

  bool VisitVarDecl(clang::VarDecl *variable) {
    emitted_.addDestructorOf(variable->getType());
    if (const auto *cleanup = variable->getAttr<clang::CleanupAttr>()) emitted_.add(cleanup->getFunctionDecl());
    return true;
  }

 private:
  void addDecl(const clang::ValueDecl *decl) {
    if (const auto *function = llvm::dyn_cast<clang::FunctionDecl>(decl))
      emitted_.add(function);
    else if (const auto *variable = llvm::dyn_cast<clang::VarDecl>(decl))
      emitted_.add(variable);
    else if (const auto *binding = llvm::dyn_cast<clang::BindingDecl>(decl); binding && binding->getHoldingVar())
      emitted_.add(binding->getHoldingVar());
  }

  void addMeant(const clang::CXXMethodDecl *method, const clang::Expr *object) {
    if (!method || !method->isVirtual() || !object || object->isTypeDependent()) return;
    emitted_.add(method->getDevirtualizedMethod(object, /*IsAppleKext=*/false));
  }

  Emitted &emitted_;
};

bool makesCodeOfAll(const clang::ASTContext &context) {
  const clang::LangOptions &options = context.getLangOpts();
  return options.EmitAllDecls || options.ObjC || options.CUDA || options.OpenMP || options.Blocks;
}

void Emitted::addRoot(const clang::FunctionDecl *definition) {
  const clang::SourceManager &sources = context_.getSourceManager();
  const clang::SourceLocation place = sources.getExpansionLoc(definition->getBody()->getBeginLoc());
  const bool in_main_file = sources.getFileID(place) == sources.getMainFileID();
  if (definition->isDependentContext()) return;
  if (in_main_file || const_cast<clang::ASTContext &>(context_).DeclMustBeEmitted(definition)) add(definition);
}

void Emitted::add(const clang::FunctionDecl *function) {
  if (function && seen_.insert(function->getCanonicalDecl()).second) functions_.push_back(function);
}

void Emitted::add(const clang::VarDecl *variable) {
  if (seen_.insert(variable->getCanonicalDecl()).second) variables_.push_back(variable);
}

std::vector<const clang::FunctionDecl *> Emitted::close() {
  std::vector<const clang::FunctionDecl *> definitions;
  while (!functions_.empty() || !variables_.empty()) {
    if (!variables_.empty()) {
      const clang::VarDecl *variable = variables_.back();
      variables_.pop_back();
      if (variable->hasDefinition() != clang::VarDecl::DeclarationOnly) addDestructorOf(variable->getType());
      const clang::VarDecl *initialised = nullptr;
      const clang::Expr *value = variable->getAnyInitializer(initialised);
      if (value) Names(*this).TraverseStmt(const_cast<clang::Expr *>(value));
      continue;
    }
    const clang::FunctionDecl *function = functions_.back();
    functions_.pop_back();
    const clang::FunctionDecl *definition = nullptr;
    const bool has_body = function->isDefined(definition) && definition->getBody();
    if (has_body) definitions.push_back(definition);
    addNamesIn(has_body ? *definition : *function);
  }
  return definitions;
}

void Emitted::addDestructorOf(clang::QualType type) {
  if (type.isNull() || type->isDependentType()) return;
  const clang::CXXRecordDecl *record = context_.getBaseElementType(type)->getAsCXXRecordDecl();
  if (record && record->hasDefinition() && !record->hasTrivialDestructor()) add(record->getDestructor());
}

/// What constructors and destructors destroy.
void Emitted::addParts(const clang::CXXRecordDecl &record) {
  for (const clang::FieldDecl *field : record.fields()) addDestructorOf(field->getType());
  for (const clang::CXXBaseSpecifier &base : record.bases()) addDestructorOf(base.getType());
  for (const clang::CXXBaseSpecifier &base : record.vbases()) addDestructorOf(base.getType());
}

/// The virtual methods of a class and of its bases, if its table of methods is made here.
void Emitted::addMethodTable(const clang::CXXRecordDecl &record) {
  if (!record.isDynamicClass() || !seen_.insert(&record).second) return;
  const clang::CXXMethodDecl *key = const_cast<clang::ASTContext &>(context_).getCurrentKeyFunction(&record);
  if (key && !key->isDefined()) return;
  const auto addMethods = [&](const clang::CXXRecordDecl *one) {
    for (const clang::CXXMethodDecl *method : one->methods())
      if (method->isVirtual()) add(method);
    return true;
  };
  addMethods(record.getDefinition());
  record.forallBases(addMethods);
}

void Emitted::addNamesIn(const clang::FunctionDecl &definition) {
  Names names(*this);
  if (clang::Stmt *body = definition.getBody()) names.TraverseStmt(body);
  for (const clang::ParmVarDecl *parameter : definition.parameters()) addDestructorOf(parameter->getType());
  if (const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(&definition)) addNamesIn(*method);
}

void Emitted::addNamesIn(const clang::CXXMethodDecl &method) {
  const clang::CXXRecordDecl &record = *method.getParent();
  const auto *constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(&method);
  const auto *destructor = llvm::dyn_cast<clang::CXXDestructorDecl>(&method);
  if (constructor)
    for (const clang::CXXCtorInitializer *initializer : constructor->inits())
      Names(*this).TraverseStmt(initializer->getInit());
  if (destructor && destructor->getOperatorDelete()) add(destructor->getOperatorDelete());
  if (constructor || destructor) addParts(record);
  if (constructor && constructor->isDelegatingConstructor()) add(record.getDestructor());
  if (constructor || destructor || method.isVirtual()) addMethodTable(record);
}

}  // namespace vprof
