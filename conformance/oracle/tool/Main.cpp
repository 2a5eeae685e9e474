// SPDX-License-Identifier: Apache-2.0
//
// bp-oracle MODEL.onnx FOLDER [INPUT.npy...]: what the oracle expects. Writes
// for output I the elements rounded (I.npy), unrounded (I.value.npy) and their
// largest errors (I.error.npy), both as f64.
#include "conformance/oracle/Format.h"
#include "conformance/oracle/Oracle.h"
#include "sdk/import/Import.h"
#include "tools/bp/Npy.h"

#include <cstdio>
#include <cstring>

namespace backplane::conformance {

namespace {

Result<Tensor> readInput(const std::string &path, DType dtype) {
  auto file = readNpy(path);
  if (!file)
    return file.status();
  if (bitWidth(static_cast<DType>(file->dtype())) != bitWidth(dtype))
    return invalidArgument(path + " does not hold " + std::string(name(dtype)));
  return Tensor{dtype, file->dims(),
                Bytes(file->data(), file->data() + file->size())};
}

/// Writes elements that `put` stores.
template <typename F>
Status write(const std::string &path, bp_dtype_t dtype, const Expected &output,
             F put) {
  auto file = backplane::Tensor::create(dtype, output.dims);
  if (!file)
    return file.status();
  size_t bytes = elementBytes(dtype);
  for (size_t i = 0; bytes && i < output.bits.size(); ++i) {
    uint64_t bits = put(i);
    std::memcpy(file->data() + i * bytes, &bits, bytes);
  }
  return writeNpy(path, *file);
}

uint64_t doubleBits(Real value) {
  auto narrow = static_cast<double>(value);
  uint64_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return bits;
}

Status writeOutput(const std::string &path, const Expected &output) {
  bool limited = output.match == Match::Limit;
  Status status = write(path + ".npy", static_cast<bp_dtype_t>(output.dtype),
                        output, [&](size_t i) { return output.bits[i]; });
  if (!status.ok() || !isFloat(output.dtype))
    return status;
  status = write(path + ".value.npy", BP_DTYPE_F64, output, [&](size_t i) {
    return doubleBits(limited ? output.value[i]
                              : decode(output.dtype, output.bits[i]));
  });
  if (!status.ok())
    return status;
  return write(path + ".error.npy", BP_DTYPE_F64, output, [&](size_t i) {
    return doubleBits(limited ? output.error[i] : 0);
  });
}

Status run(const std::vector<std::string> &arguments) {
  if (arguments.size() < 2)
    return invalidArgument("bp-oracle MODEL.onnx FOLDER [INPUT.npy...]");
  auto model = importOnnx(arguments[0]);
  if (!model)
    return model.status();
  if (arguments.size() != model->graph.inputs.size() + 2)
    return invalidArgument("the model has " +
                           std::to_string(model->graph.inputs.size()) +
                           " inputs");
  std::vector<Tensor> inputs;
  for (size_t i = 2; i < arguments.size(); ++i) {
    auto input = readInput(arguments[i],
                           model->graph.type(model->graph.inputs[i - 2]).dtype);
    if (!input)
      return input.status();
    inputs.push_back(std::move(*input));
  }
  auto outputs = evaluate(model->graph, inputs, {}, &model->weights);
  if (!outputs)
    return outputs.status();
  for (size_t i = 0; i < outputs->size(); ++i)
    if (Status status =
            writeOutput(arguments[1] + "/" + std::to_string(i), (*outputs)[i]);
        !status.ok())
      return status;
  return {};
}

} // namespace

} // namespace backplane::conformance

int main(int argc, char **argv) {
  backplane::Status status =
      backplane::conformance::run({argv + 1, argv + argc});
  if (!status.ok())
    std::fprintf(stderr, "bp: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
