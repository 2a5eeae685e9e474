// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/RegisteredKernels.h"

#include "sdk/compiler/CompiledKernel.h"
#include "sdk/compiler/KernelTemplate.h"
#include "sdk/support/Error.h"
#include "sdk/support/Glob.h"

using namespace backplane;

namespace {

/// Checks the body of a kernel against its text.
class BodyChecker {
public:
  explicit BodyChecker(const RegisteredKernel &kernel)
      : kernel_(kernel), symbols_(symbolNames(kernel.text)) {}

  Status run() const {
    if (!kernel_.code)
      return checkCost(kernel_.text, kernel_.cost);
    const Kernel &body = *kernel_.code;
    for (const auto *launches : {&body.launches, &body.initLaunches})
      for (const KernelLaunch &launch : *launches)
        if (Status s = check(launch); !s.ok())
          return s.within("entry '" + launch.name + "'");
    for (uint32_t binding : body.inPlace)
      if (binding >= kernel_.text.inputCount)
        return invalidArgument("in_place names binding " +
                               std::to_string(binding) +
                               ", which is no input of the text");
    if (Status s = check(body.scratch); !s.ok())
      return s;
    return checkCost(kernel_.text, kernel_.cost);
  }

private:
  Status check(const KernelLaunch &launch) const {
    if (launch.constantCount)
      return invalidArgument("it has " + std::to_string(launch.constantCount) +
                             " constants; registered kernels have parameters");
    for (const LaunchBinding &binding : launch.bindings) {
      if (binding.binding >= kernel_.text.bindings.size() &&
          binding.binding < BP_LAUNCH_PERSISTENT)
        return invalidArgument(
            "it has binding " + std::to_string(binding.binding) +
            ", the text has " + std::to_string(kernel_.text.bindings.size()) +
            " inputs and outputs");
      for (const std::string &text : {binding.offset, binding.length})
        if (Status s = check(text); !s.ok())
          return s;
    }
    for (const std::string &text : launch.grid)
      if (Status s = check(text); !s.ok())
        return s.within("grid");
    for (const std::string &text : launch.parameters)
      if (Status s = check(text); !s.ok())
        return s.within("parameters");
    return check(launch.sharedBytes);
  }

  Status check(const std::string &expression) const {
    return checkExpression(expression, symbols_);
  }

  const RegisteredKernel &kernel_;
  std::set<std::string> symbols_;
};

/// A kernel as its set described it.
Result<RegisteredKernel> readKernel(const KernelSet &set,
                                    const bp_kernel_t &from) {
  auto text = parseKernelText(view(from.text));
  if (!text)
    return text.status();
  RegisteredKernel kernel{.plugin = set.plugin,
                          .target = std::string(view(from.target)),
                          .text = std::move(*text),
                          .cost = std::string(view(from.cost)),
                          .ir = std::string(view(from.ir))};
  if (from.body)
    kernel.code = copyKernel(*from.body);
  if (kernel.code && kernel.code->code.empty())
    kernel.code->native =
        NativeKernel{set.plugin, kernel.text.name, kernel.text.version};
  Status status = BodyChecker(kernel).run();
  if (status.ok() && !kernel.code)
    status = checkTemplate(kernel);
  if (!status.ok())
    return status.within("kernel '" + kernel.text.name + "'");
  return kernel;
}

} // namespace

void backplane::addRegisteredKernels(const CompileServices &services,
                                     Target &target) {
  auto remark = [&](const KernelSet &set, const Status &status) {
    target.remarks.push_back("kernels of '" + set.plugin +
                             "': not used: " + status.message());
  };
  for (const KernelSet &set : services.kernelSets) {
    Status status = callDescribe(set, [&](const bp_kernel_t &from) -> Status {
      if (!matchesGlob(view(from.target), target.name))
        return {};
      auto kernel = readKernel(set, from);
      if (kernel)
        target.kernels.push_back(
            std::make_shared<const RegisteredKernel>(std::move(*kernel)));
      else
        remark(set, kernel.status());
      return {};
    });
    if (!status.ok())
      remark(set, status);
  }
}

/// "there is a.x, a.y", and what was said of kernels that cannot be used.
static std::string kernelsOf(const Target &target) {
  std::string list;
  for (const auto &kernel : target.kernels)
    list += (list.empty() ? "there is " : ", ") + kernel->fullName();
  if (list.empty())
    list = "there is none";
  for (const std::string &remark : target.remarks)
    list += "; " + remark;
  return list;
}

