// SPDX-License-Identifier: Apache-2.0
//
// Describe.cpp: an artifact in words.
#include "LoadedArtifact.h"
#include "NameOp.h"
#include "Repeats.h"
#include "Selection.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace backplane::rt {
namespace {

std::string line(std::string_view key, std::string_view value) {
  return std::string(key) + ": " + std::string(value) + "\n";
}

std::string portText(const char *kind, const Port &port) {
  return std::string(kind) + " " + port.name + ": " + port.type.str() + "\n";
}

std::string checkText(const DimAssertion &check) {
  return "check: " + check.lhs.str() + " == " + check.rhs.str() + " (" +
         check.message + ")\n";
}

std::string signatureText(const ArtifactInfo &metadata,
                          const Signature &signature) {
  std::string out;
  for (const Port &port : signature.inputs())
    out += portText("input", port);
  for (const Port &port : signature.outputs())
    out += portText("output", port);
  for (const Symbol &symbol : metadata.symbols) {
    out += "symbol " + symbol.name + ": from " + std::to_string(symbol.minimum);
    if (symbol.maximum != INT64_MAX)
      out += " to " + std::to_string(symbol.maximum);
    if (symbol.divisor != 1)
      out += ", a multiple of " + std::to_string(symbol.divisor);
    out += "\n";
  }
  for (const DimAssertion &check : metadata.checks)
    out += checkText(check);
  for (const VariableInfo &variable : metadata.variables)
    out += "variable " + variable.port.name + "\n";
  return out;
}

/// A line of a command of a program.
struct CommandText {
  const VariantInfo &variant;

  std::string operator()(const program::Dispatch &dispatch) const {
    return "dispatch " + dispatch.name + kernelText(dispatch) + ": " +
           eachOnce(dispatch.ops, "; ");
  }
  /// The same for dispatches of one kernel on one grid.
  std::string kernelText(const program::Dispatch &dispatch) const {
    const ExecutableInfo &executable = variant.executables[dispatch.executable];
    const Entry &entry = executable.entries[dispatch.entry];
    std::string out;
    if (executable.native)
      out += " by " + executable.native->str();
    if (dispatch.fallbackFor)
      out += " without " +
             variant.executables[*dispatch.fallbackFor].native->str();
    out += " grid (";
    for (size_t i = 0; i < 3; ++i)
      out += (i ? ", " : "") + dispatch.grid[i].str();
    return out + ") entry " + entry.name + extrasOf(dispatch, entry);
  }
  /// What few dispatches have.
  static std::string extrasOf(const program::Dispatch &dispatch,
                              const Entry &entry) {
    std::string out;
    for (size_t i = 0; i < dispatch.parameters.size(); ++i)
      out += (i ? ", " : " parameters (") + dispatch.parameters[i].str();
    out += dispatch.parameters.empty() ? "" : ")";
    if (dispatch.sharedBytes)
      out += " shared bytes " + dispatch.sharedBytes->str();
    if (hasClusters(dispatch))
      out += " cluster (" + std::to_string(dispatch.cluster[0]) + ", " +
             std::to_string(dispatch.cluster[1]) + ", " +
             std::to_string(dispatch.cluster[2]) + ")";
    if (entry.subgroupSize)
      out += " subgroups of " + std::to_string(entry.subgroupSize);
    if (!entry.driverData.empty())
      out += " driver data of " + std::to_string(entry.driverData.size()) +
             " bytes";
    return out;
  }
  std::string operator()(const program::Copy &) const { return "Copy"; }
  std::string operator()(const program::Fill &) const { return "Fill"; }
  std::string operator()(const program::Barrier &) const { return ""; }
  std::string operator()(const program::Read &read) const {
    return "read " + read.symbol + " <= " + read.bound.str() + ": " + read.op;
  }
  std::string operator()(const program::Control &control) const {
    std::string out;
    if (control.kind == program::ControlKind::If) {
      out = "if";
      if (control.condition)
        out += " " + control.condition->str() + " != 0";
    } else {
      out = control.conditional ? "while" : "repeat";
      if (control.limit)
        out += " " + control.limit->str() + " times";
      out += ", carries " + std::to_string(control.carried);
    }
    out += ", region ";
    for (size_t i = 0; i < control.regions.size(); ++i)
      out += (i ? ", " : "") + std::to_string(control.regions[i]);
    return out + ": " + control.op;
  }
};

/// The commands that have a text, numbered as in the program.
struct Lines {
  std::vector<size_t> numbers;
  std::vector<std::string> texts, kernels; ///< kernels: what repeats

