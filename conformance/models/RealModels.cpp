// SPDX-License-Identifier: Apache-2.0
#include "RealModels.h"

#include "Npz.h"
#include "conformance/cases/CaseBuilder.h"
#include "conformance/cases/Data.h"
#include "conformance/compare/Elements.h"
#include "sdk/support/Hash.h"
#include "sdk/support/Joined.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace backplane::conformance {

namespace {

const KnownFile *findFile(std::string_view name) {
  auto known = knownFiles();
  auto at = std::ranges::find(known, name, &KnownFile::name);
  return at == known.end() ? nullptr : &*at;
}

bool has(const ModelFiles &files, std::string_view name) {
  return name.empty() || std::ranges::any_of(files, [&](const auto &file) {
           return file.first == name;
         });
}

std::string unitId(const KnownModel &model) {
  return "L5/" + std::string(realModelOp) + "/f32/" + std::string(model.name);
}

Unit plannedUnit(const KnownModel &model, const ModelFiles &files) {
  Unit unit;
  unit.id = unitId(model);
  unit.layer = 5;
  unit.op = realModelOp;
  unit.dtype = DType::F32;
  unit.dtypes = model.dtypes;
  unit.stored = model.stored;
  unit.tags = {"residual", "clamp-bias", "workspace", "in-place"};
  for (const KnownCase &known : model.cases) {
    if (!has(files, known.inputs) || !has(files, known.outputs))
      continue;
    Case added;
    added.id = unit.id + "/" + std::string(known.dataSet);
    added.dataSet = known.dataSet;
    added.seed = hashText(unit.id);
    added.depth = known.depth;
    unit.depth = std::min(unit.depth, known.depth);
    unit.cases.push_back(std::move(added));
  }
  return unit;
}

/// The elements of `from` in the ranges, axis by axis.
Result<Tensor> cut(const Tensor &from, const std::vector<IndexRange> &ranges) {
  if (ranges.empty())
    return from;
  Tensor part{from.dtype, {}, {}};
  for (size_t axis = 0; axis < ranges.size(); ++axis) {
    auto [first, end] = ranges[axis];
    if (ranges.size() != from.dims.size() || end > from.dims[axis])
      return invalidArgument("an input is smaller than its known part");
    part.dims.push_back(end - first);
  }
  size_t count = part.elementCount();
  part.data.resize(packedBytes(part.dtype, count));
  for (size_t i = 0; i < count; ++i) {
    size_t rest = i, index = 0, stride = 1;
    for (size_t axis = ranges.size(); axis-- > 0;) {
      auto size = static_cast<size_t>(part.dims[axis]);
      index += (rest % size + static_cast<size_t>(ranges[axis].from)) * stride;
      stride *= static_cast<size_t>(from.dims[axis]);
      rest /= size;
    }
    storeBits(part, i, loadBits(from, index));
  }
  return part;
}

/// NumPy keys replace names with other characters in them.
std::string keyOf(std::string name) {
  for (char &c : name)
    if (c == '/' || c == ':')
      c = '_';
  return name;
}

/// Puts the data of one case into a unit that has its graph.
class DataLoader {
public:
  DataLoader(const FoundModels &found, const KnownCase &known, Unit &unit)
      : found_(found), known_(known), unit_(unit) {}

  Status run() {
    Status status = known_.inputs.empty() ? makeInputs() : readInputs();
    if (status.ok() && !known_.outputs.empty())
      status = readOutputs();
    if (status.ok() && !known_.kept.empty())
      status = takeKept();
    if (status.ok())
      unit_.given.emplace(known_.dataSet, std::move(given_));
    return status;
  }

private:
  Result<Tensor> array(std::map<std::string, Tensor> &arrays,
                       const std::string &name, DType dtype) const {
    auto at = arrays.find(keyOf(name));
    if (at == arrays.end() || at->second.dtype != dtype)
      return invalidArgument("there is no array '" + keyOf(name) + "' of " +
                             std::string(backplane::name(dtype)));
    return std::move(at->second);
  }

  Status makeInputs() {
    SymbolValues ones;
    for (const Symbol &symbol : unit_.graph.symbols)
      ones.emplace(symbol.name, 1);
    for (size_t i = 0; i < unit_.graph.inputs.size(); ++i) {
      const TensorType &type = unit_.graph.type(unit_.graph.inputs[i]);
      Tensor tensor{type.dtype, {}, {}};
      for (const Dim &dim : type.dims) {
        auto size = dim.evaluate(ones);
        if (!size)
          return size.status();
        tensor.dims.push_back(*size);
      }
      tensor.data.resize(packedBytes(type.dtype, tensor.elementCount()));
      fill(tensor, known_.rule, i,
           {.dataSet = "uniform", .seed = hashText(unit_.id)});
      given_.inputs.push_back(std::move(tensor));
    }
    return {};
  }

