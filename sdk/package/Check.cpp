// SPDX-License-Identifier: Apache-2.0
#include "Check.h"
#include "Layout.h"
#include "backplane/kernel.h"

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

std::string inQuotes(std::string_view name) {
  return "'" + std::string(name) + "'";
}

Status checkDims(const std::vector<Dim> &dims, Expressions &expressions) {
  for (const Dim &dim : dims)
    if (Status s = expressions.check(dim); !s.ok())
      return s;
  return {};
}

Status checkSymbols(const ArtifactInfo &artifact,
                    std::set<std::string, std::less<>> &names) {
  for (const Symbol &symbol : artifact.symbols) {
    const std::string &name = symbol.name;
    Result<Dim> dim = Dim::parse(name);
    if (!dim || dim->symbolName() != name)
      return bad("symbol name " + inQuotes(name) + " is not an identifier");
    if (!names.insert(name).second)
      return bad("two symbols are called " + inQuotes(name));
    if (symbol.minimum < 0 || symbol.maximum < symbol.minimum ||
        symbol.divisor < 1)
      return bad("symbol " + inQuotes(name) + " has an empty range");
  }
  return {};
}

/// Notes the ranges of symbols, and which get their values from an input axis.
void bindSymbols(const ArtifactInfo &artifact,
                 const std::set<std::string, std::less<>> &names,
                 Expressions &expressions) {
  for (const Symbol &symbol : artifact.symbols)
    if (symbol.maximum != INT64_MAX)
      expressions.limit(symbol.name, {symbol.minimum, symbol.maximum});
  for (const PortInfo &input : artifact.inputs)
    for (const Dim &dim : input.type.dims)
      if (auto name = dim.symbolName(); name && names.contains(*name))
        expressions.bind(*name);
}

Status checkInputs(const ArtifactInfo &artifact, Expressions &expressions) {
  for (size_t i = 0; i < artifact.inputs.size(); ++i)
    if (Status s = checkDims(artifact.inputs[i].type.dims, expressions);
        !s.ok())
      return s.within("input " + std::to_string(i));
  return {};
}

Status checkSignature(const ArtifactInfo &artifact, Expressions &expressions) {
  for (size_t i = 0; i < artifact.outputs.size(); ++i)
    if (Status s = checkDims(artifact.outputs[i].type.dims, expressions);
        !s.ok())
      return s.within("output " + std::to_string(i));
  for (size_t i = 0; i < artifact.checks.size(); ++i)
    if (Status s = checkDims({artifact.checks[i].lhs, artifact.checks[i].rhs},
                             expressions);
        !s.ok())
      return s.within("check " + std::to_string(i));
  return {};
}

/// Weights lie one after the other, each at the next multiple of 64.
Status checkWeights(const ArtifactInfo &artifact, uint64_t sectionBytes) {
  std::set<std::string_view> ids;
  uint64_t end = 0;
  for (uint32_t i = 0; i < artifact.weights.size(); ++i) {
    const WeightInfo &info = artifact.weights[i];
    const std::string &id = info.id;
    if (id.empty() || !ids.insert(id).second)
      return bad("weight " + std::to_string(i) + " has no id of its own");
    if (info.offset != layout::alignUp(end, layout::weightAlignment) ||
        info.offset > sectionBytes || info.size > sectionBytes - info.offset)
      return bad("weight " + inQuotes(id) + " does not lie in its place");
    end = info.offset + info.size;
  }
  if (end != sectionBytes)
    return bad("the weight section has " + std::to_string(sectionBytes) +
               " bytes, its weights need " + std::to_string(end));
  return {};
}

Status checkVariables(const ArtifactInfo &artifact, Expressions &expressions) {
  for (size_t i = 0; i < artifact.variables.size(); ++i) {
    const VariableInfo &variable = artifact.variables[i];
    std::string what = "variable " + std::to_string(i);
    if (Status s = checkDims(variable.port.type.dims, expressions); !s.ok())
      return s.within(what);
    auto bytes = staticBytes(variable.port.type);
    if (!bytes)
      return bytes.status().within(what);
    if (!*bytes)
      return bad(what + " has no static size");
    if (variable.initial == -1)
      continue;
    auto initial = size_t(variable.initial);
    if (variable.initial < 0 || initial >= artifact.weights.size() ||
        artifact.weights[initial].size != uint64_t(**bytes))
      return bad(what + " has no initial value of its size");
  }
  return {};
}

Status checkEntry(const Entry &entry) {
  if (entry.name.empty())
    return bad("an entry has no name");
  std::string what = "entry " + inQuotes(entry.name);
  if (entry.bindingAccess.size() > limits::bindings)
    return bad(what + " has too many bindings");
  for (uint32_t i = 0; i < entry.bindingAccess.size(); ++i)
    if (uint8_t access = entry.bindingAccess[i];
        access == 0 || access > (BP_ACCESS_READ | BP_ACCESS_WRITE))
      return bad(what + " has unknown access " + std::to_string(access));
  if (entry.constantCount > BP_MAX_CONSTANTS)
    return bad(what + " has " + std::to_string(entry.constantCount) +
               " constants, the limit is " + std::to_string(BP_MAX_CONSTANTS));
  for (uint32_t size : entry.workgroupSize)
    if (size == 0 || size > limits::workgroupSize)
      return bad(what + " has a work-group size of " + std::to_string(size));
  if (entry.workspaceBytes > limits::workspaceBytes)
    return bad(what + " asks for too much workspace");
  if (entry.parameterCount > BP_MAX_PARAMETERS)
    return bad(what + " has " + std::to_string(entry.parameterCount) +
               " parameters, the limit is " +
               std::to_string(BP_MAX_PARAMETERS));
  if (entry.driverData.size() > BP_MAX_DRIVER_DATA)
    return bad(what + " has " + std::to_string(entry.driverData.size()) +
               " bytes for its driver, the limit is " +
               std::to_string(BP_MAX_DRIVER_DATA));
  if (entry.subgroupSize > limits::subgroupSize ||
      (entry.subgroupSize & (entry.subgroupSize - 1)))
    return bad(what + " asks for subgroups of " +
               std::to_string(entry.subgroupSize) +
               ", which is no power of two up to " +
               std::to_string(limits::subgroupSize));
  return {};
}

