// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/test/KernelHarness.h"

#include "hal/core/CpuInfo.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sdk/dialect/Bp.h"
#include "sdk/emit/common/Dispatch.h"
#include "sdk/emit/common/Passes.h"
#include "sdk/lower/Passes.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <thread>
#include <unistd.h>

using namespace mlir;

namespace backplane::test {

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static bool isAvx512(Isa isa) {
  return isa == Isa::Amx || isa == Isa::Vnni || isa == Isa::Avx512;
}

#if defined(__x86_64__)
std::vector<Isa> ownIsas() {
  return {Isa::Amx, Isa::Vnni, Isa::Avx512, Isa::Avx2};
}

bool hasIsa(Isa isa) {
  if (isa == Isa::Amx)
    return CpuInfo::detect().hasFeature("amx-int8");
  if (isa == Isa::Vnni && !__builtin_cpu_supports("avx512vnni"))
    return false;
  if (isAvx512(isa))
    return __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512dq");
  return isa == Isa::Baseline ||
         (isa == Isa::Avx2 && __builtin_cpu_supports("avx2") &&
          __builtin_cpu_supports("fma"));
}
#else
std::vector<Isa> ownIsas() { return {Isa::Neon}; }

bool hasIsa(Isa isa) { return isa == Isa::Neon; }
#endif

static unsigned vectorBits(Isa isa) {
  return isAvx512(isa) ? 512 : isa == Isa::Avx2 ? 256 : 128;
}

static std::string products(Isa isa) {
  switch (isa) {
  case Isa::Amx:
    return " intrinsics=llvm.x86.avx512 products=tdpb,dpbusd,dpwssd";
  case Isa::Vnni:
    return " intrinsics=llvm.x86.avx512 products=dpbusd,dpwssd";
  case Isa::Avx512:
    return " intrinsics=llvm.x86.avx512 products=pmadd";
  case Isa::Avx2:
    return " intrinsics=llvm.x86.avx2 products=pmadd";
  case Isa::Neon:
    return " registers=32";
  case Isa::Baseline:
    break;
  }
  return "";
}

static std::string permutation(Isa isa) {
  if (isAvx512(isa))
    return " permute=llvm.x86.avx512.permvar.si.512";
  return isa == Isa::Avx2 ? " permute=llvm.x86.avx2.permd" : "";
}

std::vector<EmitStage> fastStages(Isa isa) {
  std::string bits = std::to_string(vectorBits(isa));
  bool isNeon = isa == Isa::Neon;
  return {{"tile", "bp-bind-buffers,bp-contract{vector-bits=" + bits +
                       products(isa) + "},bp-distribute"},
          {"bufferize", "bp-bufferize"},
          {"device", "bp-vectorize{vector-bits=" + bits +
                         (isNeon ? "" : " compare-maxima=true") +
                         permutation(isa) + "},bp-expand-math" +
                         (isAvx512(isa) ? "{scale-instruction=true}" : "") +
                         ",bp-to-cpu-entry,bp-to-llvm"}};
}

std::vector<EmitStage> plainStages() {
  return {{"tile", "bp-bind-buffers"},
          {"bufferize", "bp-bufferize"},
          {"device", "bp-expand-math,bp-to-cpu-entry,bp-to-llvm"}};
}

EmitTarget hostTarget(Isa isa) {
  EmitTarget target{.triple = isa == Isa::Neon ? "aarch64-unknown-linux-gnu"
                                               : "x86_64-unknown-linux-gnu"};
  target.cpu = isAvx512(isa)      ? "x86-64-v4"
               : isa == Isa::Avx2 ? "x86-64-v3"
               : isa == Isa::Neon ? "generic"
                                  : "x86-64-v2";
  if (isa == Isa::Vnni)
    target.features = "+avx512vnni";
  if (isa == Isa::Amx)
    target.features = "+avx512vnni,+avx512vbmi,+amx-tile,+amx-int8";
  target.vectorBits = vectorBits(isa);
  return target;
}

size_t BindingInfo::bytes(const SymbolValues &symbols) const {
  return *product(dims).evaluate(symbols) * ((bits + 7) / 8);
}

static std::vector<BindingInfo> readBindings(const Dispatch &dispatch) {
  std::vector<BindingInfo> result;
  func::FuncOp func = dispatch.func;
  for (unsigned i = 0; i < dispatch.bindings(); ++i) {
    auto type = cast<RankedTensorType>(func.getArgument(i).getType());
    BindingInfo info;
    for (int64_t axis = 0; axis < type.getRank(); ++axis)
      info.dims.push_back(*argumentDim(dispatch, i, axis));
    Type element = type.getElementType();
    info.kind = element.isBF16() ? 'b' : isa<FloatType>(element) ? 'f' : 'i';
    info.bits = element.getIntOrFloatBitWidth();
    info.output = dispatch.isOutput(i);
    result.push_back(std::move(info));
  }
  return result;
}

static void *loadImage(const std::vector<uint8_t> &image, bool keep) {
  char path[] = "/tmp/bp-kernel-XXXXXX";
  int file = mkstemp(path);
  bool ok = file >= 0 &&
            write(file, image.data(), image.size()) == ssize_t(image.size());
  close(file);
  void *library = ok ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (!library)
    fprintf(stderr, "%s\n", dlerror());
  if (!keep)
    unlink(path);
  return library;
}

static std::unique_ptr<MLIRContext> createContext() {
  static bool once = (registerEmitPasses(), bp::registerLowerPasses(), true);
  (void)once;
  DialectRegistry registry;
  registerEmitDialects(registry);
  registry.insert<bp::BpDialect>();
  return std::make_unique<MLIRContext>(registry,
                                       MLIRContext::Threading::DISABLED);
}

static bool isDispatch(func::FuncOp func) {
  return func->hasAttr("bp.inputs") || func->hasAttr("bp.dispatch");
}

std::vector<std::string> dispatchNames(const std::string &text) {
  auto context = createContext();
  auto module = parseSourceString<ModuleOp>(text, context.get());
  std::vector<std::string> names;
  if (module)
    for (auto func : module->getOps<func::FuncOp>())
      if (isDispatch(func))
        names.push_back(func.getName().str());
  return names;
}

/// Leaves one function in the module, as linalg.
static LogicalResult isolate(ModuleOp module, const std::string &name) {
  for (auto func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!isDispatch(func) || (!name.empty() && func.getName() != name))
      func.erase();
  PassManager manager(module.getContext());
  manager.addPass(bp::createLowerToLinalgPass());
  return manager.run(module);
}

std::unique_ptr<Kernel> Kernel::compile(const std::string &text,
                                        const EmitTarget &target,
                                        std::vector<EmitStage> stages,
                                        bool dump, const std::string &name) {
  auto owned = createContext();
  MLIRContext &context = *owned;
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module || failed(isolate(*module, name)))
    return nullptr;
  if (dump)
    llvm::errs() << "// ---- lower\n" << *module << "\n";
  auto dispatches = findDispatches(*module);
  if (failed(dispatches) || dispatches->size() != 1)
    return nullptr;
  std::unique_ptr<Kernel> kernel(new Kernel);
  kernel->bindings_ = readBindings(dispatches->front());
  kernel->symbols_.assign(dispatches->front().symbols.begin(),
                          dispatches->front().symbols.end());
  const Emitter *emitter = findEmitter("llvm-elf");
  double start = now();
  EmitDump dumper;
  if (dump)
    dumper = [](StringRef stage, ModuleOp module) {
      llvm::errs() << "// ---- " << stage << "\n" << module << "\n";
    };
  auto code = compileDispatch(*module, *emitter, target, stages, dumper);
  if (failed(code))
    return nullptr;
  auto image = emitter->link(target, {&*code});
  kernel->seconds_ = now() - start;
  if (!image)
    return nullptr;
  kernel->entry_ = code->entry;
  kernel->image_ = image->bytes;
  kernel->library_ = loadImage(image->bytes, dump);
  if (!kernel->library_)
    return nullptr;
  kernel->function_ = reinterpret_cast<bp_cpu_entry_t>(
      dlsym(kernel->library_, code->entry.name.c_str()));
  return kernel->function_ ? std::move(kernel) : nullptr;
}

