// SPDX-License-Identifier: Apache-2.0
//
// Any numbers as what lies beside a kernel of the CUDA driver that copies
// tensors by hardware. What is read keeps what a launch relies on.
#include "backends/nvptx/driver/TensorMaps.h"

#include <cstdlib>
#include <cstring>

using namespace backplane::cuda;

static bool isSound(const TensorDescription &tensor, uint32_t bindings) {
  const size_t axes = tensor.sizes.size();
  return tensor.binding < bindings && axes >= 2 && axes <= 5 &&
         tensor.strides.size() == axes - 1 && tensor.block.size() == axes &&
         tensor.bytes >= tensor.sizes[0];
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr uint32_t bindings = 3;
  std::vector<int64_t> words(size / sizeof(int64_t));
  if (!words.empty())
    std::memcpy(words.data(), data, words.size() * sizeof(int64_t));
  std::vector<TensorDescription> tensors;
  std::string reason;
  if (readTensors(words, bindings, tensors, &reason) != reason.empty())
    std::abort(); // a refusal has a reason, and nothing else has
  if (!reason.empty())
    return 0;
  if (tensors.empty() || tensors.size() > maxTensors)
    std::abort();
  for (const TensorDescription &tensor : tensors)
    if (!isSound(tensor, bindings))
      std::abort();
  return 0;
}
