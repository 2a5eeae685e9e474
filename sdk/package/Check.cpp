// SPDX-License-Identifier: Apache-2.0
#include "Check.h"
#include "Layout.h"
#include "backplane/kernel.h"

namespace backplane {
namespace {

Status bad(std::string message) { return dataLoss(std::move(message)); }

std::string quoted(std::string_view name) {
  return "'" + std::string(name) + "'";
}

Status checkTensor(const fb::TensorInfo &info, const std::string &what,
                   Expressions &expressions) {
  if (info.dtype() == BP_DTYPE_INVALID || info.dtype() >= BP_DTYPE_COUNT_)
    return bad(what + " has unknown dtype " + std::to_string(info.dtype()));
  uint32_t rank = count(info.sizes()), exprs = count(info.exprs());
  if (rank > limits::rank || (exprs != 0 && exprs != rank))
    return bad(what + " has rank " + std::to_string(rank) + " and " +
               std::to_string(exprs) + " expressions");
  for (uint32_t axis = 0; axis < rank; ++axis) {
    int64_t size = info.sizes()->Get(axis);
    if (size < -1 || (size == -1 && exprs == 0))
      return bad(what + " has size " + std::to_string(size) + " at axis " +
                 std::to_string(axis));
    if (size == -1)
      if (auto dim = expressions.parse(info.exprs()->Get(axis)); !dim)
        return dim.status().within(what);
  }
  return {};
}

/// The FlatBuffers verifier looks at the place of a vector's length only, so 8
/// byte elements may still be misplaced.
bool isAligned(const fb::TensorInfo *info) {
  return !info || !info->sizes() ||
         reinterpret_cast<uintptr_t>(info->sizes()->Data()) %
                 alignof(int64_t) ==
             0;
}

Status checkAlignment(const fb::Artifact &artifact) {
  bool aligned = true;
  for (const auto *list : {artifact.inputs(), artifact.outputs()})
    for (uint32_t i = 0; i < count(list); ++i)
      aligned &= isAligned(list->Get(i));
  for (uint32_t i = 0; i < count(artifact.variables()); ++i)
    aligned &= isAligned(artifact.variables()->Get(i)->type());
  return aligned ? Status() : bad("the sizes of a tensor are misplaced");
}

Status checkSymbols(const fb::Artifact &artifact,
                    std::set<std::string, std::less<>> &names) {
  if (!artifact.symbols())
    return {};
  for (const fb::SymbolInfo *symbol : *artifact.symbols()) {
    std::string name(text(symbol->name()));
    Result<Dim> dim = Dim::parse(name);
    if (!dim || dim->symbolName() != name)
      return bad("symbol name " + quoted(name) + " is not an identifier");
    if (!names.insert(name).second)
      return bad("two symbols are called " + quoted(name));
    if (symbol->minimum() < 0 || symbol->maximum() < symbol->minimum() ||
        symbol->divisor() < 1)
      return bad("symbol " + quoted(name) + " has an empty range");
  }
  return {};
}

/// Notes the ranges of symbols, and which get their values from an input axis.
void bindSymbols(const fb::Artifact &artifact,
                 const std::set<std::string, std::less<>> &names,
                 Expressions &expressions) {
  for (uint32_t i = 0; i < count(artifact.symbols()); ++i)
    if (const fb::SymbolInfo &symbol = *artifact.symbols()->Get(i);
        symbol.maximum() != INT64_MAX)
      expressions.limit(text(symbol.name()),
                        {symbol.minimum(), symbol.maximum()});
  if (!artifact.inputs())
    return;
  for (const fb::TensorInfo *input : *artifact.inputs())
    for (uint32_t i = 0; i < count(input->exprs()); ++i)
      if (auto name = text(input->exprs()->Get(i));
          i < count(input->sizes()) && input->sizes()->Get(i) == -1 &&
          names.contains(name))
        expressions.bind(name);
}

Status checkSignature(const fb::Artifact &artifact, Expressions &expressions) {
  for (uint32_t i = 0; i < count(artifact.inputs()); ++i)
    if (Status s = checkTensor(*artifact.inputs()->Get(i),
                               "input " + std::to_string(i), expressions);
        !s.ok())
      return s;
  for (uint32_t i = 0; i < count(artifact.outputs()); ++i)
    if (Status s = checkTensor(*artifact.outputs()->Get(i),
                               "output " + std::to_string(i), expressions);
        !s.ok())
      return s;
  for (uint32_t i = 0; i < count(artifact.checks()); ++i)
    for (const auto *side :
         {artifact.checks()->Get(i)->lhs(), artifact.checks()->Get(i)->rhs()})
      if (auto dim = expressions.parse(side); !dim)
        return dim.status().within("check " + std::to_string(i));
  return {};
}

/// Weights lie one after the other, each at the next multiple of 64.
Status checkWeights(const fb::Artifact &artifact, uint64_t sectionBytes) {
  std::set<std::string_view> ids;
  uint64_t end = 0;
  for (uint32_t i = 0; i < count(artifact.weights()); ++i) {
    const fb::WeightInfo &info = *artifact.weights()->Get(i);
    std::string_view id = text(info.id());
    if (id.empty() || !ids.insert(id).second)
      return bad("weight " + std::to_string(i) + " has no id of its own");
    if (info.offset() != layout::alignUp(end, layout::weightAlignment) ||
        info.offset() > sectionBytes ||
        info.size() > sectionBytes - info.offset())
      return bad("weight " + quoted(id) + " does not lie in its place");
    end = info.offset() + info.size();
  }
  if (end != sectionBytes)
    return bad("the weight section has " + std::to_string(sectionBytes) +
               " bytes, its weights need " + std::to_string(end));
  return {};
}

Status checkVariables(const fb::Artifact &artifact, Expressions &expressions) {
  for (uint32_t i = 0; i < count(artifact.variables()); ++i) {
    const fb::VariableInfo &variable = *artifact.variables()->Get(i);
    std::string what = "variable " + std::to_string(i);
    if (!variable.type())
      return bad(what + " has no type");
    if (Status s = checkTensor(*variable.type(), what, expressions); !s.ok())
      return s;
    auto bytes = staticBytes(*variable.type(), expressions);
    if (!bytes)
      return bytes.status().within(what);
    if (!*bytes)
      return bad(what + " has no static size");
    if (variable.initial() == -1)
      continue;
    if (variable.initial() < 0 ||
        uint32_t(variable.initial()) >= count(artifact.weights()) ||
        artifact.weights()->Get(uint32_t(variable.initial()))->size() !=
            uint64_t(**bytes))
      return bad(what + " has no initial value of its size");
  }
  return {};
}

Status checkEntry(const fb::Entry &entry) {
  if (text(entry.name()).empty())
    return bad("an entry has no name");
  std::string what = "entry " + quoted(text(entry.name()));
  if (count(entry.access()) > limits::bindings)
    return bad(what + " has too many bindings");
  for (uint32_t i = 0; i < count(entry.access()); ++i)
    if (uint8_t access = entry.access()->Get(i);
        access == 0 || access > (BP_ACCESS_READ | BP_ACCESS_WRITE))
      return bad(what + " has unknown access " + std::to_string(access));
  if (entry.constant_count() > BP_MAX_CONSTANTS)
    return bad(what + " has " + std::to_string(entry.constant_count()) +
               " constants, the limit is " + std::to_string(BP_MAX_CONSTANTS));
  if (count(entry.workgroup_size()) != 3)
    return bad(what + " has no work-group size of 3 numbers");
  for (uint32_t size : *entry.workgroup_size())
    if (size == 0 || size > limits::workgroupSize)
      return bad(what + " has a work-group size of " + std::to_string(size));
  if (entry.workspace_bytes() > limits::workspaceBytes)
    return bad(what + " asks for too much workspace");
  return {};
}

Status checkExecutables(const fb::Variant &variant) {
  for (uint32_t i = 0; i < count(variant.executables()); ++i) {
    const fb::Executable &executable = *variant.executables()->Get(i);
    std::string what = "executable " + std::to_string(i);
    std::string_view format =
        executable.device() == 0
            ? text(variant.format())
            : text(variant.devices()->Get(executable.device() - 1)->format());
    if (text(executable.format()) != format)
      return bad(what + " has format " + quoted(text(executable.format())) +
                 ", its variant " + quoted(format));
    if (count(executable.entries()) == 0)
      return bad(what + " has no entry");
    for (const fb::Entry *entry : *executable.entries())
      if (Status s = checkEntry(*entry); !s.ok())
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

Status checkVariant(const fb::Artifact &artifact, const fb::Variant &variant,
                    Expressions &expressions) {
  if (text(variant.target()).empty() || text(variant.driver()).empty() ||
      text(variant.format()).empty())
    return bad("it lacks a target, a driver or a format");
  if (!variant.program())
    return bad("it has no program");
  if (Status s = checkDevices(variant); !s.ok())
    return s;
  if (Status s = checkExecutables(variant); !s.ok())
    return s;
  std::map<uint32_t, int64_t> constants;
  ProgramChecker init{artifact, variant,   variant.init(),
                      true,     constants, expressions};
  if (Status s = init.run(); !s.ok())
    return s.within("init program");
  if (Status s = checkRegions(artifact, variant, constants, expressions);
      !s.ok())
    return s;
  ProgramChecker program{
      artifact,  variant,     variant.program(), false,
      constants, expressions, nullptr,           count(variant.regions())};
  if (Status s = program.run(); !s.ok())
    return s.within("program");
  if (Status s = checkPlacement(variant); !s.ok())
    return s;
  return checkOutputsWritten(program.written);
}

} // namespace

Result<Dim> Expressions::parse(const flatbuffers::String *string) {
  if (auto found = known_.find(string); found != known_.end())
    return found->second;
  auto fresh = [&]() -> Result<Dim> {
    Result<Dim> dim = Dim::parse(text(string));
    if (!dim)
      return dim.status();
    std::set<std::string> used;
    dim->collectSymbols(used);
    for (const std::string &name : used)
      if (!bound_.contains(name))
        return bad("expression " + quoted(text(string)) + " uses symbol " +
                   quoted(name) + ", which no input axis gives");
    return dim;
  }();
  return known_.emplace(string, std::move(fresh)).first->second;
}

Result<std::optional<int64_t>> staticBytes(const fb::TensorInfo &info,
                                           Expressions &expressions) {
  std::vector<Dim> dims;
  for (uint32_t axis = 0; axis < count(info.sizes()); ++axis) {
    int64_t size = info.sizes()->Get(axis);
    Result<Dim> dim = size >= 0 ? Result<Dim>(Dim(size))
                                : expressions.parse(info.exprs()->Get(axis));
    if (!dim)
      return dim.status();
    if (!dim->constant())
      return std::optional<int64_t>();
    dims.push_back(*dim);
  }
  int64_t elements = 1;
  for (const Dim &dim : dims)
    if (*dim.constant() < 0 ||
        __builtin_mul_overflow(elements, *dim.constant(), &elements))
      return bad("its size overflows");
  int64_t bits = 0;
  if (__builtin_mul_overflow(elements, int64_t(bitWidth(DType(info.dtype()))),
                             &bits) ||
      bits > INT64_MAX - 7)
    return bad("its size overflows");
  return std::optional<int64_t>((bits + 7) / 8);
}

Status checkArtifact(const fb::Artifact &artifact, uint64_t weightBytes) {
  std::set<std::string, std::less<>> names;
  Expressions expressions;
  if (Status s = checkAlignment(artifact); !s.ok())
    return s;
  if (Status s = checkSymbols(artifact, names); !s.ok())
    return s;
  bindSymbols(artifact, names, expressions);
  if (Status s = bindIterations(artifact, names, expressions); !s.ok())
    return s;
  if (Status s = checkSignature(artifact, expressions); !s.ok())
    return s;
  if (Status s = checkWeights(artifact, weightBytes); !s.ok())
    return s;
  if (Status s = checkVariables(artifact, expressions); !s.ok())
    return s;
  if (count(artifact.variants()) == 0)
    return bad("it holds no variant");
  for (uint32_t i = 0; i < count(artifact.variants()); ++i) {
    const fb::Variant &variant = *artifact.variants()->Get(i);
    if (Status s = checkVariant(artifact, variant, expressions); !s.ok())
      return s.within("variant " + std::to_string(i) + " for target " +
                      quoted(text(variant.target())));
  }
  return {};
}

} // namespace backplane