Kernel::~Kernel() {
  if (library_)
    dlclose(library_);
}

uint32_t Kernel::run(const std::vector<void *> &bindings,
                     const SymbolValues &symbols, unsigned threads) const {
  std::vector<uint32_t> constants;
  for (const std::string &name : symbols_)
    constants.push_back(symbols.find(name)->second);
  uint32_t error = 0;
  bp_cpu_call_t call{constants.data(), bindings.data(), nullptr, &error, {}, 0};
  for (int i = 0; i < 3; ++i)
    call.grid[i] = *Dim::parse(entry_.grid[i])->evaluate(symbols);
  uint64_t count = uint64_t(call.grid[0]) * call.grid[1] * call.grid[2];
  size_t bytes = *Dim::parse(entry_.workspace)->evaluate(symbols);
  std::atomic<uint64_t> next{0};
  static thread_local std::vector<char> mine;
  auto work = [&] {
    if (mine.size() < bytes + 64)
      mine.resize(bytes + 64);
    bp_cpu_call_t own = call;
    own.workspace = reinterpret_cast<void *>(
        (reinterpret_cast<uintptr_t>(mine.data()) + 63) & ~uintptr_t(63));
    for (uint64_t i; (i = next++) < count;)
      function_(&own, i % call.grid[0], i / call.grid[0] % call.grid[1],
                i / call.grid[0] / call.grid[1]);
  };
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  return error;
}