Status backplane::chooseKernels(const std::string &asked,
                                std::vector<Target> &targets) {
  if (asked.empty())
    return {};
  size_t found = 0;
  const std::string list = kernelsOf(targets.front());
  for (Target &target : targets) {
    std::erase_if(target.kernels, [&](const auto &kernel) {
      return kernel->fullName() != asked;
    });
    found += target.kernels.size();
  }
  if (found || asked == noKernels)
    return {};
  return notFound("no set has a kernel '" + asked + "' for target " +
                  targets.front().name + "; " + list);
}

namespace {

/// Puts the dispatch's bindings and symbols into launches of the text.
class Rewriter {
public:
  Rewriter(const bp::KernelMatch &match, const Substitution &symbols)
      : match_(match) {
    const KernelText &text = match.kernel->text;
    for (const auto &[name, dim] : match.symbols)
      values_.emplace(name, dim.substitute(symbols));
    for (uint32_t i = 0; i < text.inputCount; ++i)
      values_.emplace(presenceSymbol(text.bindings[i]),
                      Dim(match.bindings[i] >= 0 ? 1 : 0));
    for (auto [name, choice] :
         llvm::zip_equal(text.variables, text.graphs[match.graph].choices))
      values_.emplace(name, Dim(choice));
  }

  void run(KernelLaunch &launch) {
    for (LaunchBinding &binding : launch.bindings) {
      rewrite(binding.offset);
      rewrite(binding.length);
      if (binding.binding < BP_LAUNCH_PERSISTENT)
        binding.binding = bindingOf(binding.binding);
    }
    for (std::string &size : launch.grid)
      rewrite(size);
    for (std::string &parameter : launch.parameters)
      rewrite(parameter);
    rewrite(launch.sharedBytes);
  }

  void rewrite(std::string &text) {
    auto changed = substituteSymbols(text, values_);
    if (changed)
      text = std::move(*changed);
    else if (status_.ok())
      status_ = changed.status();
  }
  const Status &status() const { return status_; }

private:
  /// An input that is absent is bound to the first output.
  uint32_t bindingOf(uint32_t binding) const {
    int32_t found = match_.bindings[binding];
    return uint32_t(
        found >= 0 ? found : match_.bindings[match_.kernel->text.inputCount]);
  }

  const bp::KernelMatch &match_;
  Substitution values_;
  Status status_;
};

/// Bytes of persistent memory up to the end of what init launches bind of it. A
/// kernel whose weights have any size cannot give them as one number.
Result<uint64_t> persistentBytesOf(const Kernel &kernel) {
  int64_t end = 0;
  for (const KernelLaunch &launch : kernel.initLaunches)
    for (const LaunchBinding &binding : launch.bindings) {
      if (binding.binding != BP_LAUNCH_PERSISTENT)
        continue;
      auto offset = Dim::parse(binding.offset.empty() ? "0" : binding.offset);
      auto length = Dim::parse(binding.length.empty() ? "0" : binding.length);
      if (!offset || !length || !offset->constant() || !length->constant())
        return invalidArgument(
            "entry '" + launch.name + "': the persistent memory at '" +
            binding.offset + "' of '" + binding.length +
            "' bytes has no known size; it must follow from sizes that the "
            "model has as numbers");
      end = std::max(end, *offset->constant() + *length->constant());
    }
  return uint64_t(end);
}

/// The inputs of the dispatch for those of the text. One that stands for
/// several may be read after it was written.
std::vector<uint32_t> inPlaceFor(const bp::KernelMatch &match,
                                 const std::vector<uint32_t> &ofText) {
  const auto inputs =
      llvm::ArrayRef(match.bindings).take_front(match.kernel->text.inputCount);
  std::vector<uint32_t> result;
  for (uint32_t binding : ofText)
    if (int32_t input = inputs[binding];
        input >= 0 && llvm::count(inputs, input) == 1)
      result.push_back(uint32_t(input));
  return result;
}

} // namespace

Result<Kernel> backplane::kernelFor(const bp::KernelMatch &match,
                                    const Substitution &symbols) {
  Kernel kernel = *match.kernel->code;
  kernel.inPlace = inPlaceFor(match, kernel.inPlace);
  Rewriter rewriter(match, symbols);
  for (auto *launches : {&kernel.launches, &kernel.initLaunches})
    for (KernelLaunch &launch : *launches)
      rewriter.run(launch);
  rewriter.rewrite(kernel.scratch);
  if (!rewriter.status().ok())
    return rewriter.status();
  if (kernel.persistentBytes == 0) {
    auto bytes = persistentBytesOf(kernel);
    if (!bytes)
      return bytes.status();
    kernel.persistentBytes = *bytes;
  }
  return kernel;
}