/// Native kernels, and they alone, have a format of their own and no blob.
Status checkNative(const ExecutableInfo &executable) {
  if (!executable.native)
    return {};
  if (executable.format != nativeFormat || !executable.blob.bytes.empty())
    return bad("a native kernel has format " + inQuotes(executable.format) +
               " or a blob");
  if (executable.native->plugin.empty() || executable.native->name.empty())
    return bad("a native kernel has no plug-in or no name");
  return {};
}

Status checkExecutables(const VariantInfo &variant) {
  for (uint32_t i = 0; i < variant.executables.size(); ++i) {
    const ExecutableInfo &executable = variant.executables[i];
    std::string what = "executable " + std::to_string(i);
    if (Status s = checkNative(executable); !s.ok())
      return s.within(what);
    const std::string &format = variant.devices[executable.device].format;
    if (!executable.native && executable.format != format)
      return bad(what + " has format " + inQuotes(executable.format) +
                 ", its variant " + inQuotes(format));
    if (executable.entries.empty())
      return bad(what + " has no entry");
    for (const Entry &entry : executable.entries)
      if (Status s = checkEntry(entry); !s.ok())
        return s.within(what);
  }
  return {};
}

Status checkOutputsWritten(const std::vector<bool> &written) {
  for (size_t i = 0; i < written.size(); ++i)
    if (!written[i])
      return bad("no command writes output " + std::to_string(i));
  return {};
}

Status checkVariant(const ArtifactInfo &artifact, const VariantInfo &variant,
                    Expressions &expressions) {
  if (Status s = checkDevices(variant);
      !s.ok() || !variant.unknownRequirement.empty())
    return s;
  if (Status s = checkExecutables(variant); !s.ok())
    return s;
  std::map<uint32_t, int64_t> constants;
  ProgramChecker init{artifact, variant,   variant.init,
                      true,     constants, expressions};
  if (Status s = init.run(); !s.ok())
    return s.within("init program");
  if (Status s = checkRegions(artifact, variant, constants, expressions);
      !s.ok())
    return s;
  ProgramChecker program{artifact,        variant,
                         variant.program, false,
                         constants,       expressions,
                         nullptr,         uint32_t(variant.regions.size())};
  if (Status s = program.run(); !s.ok())
    return s.within("program");
  if (Status s = checkPlacement(variant); !s.ok())
    return s;
  return checkOutputsWritten(program.written);
}

} // namespace

Status Expressions::check(const Dim &dim) const {
  std::set<std::string> used;
  dim.collectSymbols(used);
  for (const std::string &name : used)
    if (!bound_.contains(name))
      return bad("expression " + inQuotes(dim.str()) + " uses symbol " +
                 inQuotes(name) +
                 (isRead(name) ? ", which no earlier command reads"
                               : ", which no input axis gives"));
  return {};
}

Result<std::optional<int64_t>> staticBytes(const TensorType &type) {
  int64_t elements = 1;
  for (const Dim &dim : type.dims)
    if (!dim.constant())
      return std::optional<int64_t>();
    else if (*dim.constant() < 0 ||
             __builtin_mul_overflow(elements, *dim.constant(), &elements))
      return bad("its size overflows");
  int64_t bits = 0;
  if (__builtin_mul_overflow(elements, int64_t(bitWidth(type.dtype)), &bits) ||
      bits > INT64_MAX - 7)
    return bad("its size overflows");
  return std::optional<int64_t>((bits + 7) / 8);
}

Status checkArtifact(const ArtifactInfo &artifact, uint64_t weightBytes) {
  std::set<std::string, std::less<>> names;
  Expressions expressions;
  if (Status s = checkSymbols(artifact, names); !s.ok())
    return s;
  bindSymbols(artifact, names, expressions);
  if (Status s = checkInputs(artifact, expressions); !s.ok())
    return s;
  if (Status s = bindReads(artifact, names, expressions); !s.ok())
    return s;
  if (Status s = bindIterations(artifact, names, expressions); !s.ok())
    return s;
  if (Status s = checkSignature(artifact, expressions); !s.ok())
    return s;
  if (Status s = checkWeights(artifact, weightBytes); !s.ok())
    return s;
  if (Status s = checkVariables(artifact, expressions); !s.ok())
    return s;
  if (artifact.variants.empty())
    return bad("it holds no variant");
  for (uint32_t i = 0; i < artifact.variants.size(); ++i) {
    const VariantInfo &variant = artifact.variants[i];
    if (Status s = checkVariant(artifact, variant, expressions); !s.ok())
      return s.within("variant " + std::to_string(i));
  }
  return {};
}

} // namespace backplane
