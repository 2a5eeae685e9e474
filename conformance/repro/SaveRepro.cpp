// SPDX-License-Identifier: Apache-2.0
#include "Repro.h"

#include "conformance/compare/Elements.h"
#include "sdk/graph/Wire.h"
#include "sdk/support/AtomicFile.h"
#include "sdk/support/Npy.h"
#include "sdk/support/TextViews.h"

#include <algorithm>
#include <filesystem>

namespace backplane::conformance {

namespace {

using conformance::Tensor;

std::string readme(const Repro &repro, const Examination &found,
                   const std::string &device, const std::string &title) {
  std::string run = "bp run graph.bpg --device '" + device + "'";
  for (size_t i = 0; i < repro.inputs.size(); ++i) {
    const std::string &name = repro.graph.values[repro.graph.inputs[i]].name;
    run += " --input " + name + "=input" + std::to_string(i) + ".npy";
  }
  for (size_t i = 0; i < found.expected.size(); ++i)
    run += " --expect " + repro.graph.outputs[i].name + "=expected" +
           std::to_string(i) + ".npy";
  return "# " + title + "\n\n" + std::string(name(found.status)) + ": " +
         found.reason + "\n\n    " + run +
         "\n\nexpectedN.npy is what the oracle gives, rounded; outputN.npy "
         "what "
         "the device gave. The limits that the verdict used are narrower than "
         "those of --expect may be.\n\n```\n" +
         repro.graph.str() + "```\n";
}

} // namespace

Status saveTensor(const std::string &path, const Tensor &tensor) {
  bool isPacked = bitWidth(tensor.dtype) < 8;
  DType dtype = tensor.dtype == DType::I4 ? DType::I8
                : isPacked                ? DType::U8
                                          : tensor.dtype;
  auto file =
      backplane::Tensor::create(static_cast<bp_dtype_t>(dtype), tensor.dims);
  if (!file)
    return file.status();
  if (dtype != tensor.dtype)
    for (size_t i = 0; i < tensor.elementCount(); ++i)
      file->data()[i] = static_cast<uint8_t>(loadBits(tensor, i));
  else if (file->size() == tensor.data.size())
    std::copy(tensor.data.begin(), tensor.data.end(), file->data());
  return writeNpy(path, *file);
}

Status saveRepro(const std::string &folder, const Repro &repro,
                 const Examination &found, const std::string &device,
                 const std::string &title) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    return invalidArgument("cannot make the folder '" + folder +
                           "': " + code.message());
  auto path = [&](const char *kind, size_t i) {
    return folder + "/" + kind + std::to_string(i) + ".npy";
  };
  Status status =
      writeFileAtomically(folder + "/graph.bpg", writeGraph(repro.graph));
  for (size_t i = 0; status.ok() && i < repro.inputs.size(); ++i)
    status = saveTensor(path("input", i), repro.inputs[i]);
  for (size_t i = 0; status.ok() && i < found.expected.size(); ++i)
    status = saveTensor(path("expected", i), tensorOf(found.expected[i]));
  for (size_t i = 0; status.ok() && i < found.outputs.size(); ++i)
    status = saveTensor(path("output", i), found.outputs[i]);
  const auto used = weightsOf(repro.graph);
  for (const auto &[id, weight] : repro.weights.all()) {
    if (!used.contains(id))
      continue;
    Tensor tensor{weight.type.dtype, {}, {}};
    for (const Dim &dim : weight.type.dims)
      tensor.dims.push_back(dim.constant().value_or(0));
    tensor.data.assign(weight.data.begin(), weight.data.end());
    if (status.ok())
      status = saveTensor(folder + "/weight-" + id + ".npy", tensor);
  }
  if (!status.ok())
    return status;
  return writeFileAtomically(folder + "/README.md",
                             asBytes(readme(repro, found, device, title)));
}

} // namespace backplane::conformance
