// SPDX-License-Identifier: Apache-2.0
#include "sdk/compiler/WeightInputs.h"

#include "backplane/cpp/Result.h"

namespace backplane {

std::vector<bool> WeightInputs::mask() const {
  std::vector<bool> mask;
  for (const Input &input : inputs_)
    mask.push_back(input.weight);
  return mask;
}

std::string WeightInputs::answersTo(const WeightQuestions &questions) const {
  std::string text;
  for (auto [number, read] : questions) {
    const Input *input = find(number);
    text += std::to_string(number) +
            (!input ? " none"
             : read ? " " + input->id
                    : " some") +
            "\n";
  }
  return text;
}

bp_status_t WeightReader::read(void *context, uint32_t input,
                               bp_string_t *outId, bp_bytes_t *outValues) {
  auto &self = *static_cast<WeightReader *>(context);
  const WeightInputs::Input *found = self.inputs_.find(input);
  self.questions_[input] |= outId || outValues;
  if (!found)
    return BP_STATUS_NOT_FOUND;
  if (outId)
    *outId = toC(found->id);
  if (outValues)
    *outValues = {found->weight->data.data(), found->weight->data.size()};
  return BP_STATUS_OK;
}

} // namespace backplane