  Status readInputs() {
    auto arrays = readNpz(found_.paths.find(known_.inputs)->second);
    if (!arrays)
      return arrays.status();
    for (ValueId input : unit_.graph.inputs) {
      const backplane::Value &value = unit_.graph.values[input];
      auto whole = array(*arrays, value.name, value.type.dtype);
      auto part = whole ? cut(*whole, known_.part) : std::move(whole);
      if (!part)
        return part.status();
      given_.inputs.push_back(std::move(*part));
    }
    return {};
  }

  Status readOutputs() {
    auto arrays = readNpz(found_.paths.find(known_.outputs)->second);
    if (!arrays)
      return arrays.status();
    for (const GraphOutput &output : unit_.graph.outputs) {
      DType dtype = unit_.graph.type(output.value).dtype;
      auto stored = array(*arrays, output.name, dtype);
      if (!stored)
        return stored.status();
      given_.expected.push_back(expectedWithin(*stored, known_.bound));
    }
    return {};
  }

  Status takeKept() {
    Expected expected;
    expected.dtype = unit_.dtype;
    expected.match = Match::Limit;
    expected.biasGate = false;
    expected.dims = {1, static_cast<int64_t>(known_.kept.size())};
    for (const KeptElement &element : known_.kept) {
      expected.bits.push_back(encode(expected.dtype, element.value));
      expected.value.push_back(element.value);
      expected.error.push_back(element.error);
      expected.sigma.push_back(element.sigma);
    }
    given_.expected = {std::move(expected)};
    return {};
  }

  const FoundModels &found_;
  const KnownCase &known_;
  Unit &unit_;
  Given given_;
};

std::string text(const std::vector<DType> &dtypes) {
  return joined(dtypes, " ", [](DType dtype) { return name(dtype); });
}

} // namespace

Result<FoundModels> findModels(const std::string &folder) {
  namespace fs = std::filesystem;
  FoundModels found;
  for (const KnownFile &file : knownFiles())
    for (std::string_view place : {file.name, file.packaged}) {
      std::string path = folder + "/" + std::string(place);
      std::error_code code;
      if (place.empty() || found.paths.contains(file.name) ||
          !fs::is_regular_file(path, code))
        continue;
      auto hash = sha256OfFile(path);
      if (!hash)
        return hash.status();
      if (*hash != file.sha256)
        return invalidArgument("'" + path + "' has the SHA-256 " + *hash +
                               ", the suite knows " + std::string(file.sha256) +
                               "; leave it out, or give the known file");
      found.files.emplace_back(file.name, *hash);
      found.paths.emplace(file.name, path);
    }
  if (found.files.empty())
    return notFound("'" + folder +
                    "' has no file of a known model; see "
                    "docs/reference/real-models.md");
  return found;
}

Result<std::vector<Unit>> plannedModels(const ModelFiles &files) {
  for (const auto &[name, hash] : files) {
    const KnownFile *known = findFile(name);
    if (!known || hash != known->sha256)
      return dataLoss("the suite knows no model file '" + name +
                      "' with the SHA-256 " + hash);
  }
  std::vector<Unit> units;
  for (const KnownModel &model : knownModels()) {
    if (!has(files, model.model))
      continue;
    Unit unit = plannedUnit(model, files);
    if (!unit.cases.empty())
      units.push_back(std::move(unit));
  }
  return units;
}

Status loadModel(const FoundModels &found, const Importer &importer,
                 Unit &unit) {
  const auto &models = knownModels();
  auto known = std::ranges::find_if(models, [&](const KnownModel &model) {
    return unitId(model) == unit.id;
  });
  if (known == models.end())
    return notFound("'" + unit.id + "' is no known model");
  auto model = importer(found.paths.find(known->model)->second);
  if (!model)
    return model.status().within(std::string(known->model));
  Unit made;
  made.graph = std::move(model->graph);
  setDTypes(made);
  if (made.dtypes != unit.dtypes || made.stored != unit.stored)
    return Status(BP_STATUS_INTERNAL,
                  std::string(known->model) + " computes with " +
                      text(made.dtypes) + " and holds " + text(made.stored) +
                      ", which is not what the suite says of it");
  unit.graph = std::move(made.graph);
  unit.weights = std::move(model->weights);
  for (const Case &testCase : unit.cases) {
    auto data =
        std::ranges::find(known->cases, testCase.dataSet, &KnownCase::dataSet);
    if (Status s = DataLoader(found, *data, unit).run(); !s.ok())
      return s.within(testCase.id);
  }
  return {};
}

Expected expectedWithin(const Tensor &stored, double bound) {
  Expected expected = expectedOf(stored);
  expected.biasGate = false;
  Real largest = 0;
  for (Real value : expected.value)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < expected.error.size(); ++i)
    if (std::isfinite(expected.value[i]))
      expected.error[i] = bound * largest;
  return expected;
}

} // namespace backplane::conformance
