#include "BeforeBody.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/Builtins.h"
#include "clang/Basic/TargetInfo.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Lex/Lexer.h"

namespace vprof {
namespace {

constexpr unsigned kIntegerRegisters = 6, kFloatRegisters = 8;

/// Expected operations (Effort.h), beside which a call costs little; and a call of what may take long, for which it is
/// paid in each program (docs/design/entry-probes.md "What may take long").
constexpr double kLeastEffortOfKept = 30, kLeastEffortOfLoops = 60;

#if CLANG_VERSION_MAJOR >= 16
bool hasTargetVersion(const clang::FunctionDecl &decl) {
  return decl.hasAttr<clang::TargetVersionAttr>();
}
#else
bool hasTargetVersion(const clang::FunctionDecl &) {
  return false;
}
#endif

#if CLANG_VERSION_MAJOR >= 17
bool isFatLto(const clang::CodeGenOptions &code) {
  return code.FatLTO;
}
#else
bool isFatLto(const clang::CodeGenOptions &) {
  return false;
}
#endif

/// Options of code generation that a wrapper was not tried with, or that may give functions other arguments than their
/// type says.
bool isUncertain(const clang::CodeGenOptions &code) {
  return code.PrepareForLTO || code.PrepareForThinLTO || isFatLto(code) || code.DisableIntegratedAS ||
         code.PatchableFunctionEntryCount || code.HotPatch || code.XRayInstrumentFunctions ||
         code.InstrumentForProfiling || code.CallFEntry || code.InstrumentFunctions ||
         code.InstrumentFunctionsAfterInlining || code.InstrumentFunctionEntryBare || code.SplitMachineFunctions ||
         code.EnableSegmentedStacks || code.MergeFunctions || code.StackRealignment || code.NumRegisterParameters ||
         code.PseudoProbeForProfiling || code.getProfileInstr() != clang::CodeGenOptions::ProfileNone ||
         code.getProfileUse() != clang::CodeGenOptions::ProfileNone || code.CoverageMapping ||
         code.hasSanitizeCoverage() || code.SoftFloat || code.SpeculativeLoadHardening || code.UnwindTables == 0 ||
         !code.SampleProfileFile.empty() || !code.CoverageNotesFile.empty() || !code.PassPlugins.empty() ||
         code.BBSections != "none" || code.DisableLLVMPasses || code.EmitDeclMetadata;
}

bool isUncertain(const clang::CompilerInstance &compiler) {
  const clang::LangOptions &language = compiler.getLangOpts();
  const clang::FrontendOptions &front_end = compiler.getFrontendOpts();
  const clang::TargetOptions &target = compiler.getTargetOpts();
  const std::string model = target.CodeModel;
  return isUncertain(compiler.getCodeGenOpts()) || !front_end.LLVMArgs.empty() || !front_end.Plugins.empty() ||
         !language.Sanitize.empty() || language.OpenMP || language.CUDA || language.ObjC || language.SYCLIsDevice ||
         compiler.getTarget().getMaxPointerWidth() != 64 || (model != "default" && model != "small" && !model.empty());
}

bool hasUncertainAttribute(const clang::FunctionDecl &decl) {
  return decl.hasAttr<clang::PatchableFunctionEntryAttr>() || decl.hasAttr<clang::AlwaysInlineAttr>() ||
         decl.hasAttr<clang::GNUInlineAttr>() || decl.hasAttr<clang::ReturnsTwiceAttr>() ||
         decl.hasAttr<clang::TargetClonesAttr>() || hasTargetVersion(decl) || decl.hasAttr<clang::CPUDispatchAttr>() ||
         decl.hasAttr<clang::CPUSpecificAttr>() || decl.hasAttr<clang::AnyX86NoCallerSavedRegistersAttr>() ||
         decl.hasAttr<clang::NoDebugAttr>() || decl.hasAttr<clang::X86ForceAlignArgPointerAttr>() ||
         decl.hasAttr<clang::StrictFPAttr>() || decl.hasAttr<clang::XRayInstrumentAttr>() ||
         decl.hasAttr<clang::CUDAGlobalAttr>();
}

/// It would see the wrapper in its caller's place.
class LooksForCaller : public clang::RecursiveASTVisitor<LooksForCaller> {
 public:
  bool VisitCallExpr(clang::CallExpr *call) {
    const clang::FunctionDecl *callee = call->getDirectCallee();
    const unsigned builtin = callee ? callee->getBuiltinID() : 0;
    found |=
        builtin == clang::Builtin::BI__builtin_return_address || builtin == clang::Builtin::BI__builtin_frame_address;
    return !found;
  }

