// SPDX-License-Identifier: Apache-2.0
//
// Describe.cpp: an artifact in words.
#include "LoadedArtifact.h"
#include "Selection.h"

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
    const ExecutableInfo &executable = variant.executables[dispatch.executable];
    std::string out = "dispatch " + dispatch.name;
    const Entry &entry = executable.entries[dispatch.entry];
    if (executable.native)
      out += " by " + executable.native->str();
    if (dispatch.fallbackFor)
      out += " without " +
             variant.executables[*dispatch.fallbackFor].native->str();
    out += " grid (";
    for (size_t i = 0; i < 3; ++i)
      out += (i ? ", " : "") + dispatch.grid[i].str();
    out += ") entry " + entry.name + extrasOf(dispatch, entry) + ":";
    for (size_t i = 0; i < dispatch.ops.size(); ++i)
      out += (i ? "; " : " ") + dispatch.ops[i];
    return out;
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

std::string programText(const Program &program, const VariantInfo &variant) {
  std::string out;
  for (size_t i = 0; i < program.commands.size(); ++i)
    if (std::string text =
            std::visit(CommandText{variant}, program.commands[i]);
        !text.empty())
      out += "  " + std::to_string(i) + " " + text + "\n";
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

std::string variantText(const VariantInfo &variant) {
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
    out += variantText(variant);
  return out;
}

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
    out += "variant " + variant.target + "\n";
    for (const std::string &reason : variant.report)
      out += "  " + reason + "\n";
  }
  return out;
}

} // namespace backplane::rt
