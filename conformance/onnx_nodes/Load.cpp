// SPDX-License-Identifier: Apache-2.0
#include "Load.h"

#include "conformance/cases/CaseBuilder.h"
#include "conformance/compare/Elements.h"
#include "conformance/oracle/Format.h"
#include "sdk/import/Import.h"
#include "sdk/support/Npy.h"

#include <algorithm>
#include <cmath>

namespace backplane::conformance {

namespace {

bool isUnsigned(bp_dtype_t dtype) {
  return dtype == BP_DTYPE_U8 || dtype == BP_DTYPE_U16;
}

/// Whether .npy files hold this dtype as unsigned bits.
bool isStoredAsBits(DType dtype) {
  return isFloat(dtype) && dtype != DType::F16 && bitWidth(dtype) <= 16;
}

/// Nibbles from a file that has a byte for each.
Tensor packed(const backplane::Tensor &file, DType dtype) {
  Tensor tensor{dtype, file.dims(), {}};
  size_t count = tensor.elementCount();
  tensor.data.resize(packedBytes(dtype, count));
  for (size_t i = 0; i < count; ++i)
    storeBits(tensor, i, file.data()[i] & 15);
  return tensor;
}

/// A file as a tensor of `dtype` where it may stand for one, else of its own
/// dtype.
Result<Tensor> readTensor(const std::string &path, DType dtype) {
  auto file = readNpy(path);
  if (!file)
    return file.status();
  auto own = static_cast<DType>(file->dtype());
  if (bitWidth(dtype) == 4 && bitWidth(own) == 8)
    return packed(*file, dtype);
  bool isBits = isStoredAsBits(dtype) && isUnsigned(file->dtype()) &&
                bitWidth(own) == bitWidth(dtype);
  return Tensor{isBits ? dtype : own, file->dims(),
                Bytes(file->data(), file->data() + file->size())};
}

Result<std::vector<Tensor>> readAll(const std::string &start,
                                    const Graph &graph,
                                    const std::vector<ValueId> &values) {
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    auto tensor = readTensor(start + std::to_string(i) + ".npy",
                             graph.type(values[i]).dtype);
    if (!tensor)
      return tensor.status();
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

/// Bounds that a user would give for sizes that data decide.
void boundReads(Graph &graph) {
  constexpr int64_t most = 12;
  for (Op &op : graph.ops)
    if (op.name == "read" && op.dims("bound")[0] == Dim(INT64_MAX))
      op.attributes["bound"] = Dims{Dim(most)};
}

} // namespace

Result<Unit> importTest(const NodeTest &test) {
  auto model = importOnnx(test.folder + "/model.onnx");
  if (!model)
    return model.status();
  Unit unit;
  unit.id = test.id;
  unit.layer = 4;
  unit.op = test.op;
  unit.graph = std::move(model->graph);
  unit.weights = std::move(model->weights);
  boundReads(unit.graph);
  for (const GraphOutput &output : unit.graph.outputs)
    if (DType dtype = unit.graph.type(output.value).dtype;
        unit.dtype == DType::Invalid ||
        (isFloat(dtype) && !isFloat(unit.dtype)))
      unit.dtype = dtype;
  setDTypes(unit);
  Case only;
  only.id = test.id;
  only.dataSet = byOracle;
  unit.cases = {only};
  return unit;
}

Result<LoadedTest> loadTensors(const NodeTest &test, Unit unit) {
  auto inputs = readAll(test.folder + "/in", unit.graph, unit.graph.inputs);
  if (!inputs)
    return inputs.status();
  std::vector<ValueId> outputs;
  for (const GraphOutput &output : unit.graph.outputs)
    outputs.push_back(output.value);
  auto stored = readAll(test.folder + "/out", unit.graph, outputs);
  if (!stored)
    return stored.status();
  return LoadedTest{std::move(unit), std::move(*inputs), std::move(*stored)};
}

Expected expectedFrom(const Tensor &stored) {
  Expected expected = expectedOf(stored);
  if (!isFloat(stored.dtype))
    return expected;
  Real ulp = std::ldexp(Real(1), 1 - formatOf(stored.dtype).precision);
  Real relative = std::max(16 * ulp, Real(0x1p-14));
  for (size_t i = 0; i < expected.error.size(); ++i)
    if (Real value = expected.value[i]; std::isfinite(value))
      expected.error[i] = relative * std::fabs(value) + Real(0x1p-19);
  return expected;
}

Expected expectedWithin(const Tensor &stored, double units) {
  Expected expected = expectedOf(stored);
  if (!isFloat(stored.dtype))
    return expected;
  Real largest = 0;
  for (Real value : expected.value)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < expected.error.size(); ++i)
    if (Real value = expected.value[i]; std::isfinite(value))
      expected.error[i] =
          units * ulp(formatOf(stored.dtype), value) + 0x1p-16L * largest;
  return expected;
}

} // namespace backplane::conformance