  Lines(const Program &program, const VariantInfo &variant) {
    CommandText toText{variant};
    for (size_t i = 0; i < program.commands.size(); ++i) {
      std::string text = std::visit(toText, program.commands[i]);
      if (text.empty())
        continue;
      const auto *dispatch =
          std::get_if<program::Dispatch>(&program.commands[i]);
      kernels.push_back(dispatch ? toText.kernelText(*dispatch) : text);
      numbers.push_back(i);
      texts.push_back(std::move(text));
    }
  }
};

std::string programText(const Program &program, const VariantInfo &variant) {
  Lines lines(program, variant);
  std::string out;
  for (const Block &block : blocksOf(lines.kernels)) {
    std::string indent = "  ";
    size_t last = block.first + block.length * block.count - 1;
    if (block.count > 1) {
      out += indent + std::to_string(block.count) + " × " +
             std::to_string(block.length) +
             (block.length == 1 ? " command, " : " commands, ") +
             std::to_string(lines.numbers[block.first]) + " to " +
             std::to_string(lines.numbers[last]) + "; the first time:\n";
      indent += "  ";
    }
    for (size_t i = block.first; i < block.first + block.length; ++i)
      out += indent + std::to_string(lines.numbers[i]) + " " + lines.texts[i] +
             "\n";
  }
  return out;
}

/// The size that stands for a symbol where nobody gave one.
constexpr int64_t usualSize = 64;

SymbolValues usualSizes(const ArtifactInfo &metadata) {
  SymbolValues sizes;
  for (const Symbol &symbol : metadata.symbols) {
    int64_t size = std::clamp(usualSize, symbol.minimum, symbol.maximum);
    sizes[symbol.name] = std::max(size - size % symbol.divisor, symbol.minimum);
  }
  return sizes;
}

/// The dispatches of one kernel on one grid.
struct Cost {
  double flops = 0;
  size_t count = 0;
  const program::Dispatch *first = nullptr;
};

/// What kernels have of multiplications and additions, the largest first.
std::vector<Cost> costsOf(const VariantInfo &variant,
                          const SymbolValues &sizes) {
  std::map<std::string, Cost> byKernel;
  for (const program::Command &command : variant.program.commands) {
    const auto *dispatch = std::get_if<program::Dispatch>(&command);
    if (!dispatch || !dispatch->flops)
      continue;
    auto flops = dispatch->flops->evaluate(sizes);
    if (!flops || *flops <= 0)
      continue;
    Cost &cost = byKernel[CommandText{variant}.kernelText(*dispatch)];
    cost.first = cost.first ? cost.first : dispatch;
    cost.flops += static_cast<double>(*flops);
    ++cost.count;
  }
  std::vector<Cost> costs;
  for (const auto &[kernel, cost] : byKernel)
    costs.push_back(cost);
  std::ranges::sort(costs, [](const Cost &a, const Cost &b) {
    return a.flops != b.flops ? a.flops > b.flops : a.first < b.first;
  });
  return costs;
}

std::string costText(const ArtifactInfo &metadata, const VariantInfo &variant) {
  SymbolValues sizes = usualSizes(metadata);
  std::vector<Cost> costs = costsOf(variant, sizes);
  if (costs.empty())
    return {};
  double total = 0;
  for (const Cost &cost : costs)
    total += cost.flops;
  std::string out = " most multiplications and additions";
  if (!sizes.empty())
    out += ", with symbolic dims of " + std::to_string(usualSize);
  out += "\n";
  for (size_t i = 0; i < std::min<size_t>(costs.size(), 5); ++i)
    out += "  " + std::to_string(std::lround(100 * costs[i].flops / total)) +
           " %: " + std::to_string(costs[i].count) + " × " +
           costs[i].first->name + ": " + eachOnce(costs[i].first->ops, "; ") +
           "\n";
  return out;
}

std::string arenaText(const Program &program) {
  return program.arenaBytes(0) >= 0
             ? std::to_string(program.arenaBytes(0)) + " bytes"
             : "planned when the shapes are known";
}

std::string regionText(size_t number, const RegionInfo &region,
                       const VariantInfo &variant) {
  std::string out = " region " + std::to_string(number) + ": " + region.name;
  if (!region.iteration.empty())
    out += ", counts in " + region.iteration;
  out += ", arena " + arenaText(region.program) + "\n";
  for (const DimAssertion &check : region.checks)
    out += checkText(check);
  return out + programText(region.program, variant);
}

std::string variantText(const ArtifactInfo &metadata,
                        const VariantInfo &variant) {
  const DeviceNeeds &needs = variant.devices.front();
  std::string out = "variant " + variant.target + ": driver " + needs.driver +
                    ", format " + needs.format + ", rank " +
                    std::to_string(variant.rank);
  for (size_t i = 0; i < needs.requiredFeatures.size(); ++i)
    out += (i ? ", " : ", needs ") + needs.requiredFeatures[i];
  for (const std::string &requirement : variant.requirements)
    out += ", requires " + requirement;
  if (!variant.unknownRequirement.empty())
    return out + "\n not read: " + variant.unknownRequirement +
           " is not known here\n";
  uint64_t code = 0;
  for (const ExecutableInfo &executable : variant.executables)
    code += executable.blob.bytes.size();
  out += "\n " + std::to_string(variant.executables.size()) +
         " executables with " + std::to_string(code) + " bytes\n arena " +
         arenaText(variant.program) + "\n";
  for (const ExecutableInfo &executable : variant.executables)
    for (const std::string &note : executable.notes)
      out += "  " + note + "\n";
  out += costText(metadata, variant);
  if (!variant.init.commands.empty())
    out += " init program, once per session\n" +
           programText(variant.init, variant);
  out += " program\n" + programText(variant.program, variant);
  for (size_t i = 0; i < variant.regions.size(); ++i)
    out += regionText(i, variant.regions[i], variant);
  return out;
}

} // namespace