  bool found = false;
};

/// What a parameter may take: one register of a kind, or nobody knows.
enum class Kind { kInteger, kFloat, kOther };

Kind kindOf(clang::QualType written) {
  const clang::QualType type = written.getCanonicalType();
  if (type->isReferenceType() || type->isPointerType() || type->isNullPtrType()) return Kind::kInteger;
  if (type->isDependentType()) return Kind::kOther;
  if (const auto *enumeration = type->getAs<clang::EnumType>())
    return enumeration->getDecl()->isComplete() ? kindOf(enumeration->getDecl()->getIntegerType()) : Kind::kOther;
  const auto *builtin = type->getAs<clang::BuiltinType>();
  if (!builtin) return Kind::kOther;
  switch (builtin->getKind()) {
    case clang::BuiltinType::Float:
    case clang::BuiltinType::Double:
      return Kind::kFloat;
    case clang::BuiltinType::Int128:
    case clang::BuiltinType::UInt128:
      return Kind::kOther;
    default:
      return builtin->isInteger() ? Kind::kInteger : Kind::kOther;
  }
}

/// Its address may be in a register that is an argument.
bool mayBeReturnedInMemory(clang::QualType type) {
  return !type->isVoidType() && kindOf(type) == Kind::kOther;
}

bool hasAllArgumentsInRegisters(const clang::FunctionDecl &decl) {
  const auto *type = decl.getType()->getAs<clang::FunctionProtoType>();
  if (!type || type->isVariadic() || type->getCallConv() != clang::CC_C) return false;
  const clang::QualType returned = type->getReturnType();
  if (returned->isVectorType() || returned->isAtomicType() || returned->isBitIntType()) return false;
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(&decl);
  unsigned integers = (method && method->isInstance()) + mayBeReturnedInMemory(returned), floats = 0;
  for (const clang::ParmVarDecl *parameter : decl.parameters()) {
    const Kind kind = kindOf(parameter->getType());
    if (kind == Kind::kOther || parameter->isParameterPack() || parameter->hasAttr<clang::PassObjectSizeAttr>())
      return false;
    ++(kind == Kind::kInteger ? integers : floats);
  }
  return integers <= kIntegerRegisters && floats <= kFloatRegisters;
}

/// An instance of a template may be, if its arguments are.
bool mayBeOfTheUnitAlone(const clang::FunctionDecl &decl) {
  return !decl.isExternallyVisible() || decl.isDependentContext() || decl.getDescribedFunctionTemplate();
}

/// At -O3 what is behind a pointer may become several arguments of functions that only the unit calls. Clang makes no
/// such functions of others: no copies for certain arguments (wrapper/NoOps.h).
bool mayHaveOtherArguments(const clang::FunctionDecl &decl, const clang::CodeGenOptions &code) {
  if (code.OptimizationLevel < 3 || !mayBeOfTheUnitAlone(decl)) return false;
  const auto *method = llvm::dyn_cast<clang::CXXMethodDecl>(&decl);
  return (method && method->isInstance()) || mayBeReturnedInMemory(decl.getReturnType()) ||
         llvm::any_of(decl.parameters(), [](const clang::ParmVarDecl *parameter) {
           return parameter->getType()->isPointerType() || parameter->getType()->isReferenceType();
         });
}

/// For gcc the attribute goes before the declaration, which a macro may begin; invalid if gcc does not see that line.
clang::SourceLocation beginOf(const clang::FunctionDecl &decl, const CompilerText &gcc_text) {
  const clang::ASTContext &context = decl.getASTContext();
  clang::SourceLocation begin = decl.getInnerLocStart();
  if (begin.isMacroID() &&
      !clang::Lexer::isAtStartOfMacroExpansion(begin, context.getSourceManager(), context.getLangOpts(), &begin))
    return {};
  return begin.isFileID() && gcc_text.sees(begin) ? begin : clang::SourceLocation();
}

/// Where the attribute goes, invalid if there is no place. For clang before the body: there it would belong to what
/// stands behind an arrow or `requires`.
clang::SourceLocation placeOfAttribute(const clang::FunctionDecl &decl, const CompilerText *gcc_text) {
  const auto *type = decl.getType()->getAs<clang::FunctionProtoType>();
  if (!type || !decl.hasWrittenPrototype() || type->hasTrailingReturn() || decl.getTrailingRequiresClause() ||
      !llvm::isa<clang::CompoundStmt>(decl.getBody()))
    return {};
  return gcc_text ? beginOf(decl, *gcc_text) : decl.getBody()->getBeginLoc();
}

/// Of a function that begins with a no-op the first copy of a body is taken for its own. What a constructor initialises
/// is before that. Compilers also make destructors that call the written one, and destroy virtual bases or free the
/// memory then: they begin with a no-op as well, and may have copies of nothing else.
bool mayBeginWithAnotherBody(const clang::FunctionDecl &decl) {
  if (llvm::isa<clang::CXXConstructorDecl>(decl)) return true;
  const auto *destructor = llvm::dyn_cast<clang::CXXDestructorDecl>(&decl);
  if (!destructor) return false;
  const clang::CXXRecordDecl &object = *destructor->getParent();
  if (object.getNumVBases() || object.hasAnyDependentBases()) return true;
  if (!destructor->isVirtual()) return false;
  const clang::FunctionDecl *frees = destructor->getOperatorDelete();
  return object.isDependentContext() || (frees && frees->isDefined());
}

bool mayBeWrapped(const Function &function) {
  const clang::FunctionDecl &decl = *function.decl;
  if (function.is_lambda || mayBeginWithAnotherBody(decl)) return false;
  if (hasUncertainAttribute(decl) || !hasAllArgumentsInRegisters(decl)) return false;
  LooksForCaller looks;
  looks.TraverseStmt(decl.getBody());
  return !looks.found;
}

/// By its name, or by an entry: somebody wants its calls told apart, which needs numbers (CallNumbers.h).
bool isNamed(const Function &function, const Descriptor &descriptor) {
  return llvm::is_contained(descriptor.probe, function.name) ||
         (descriptor.only && llvm::is_contained(*descriptor.only, function.name)) ||
         llvm::any_of(descriptor.hooks, [&](const Hook &hook) { return hook.names(function); });
}

/// A probe before the body is not in copies of it, so such a function is never expanded. Where the compiler would do
/// that, it costs more than a probe in the body, unless the function does much, or somebody asks for it.
bool isWorthItsCall(const Function &function, const Descriptor &descriptor) {
  if (descriptor.asksFor(function.name) || !function.may_be_expanded) return true;
  return function.effort >= kLeastEffortOfKept;
}

/// How long its calls take may differ by far, so they are to be seen.
bool mayTakeLong(const Function &function) {
  return function.loops && function.effort >= kLeastEffortOfLoops;
}

/// Calls that the compiler would make a loop of, in which they are not seen.
bool callsItself(const Function &function, const Unit &unit) {
  return llvm::any_of(function.calls, [&](const auto &call) { return unit.symbols[call.first].id == function.id; });
}

/// gcc makes destructors of an object and of its base part where it sees the class: what an attribute of a definition
/// outside of the class asks for does not reach them.
bool asksInVain(const Function &function, const CompilerText *gcc_text) {
  return gcc_text && llvm::isa<clang::CXXDestructorDecl>(function.decl);
}

/// Among the functions with a site, those for which `is_wanted` holds and that may have it.
template <typename Predicate>
void choose(Unit &unit, const Descriptor &descriptor, const clang::CompilerInstance &compiler,
            const CompilerText *gcc_text, const Predicate &is_wanted) {
  if (isUncertain(compiler)) return;
  for (Function &function : unit.functions) {
    if (!function.site || isNamed(function, descriptor) || !is_wanted(function) || !mayBeWrapped(function)) continue;
    if (asksInVain(function, gcc_text)) continue;
    if (!gcc_text && mayHaveOtherArguments(*function.decl, compiler.getCodeGenOpts())) continue;
    function.attribute = placeOfAttribute(*function.decl, gcc_text);
    function.before_body = function.attribute.isValid();
  }
}

}  // namespace

void chooseBeforeBody(Unit &unit, const Descriptor &descriptor, const clang::CompilerInstance &compiler,
                      const CompilerText *gcc_text) {
  choose(unit, descriptor, compiler, gcc_text, [&](Function &function) {
    function.is_recursive = callsItself(function, unit);
    // Nothing keeps gcc alone from making loops of calls.
    return isWorthItsCall(function, descriptor) && !(gcc_text && function.is_recursive);
  });
}

void chooseBeforeBodyLightly(Unit &unit, const Descriptor &descriptor, const clang::CompilerInstance &compiler,
                             const CompilerText *gcc_text) {
  choose(unit, descriptor, compiler, gcc_text, [&](Function &function) {
    const bool is_asked_for = descriptor.asksFor(function.name);
    function.is_expandable = !is_asked_for && !mayTakeLong(function);
    function.is_recursive = is_asked_for && callsItself(function, unit);
    return !(gcc_text && function.is_recursive);
  });
}

}  // namespace vprof
