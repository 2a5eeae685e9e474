// SPDX-License-Identifier: Apache-2.0
//
// Common.h: what several commands of `bp` need.
#ifndef BACKPLANE_TOOLS_BP_COMMON_H
#define BACKPLANE_TOOLS_BP_COMMON_H

#include "Commands.h"
#include "OutputFiles.h"
#include "sdk/support/Npy.h"
#include "sdk/support/TextViews.h"

#include <cmath>

namespace backplane {

/// Prints "bp: message" on standard error and gives exit code 1.
int fail(const Status &status);

/// A context with options from the environment, a log on standard error and a
/// progress line when that is a terminal.
Result<Context> openContext(unsigned threads);

/// Puts the limits where the C API takes them: options of a compilation or of a
/// session.
template <typename Options>
void setLimits(const CompileLimits &limits, Options &options) {
  options.max_memory = limits.memory;
  options.max_milliseconds = uint64_t(std::ceil(limits.seconds * 1e3));
}

/// Opens a .bpx file, or compiles a model for the driver of `device` (or takes
/// it from the cache).
Result<Artifact> openModel(const Context &context, const ModelOptions &options);

/// Prints text on standard output, each piece ended by a new line.
bp_string_sink_t stdoutSink();

/// `options` as the C API takes them; they outlive what is returned, which is
/// good until the next call.
bp_session_options_t sessionOptions(const ModelOptions &options);

struct TensorSpec {
  std::string name;
  bp_dtype_t dtype;
  std::vector<int64_t> dims; ///< -1 where symbolic
  std::vector<std::string> dimTexts;
};
std::vector<TensorSpec> inputSpecs(const Artifact &artifact);
std::vector<TensorSpec> outputSpecs(const Artifact &artifact);
/// "f32 [n, 64]"
std::string specText(const TensorSpec &spec);

/// Seeded values that suit most models: normal for floats, small non-negative
/// for integers, alternating for bool. Symbolic dims come from `dims`, else 1.
Result<Tensor> randomTensor(const TensorSpec &spec,
                            const std::map<std::string, int64_t> &dims,
                            uint64_t seed);
/// The same for all of them, the first with seed 0, the next with 1.
Result<std::vector<Tensor>>
randomInputs(const std::vector<TensorSpec> &specs,
             const std::map<std::string, int64_t> &dims);

/// Whether --dim names symbolic dims that the inputs have.
Status checkDims(const ModelOptions &options,
                 const std::vector<TensorSpec> &specs);

/// Knows the model and the files of --input and --expect.
OutputFiles filesRead(const RunOptions &options);

/// The inputs that --input and --random-inputs give.
Result<std::vector<Tensor>> gatherInputs(const RunOptions &options,
                                         const std::vector<TensorSpec> &specs);
/// The files of --expect, which must name each output.
Result<std::vector<Tensor>>
gatherExpected(const RunOptions &options, const std::vector<TensorSpec> &specs);
/// Whether an output lies within tolerance of what is expected; says so either
/// way.
bool compareOutput(const RunOptions &options, const std::string &name,
                   const Tensor &tensor, const Tensor &expected);

bp_tensor_t asC(Tensor &tensor);
std::vector<bp_tensor_t> asC(std::vector<Tensor> &tensors);

/// Memory for the outputs of calls with inputs of the same shapes.
class OutputTensors {
public:
  static Result<OutputTensors> make(const Session &session,
                                    const std::vector<TensorSpec> &specs,
                                    std::vector<Tensor> &inputs);
  /// What the next call takes. Views of memory that lives here.
  std::vector<bp_tensor_t> forCall();
  /// The outputs of the latest call, with the sizes that its data decided.
  Result<std::vector<Tensor>> take() &&;

private:
  std::vector<Tensor> tensors_;              ///< as large as they can become
  std::vector<std::vector<int64_t>> asked_;  ///< BP_DIM_SYMBOLIC: data decide
  std::vector<std::vector<int64_t>> shapes_; ///< written by calls
};

/// A session with all that a call of it takes.
struct PreparedSession {
  Session session;
  std::vector<Tensor> inputs;
  OutputTensors outputs;
};
/// With random inputs of the dims that the options give.
Result<PreparedSession> prepareSession(const Artifact &artifact,
                                       const ModelOptions &options);

/// " (did you mean 'x'?)" for the nearest of `known`, or nothing.
std::string suggestion(std::string_view asked,
                       const std::vector<std::string> &known);

} // namespace backplane

#endif // BACKPLANE_TOOLS_BP_COMMON_H