std::string describe(const LoadedArtifact &artifact) {
  const ArtifactInfo &metadata = artifact.file->metadata();
  std::string out =
      line("artifact", artifact.file->path()) + line("model", metadata.model) +
      line("producer", metadata.producer) +
      signatureText(metadata, artifact.signature) +
      line("weights", std::to_string(metadata.weights.size()) + " with " +
                          std::to_string(artifact.file->weights().size()) +
                          " bytes");
  for (const VariantInfo &variant : metadata.variants)
    out += variantText(metadata, variant);
  return out;
}

namespace {

/// A reason without the names of ops, which are quoted.
std::string withoutNames(const std::string &reason) {
  std::string out;
  bool isName = false;
  for (char c : reason) {
    isName ^= c == '\'';
    if (!isName)
      out += c;
  }
  return out;
}

/// Each reason once, with how many ops it is given for, most first.
std::string reasonsText(const std::vector<std::string> &report) {
  struct Reason {
    const std::string *first = nullptr;
    size_t count = 0;
  };
  std::vector<Reason> reasons;
  std::map<std::string, size_t> numbers;
  for (const std::string &reason : report) {
    auto [known, isNew] = numbers.emplace(withoutNames(reason), reasons.size());
    if (isNew)
      reasons.push_back({&reason, 0});
    ++reasons[known->second].count;
  }
  std::ranges::sort(reasons, [](const Reason &a, const Reason &b) {
    return a.count != b.count ? a.count > b.count : a.first < b.first;
  });
  std::string out;
  for (const Reason &reason : reasons)
    out += "  " +
           (reason.count > 1 ? std::to_string(reason.count) + " × " : "") +
           *reason.first + "\n";
  return out;
}

} // namespace

std::string explain(const LoadedArtifact &artifact) {
  const ArtifactInfo &metadata = artifact.file->metadata();
  std::string out;
  for (const DeviceListing &device : artifact.registry->listings()) {
    if (!device.info)
      continue;
    if (!device.refusal.empty()) {
      out += device.uri + ": cannot be used: " + device.refusal + "\n";
      continue;
    }
    Selection selection;
    selection.policy = device.uri;
    selection.candidates = rankVariants(metadata, device.uri, device.info);
    choose(selection);
    out += device.uri + ": " +
           (selection.chosen() ? selection.line()
                               : selection.failure().message()) +
           "\n";
  }
  for (const VariantInfo &variant : metadata.variants) {
    out += "variant " + variant.target + "\n" + reasonsText(variant.report);
  }
  return out;
}

} // namespace backplane::rt
