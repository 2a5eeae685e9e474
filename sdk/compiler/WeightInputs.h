// SPDX-License-Identifier: Apache-2.0
//
// WeightInputs.h: which inputs of a dispatch are weights, and what a plug-in
// read of them. Free of MLIR.
#ifndef BACKPLANE_COMPILER_WEIGHTINPUTS_H
#define BACKPLANE_COMPILER_WEIGHTINPUTS_H

#include "backplane/compiler.h"
#include "sdk/graph/Model.h"

#include <map>

namespace backplane {

/// Inputs of which a plug-in asked whether they are weights, and whether it
/// also asked for id or values.
using WeightQuestions = std::map<uint32_t, bool>;

/// The inputs of a dispatch, in order. No input behind the last is a weight.
class WeightInputs {
public:
  struct Input {
    WeightId id;                    ///< empty: no weight
    const Weight *weight = nullptr; ///< null: no weight
  };

  void add(Input input) { inputs_.push_back(std::move(input)); }
  const Input *find(uint32_t input) const {
    return input < inputs_.size() && inputs_[input].weight ? &inputs_[input]
                                                           : nullptr;
  }
  /// For each input, whether it is one.
  std::vector<bool> mask() const;
  /// What a kernel depends on that was made with these questions, as text.
  std::string answersTo(const WeightQuestions &questions) const;

private:
  std::vector<Input> inputs_;
};

/// What a plug-in reads weights with; notes what it asked.
class WeightReader {
public:
  explicit WeightReader(const WeightInputs &inputs) : inputs_(inputs) {}
  bp_weight_reader_t c() { return {&WeightReader::read, this}; }
  const WeightQuestions &questions() const { return questions_; }

private:
  static bp_status_t read(void *context, uint32_t input, bp_string_t *outId,
                          bp_bytes_t *outValues);

  const WeightInputs &inputs_;
  WeightQuestions questions_;
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_WEIGHTINPUTS_H