static double readElement(const BindingInfo &info, const uint8_t *data,
                          size_t i) {
  if (info.kind == 'b' || (info.kind == 'f' && info.bits == 16)) {
    uint16_t half;
    memcpy(&half, data + 2 * i, 2);
    uint32_t word = uint32_t(half) << 16;
    float value;
    memcpy(&value, &word, 4);
    return info.kind == 'b'
               ? value
               : double(*reinterpret_cast<const _Float16 *>(&half));
  }
  if (info.kind == 'f')
    return info.bits == 64 ? reinterpret_cast<const double *>(data)[i]
                           : reinterpret_cast<const float *>(data)[i];
  if (info.bits == 64)
    return reinterpret_cast<const int64_t *>(data)[i];
  if (info.bits == 32)
    return reinterpret_cast<const int32_t *>(data)[i];
  if (info.bits == 16)
    return reinterpret_cast<const int16_t *>(data)[i];
  return reinterpret_cast<const int8_t *>(data)[i];
}

static void writeElement(const BindingInfo &info, uint8_t *data, size_t i,
                         float value) {
  if (info.kind == 'b') {
    uint32_t word;
    memcpy(&word, &value, 4);
    uint16_t half = word >> 16;
    memcpy(data + 2 * i, &half, 2);
  } else if (info.kind == 'f') {
    if (info.bits == 16)
      reinterpret_cast<_Float16 *>(data)[i] = _Float16(value);
    else if (info.bits == 32)
      reinterpret_cast<float *>(data)[i] = value;
    else
      reinterpret_cast<double *>(data)[i] = value;
  } else {
    int64_t integer = int64_t(std::abs(value) * 3);
    memcpy(data + i * (info.bits / 8), &integer, info.bits / 8);
  }
}

Buffers::Buffers(const std::vector<BindingInfo> &bindings,
                 const SymbolValues &symbols, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const BindingInfo &info : bindings) {
    size_t bytes = info.bytes(symbols);
    storage.emplace_back(bytes + 64, 0x7b);
    if (info.output)
      continue;
    for (size_t i = 0; i < bytes / ((info.bits + 7) / 8); ++i)
      writeElement(info, storage.back().data(), i, uniform(random));
  }
}

std::vector<void *> Buffers::pointers() const {
  std::vector<void *> result;
  for (const std::vector<uint8_t> &bytes : storage)
    result.push_back(const_cast<uint8_t *>(bytes.data()));
  return result;
}

double compareOutputs(const std::vector<BindingInfo> &bindings,
                      const Buffers &a, const Buffers &b,
                      const SymbolValues &symbols) {
  double worst = 0;
  for (size_t k = 0; k < bindings.size(); ++k) {
    const BindingInfo &info = bindings[k];
    if (!info.output)
      continue;
    size_t bytes = info.bytes(symbols);
    for (size_t i = 0; i < bytes / ((info.bits + 7) / 8); ++i) {
      double x = readElement(info, a.storage[k].data(), i);
      double y = readElement(info, b.storage[k].data(), i);
      if (std::isnan(x) && std::isnan(y))
        continue;
      double error = x == y ? 0 : std::abs(x - y) / (1 + std::abs(y));
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
    // What lies behind a buffer is never written.
    for (size_t i = bytes; i < bytes + 64; ++i)
      if (a.storage[k][i] != 0x7b)
        worst = INFINITY;
  }
  return worst;
}

} // namespace backplane::test
