// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/PassLibraries.h"

#include "backplane/mlir/Passes.h"
#include "sdk/compiler/CheckedPass.h"
#include "sdk/compiler/StageTable.h"
#include "sdk/support/Error.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassRegistry.h"

#include "llvm/ADT/StringExtras.h"

#include <dlfcn.h>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

using namespace mlir;
using namespace backplane;

namespace {

using BuildFunction = const char *(*)();
using IdentityFunction = void (*)(Operation *, MlirIdentity *);
using PassesFunction = void (*)(PassSink *);

/// What a library exports.
struct Exports {
  BuildFunction build = nullptr;
  IdentityFunction identity = nullptr;
  PassesFunction passes = nullptr;
};

Status refused(const std::string &why) {
  return Status(BP_STATUS_FAILED_PRECONDITION, why);
}

template <typename Function>
Status findExport(void *library, const char *name, Function &out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out ? Status()
             : refused(std::string("exports no ") + name +
                       "; include backplane/mlir/Passes.h and define "
                       "bp_mlir_passes_v0");
}

Result<Exports> openLibrary(const PassLibrary &passes) {
  void *library =
      dlopen(passes.path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library)
    return refused(std::string("cannot be loaded: ") + dlerror());
  Exports found;
  for (const Status &status :
       {findExport(library, "bp_mlir_build_v0", found.build),
        findExport(library, "bp_mlir_identity_v0", found.identity),
        findExport(library, "bp_mlir_passes_v0", found.passes)})
    if (!status.ok())
      return status;
  return found;
}

/// The parts in which a build is not that of the compiler.
Status checkBuild(StringRef build) {
  SmallVector<StringRef> own, other;
  StringRef(mlirBuild).split(own, ' ');
  build.split(other, ' ');
  std::string parts;
  for (StringRef part : other)
    if (!is_contained(own, part))
      parts += (parts.empty() ? "" : ", ") + part.str();
  if (parts.empty() && own.size() == other.size())
    return {};
  return refused("is built with " + (parts.empty() ? build.str() : parts) +
                 ", this compiler with " + mlirBuild +
                 "; build it again with those");
}

/// Whether the library sees the same MLIR.
Status checkIdentity(IdentityFunction identity) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect>();
  OpBuilder builder(&context);
  auto op = func::ReturnOp::create(builder, builder.getUnknownLoc());
  MlirIdentity own = MlirIdentity::of(op), other;
  identity(op, &other);
  op.erase();
  return own == other
             ? Status()
             : refused("has a copy of MLIR in it, or sees other classes; link "
                       "libMLIR.so and libLLVM.so, no archive of LLVM");
}

/// Takes the passes that the manifest declares and notes what is wrong. They
/// are registered in the end, all or none.
class Taken final : public PassSink {
public:
  explicit Taken(const CompilerPlugin &plugin) : plugin_(plugin) {
    for (const DeclaredPass &pass : plugin.passes.passes)
      missing_.insert(pass.name);
  }

  void put(PassFactory factory) override {
    std::unique_ptr<Pass> pass = factory();
    std::string name = pass ? pass->getArgument().str() : "";
    if (!missing_.erase(name))
      return complain("puts pass '" + name +
                      "', which its manifest does not declare, or twice");
    if (!isFree(name))
      return complain("puts pass '" + name +
                      "', a name that another library of this process has");
    factories_.push_back(std::move(factory));
  }

  Status registerAll() {
    for (const std::string &name : missing_)
      complain("does not put pass '" + name + "', which its manifest declares");
    for (PassFactory &factory : factories_)
      if (status_.ok())
        registerCheckedPass(plugin_.name, std::move(factory));
    return status_;
  }

private:
  static bool isFree(const std::string &name) {
    return !PassInfo::lookup(name);
  }
  void complain(const std::string &what) {
    if (status_.ok())
      status_ = refused(what);
  }

  const CompilerPlugin &plugin_;
  std::set<std::string> missing_;
  std::vector<PassFactory> factories_;
  Status status_;
};

/// Each declared pass is for a stage that takes pipelines.
Status checkStages(const PassLibrary &passes) {
  for (const DeclaredPass &pass : passes.passes) {
    const Stage *stage = findStage(pass.stage);
    if (!stage || stage->pipelines == PipelineScope::None)
      return refused("declares pass '" + pass.name + "' for '" + pass.stage +
                     "', which is no stage that takes pipelines; see "
                     "docs/reference/stages.md");
  }
  return {};
}

Status load(const CompilerPlugin &plugin) {
  const PassLibrary &passes = plugin.passes;
  if (passes.llvm != LLVM_VERSION_STRING)
    return refused("its manifest says that it is built with LLVM " +
                   passes.llvm +
                   ", this compiler with " LLVM_VERSION_STRING
                   "; build it again with that");
  if (Status s = checkStages(passes); !s.ok())
    return s;
  auto found = openLibrary(passes);
  if (!found)
    return found.status();
  if (Status s = checkBuild(found->build()); !s.ok())
    return s;
  if (Status s = checkIdentity(found->identity); !s.ok())
    return s;
  Taken sink(plugin);
  found->passes(&sink);
  return sink.registerAll();
}

} // namespace

Status backplane::loadPasses(const CompilerPlugin &plugin) {
  static std::mutex mutex;
  static std::map<std::string, Status> known;
  const std::string &path = plugin.passes.path;
  std::lock_guard<std::mutex> lock(mutex);
  auto [at, fresh] = known.try_emplace(path);
  if (fresh) {
    std::string what =
        "library of passes " + std::filesystem::path(path).filename().string();
    Status ended;
    Status crash = catchCrash(what, [&] { ended = load(plugin); });
    at->second = (crash.ok() ? ended : crash).within(what);
  }
  return at->second;
}
