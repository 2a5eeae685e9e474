// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "sdk/support/NearestName.h"
#include "sdk/support/ReadableText.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <unistd.h>

namespace backplane {
namespace {

std::mutex terminalMutex;
bool progressShown = false;

void clearProgress() {
  if (progressShown)
    std::fputs("\r\033[K", stderr);
  progressShown = false;
}

void logLine(void *, uint32_t level, bp_string_t message) {
  if (level < BP_LOG_WARNING)
    return;
  std::lock_guard lock(terminalMutex);
  clearProgress();
  std::fprintf(stderr, "bp: %s: %s\n",
               level == BP_LOG_WARNING ? "warning" : "error",
               readableMessage(view(message)).c_str());
}

void showProgress(void *, bp_string_t what, uint64_t done, uint64_t total) {
  std::lock_guard lock(terminalMutex);
  clearProgress();
  if (done >= total)
    return;
  std::fprintf(stderr, "%.*s %" PRIu64 "/%" PRIu64, int(what.size), what.data,
               done, total);
  std::fflush(stderr);
  progressShown = true;
}

std::vector<TensorSpec> collectSpecs(const Artifact &artifact, uint32_t count,
                                     bp_status_t (*get)(const bp_artifact_t *,
                                                        uint32_t,
                                                        bp_tensor_info_t *)) {
  std::vector<TensorSpec> specs;
  for (uint32_t i = 0; i < count; ++i) {
    bp_tensor_info_t info = {BP_HEADER(bp_tensor_info_t)};
    if (get(artifact.get(), i, &info) != BP_STATUS_OK)
      break;
    TensorSpec spec{std::string(view(info.name)), info.dtype, {}, {}};
    for (uint32_t axis = 0; axis < info.rank; ++axis) {
      spec.dims.push_back(info.dims[axis]);
      spec.dimTexts.emplace_back(view(info.dim_texts[axis]));
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

void fillFloats(Tensor &tensor, std::mt19937_64 &random) {
  std::normal_distribution<float> normal;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i) {
    float value = normal(random);
    if (tensor.dtype() == BP_DTYPE_F64) {
      double wide = value;
      std::memcpy(tensor.data() + i * 8, &wide, 8);
    } else {
      std::memcpy(tensor.data() + i * 4, &value, 4);
    }
  }
}

/// Floats of 16 bits: a value in [1, 2) or its negative, by its bits.
void fillHalves(Tensor &tensor, std::mt19937_64 &random) {
  bool brain = tensor.dtype() == BP_DTYPE_BF16;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i) {
    uint64_t bits = random();
    uint16_t half = brain ? 0x3F80 | (bits & 0x807F) : 0x3C00 | (bits & 0x83FF);
    std::memcpy(tensor.data() + i * 2, &half, 2);
  }
}

void fillIntegers(Tensor &tensor, std::mt19937_64 &random) {
  uint64_t width = elementBytes(tensor.dtype());
  uint64_t limit = tensor.dtype() == BP_DTYPE_BOOL ? 2 : 100;
  for (int64_t i = 0, n = tensor.elements(); i < n; ++i) {
    uint64_t value = random() % limit;
    std::memcpy(tensor.data() + i * width, &value, width);
  }
}

} // namespace

int fail(const Status &status) {
  std::lock_guard lock(terminalMutex);
  clearProgress();
  std::fprintf(stderr, "bp: %s\n", readableMessage(status.message()).c_str());
  return 1;
}

Result<Context> openContext(unsigned threads) {
  bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
  bp_context_options_from_env(&options);
  if (threads)
    options.threads = threads;
  options.log.log = logLine;
  if (isatty(STDERR_FILENO))
    options.log.progress = showProgress;
  return createContext(options);
}

Result<Artifact> openModel(const Context &context,
                           const ModelOptions &options) {
  if (options.path.ends_with(".bpx"))
    return openArtifact(context, options.path);
  bp_compile_options_t compile = {BP_HEADER(bp_compile_options_t)};
  const bp_string_t target = toC(options.variant);
  if (options.variant.empty())
    compile.driver = toC(options.device);
  else
    compile.targets = &target, compile.target_count = 1;
  compile.flags = options.fallback ? BP_COMPILE_FALLBACK : 0;
  setLimits(options.limits, compile);
  return compileModel(context, options.path, compile);
}

static bp_status_t printChunk(void *, bp_string_t text) {
  std::string lines = readableLines(view(text));
  if (!lines.empty() && lines.back() != '\n')
    lines += '\n';
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  return BP_STATUS_OK;
}

bp_string_sink_t stdoutSink() { return {printChunk, nullptr}; }

/// A chooser that takes the variants of one target, in the order of the
/// devices.
static bp_status_t takeVariant(void *context, const bp_candidate_t *const *all,
                               uint32_t count, uint32_t *order, uint32_t *given,
                               const bp_string_sink_t *reason) {
  const auto &wanted = *static_cast<const std::string *>(context);
  std::string known;
  bool found = false;
  for (uint32_t i = 0; i < count; ++i) {
    std::string target(view(all[i]->target));
    found |= target == wanted;
    if (target == wanted && !all[i]->misfit.size)
      order[(*given)++] = i;
    if (!target.empty() && known.find("'" + target + "'") == std::string::npos)
      known += (known.empty() ? "'" : ", '") + target + "'";
  }
  if (found || known.empty())
    return BP_STATUS_OK;
  (void)reason->put(reason->context, toC("there is no variant '" + wanted +
                                         "'; there is " + known));
  return BP_STATUS_NOT_FOUND;
}

bp_session_options_t sessionOptions(const ModelOptions &options) {
  static bp_chooser_t chooser; // outlives what is returned
  chooser = {takeVariant, const_cast<std::string *>(&options.variant)};
  bp_session_options_t session = {BP_HEADER(bp_session_options_t)};
  if (!options.variant.empty())
    session.chooser = &chooser;
  session.device = toC(options.device);
  session.flags = (options.jit ? BP_SESSION_JIT : 0) |
                  (options.fallback ? 0 : BP_SESSION_NO_FALLBACK);
  setLimits(options.limits, session);
  return session;
}

std::vector<TensorSpec> inputSpecs(const Artifact &artifact) {
  return collectSpecs(artifact, bp_artifact_input_count(artifact.get()),
                      bp_artifact_input);
}

std::vector<TensorSpec> outputSpecs(const Artifact &artifact) {
  return collectSpecs(artifact, bp_artifact_output_count(artifact.get()),
                      bp_artifact_output);
}

std::string specText(const TensorSpec &spec) {
  std::string text = dtypeName(spec.dtype) + " [";
  for (size_t i = 0; i < spec.dims.size(); ++i)
    text += (i ? ", " : "") + (spec.dims[i] < 0 ? spec.dimTexts[i]
                                                : std::to_string(spec.dims[i]));
  return text + "]";
}

Result<Tensor> randomTensor(const TensorSpec &spec,
                            const std::map<std::string, int64_t> &dims,
                            uint64_t seed) {
  std::vector<int64_t> shape = spec.dims;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < 0) {
      auto given = dims.find(spec.dimTexts[i]);
      shape[i] = given == dims.end() ? 1 : given->second;
    }
  Result<Tensor> tensor = Tensor::create(spec.dtype, shape);
  if (!tensor)
    return tensor;
  std::mt19937_64 random(seed);
  if (spec.dtype == BP_DTYPE_F64 || spec.dtype == BP_DTYPE_F32)
    fillFloats(*tensor, random);
  else if (spec.dtype == BP_DTYPE_F16 || spec.dtype == BP_DTYPE_BF16)
    fillHalves(*tensor, random);
  else
    fillIntegers(*tensor, random);
  return tensor;
}

Result<std::vector<Tensor>>
randomInputs(const std::vector<TensorSpec> &specs,
             const std::map<std::string, int64_t> &dims) {
  std::vector<Tensor> inputs;
  for (const TensorSpec &spec : specs) {
    Result<Tensor> tensor = randomTensor(spec, dims, inputs.size());
    if (!tensor)
      return tensor.status();
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}

bp_tensor_t asC(Tensor &tensor) {
  return {tensor.data(), tensor.dims().data(), tensor.size(), tensor.dtype(),
          uint32_t(tensor.dims().size())};
}

std::vector<bp_tensor_t> asC(std::vector<Tensor> &tensors) {
  std::vector<bp_tensor_t> views;
  for (Tensor &tensor : tensors)
    views.push_back(asC(tensor));
  return views;
}

namespace {

using AskShapes = decltype(&bp_session_output_shapes);

Result<std::vector<std::vector<int64_t>>>
shapesOf(AskShapes ask, const Session &session,
         const std::vector<TensorSpec> &specs, std::vector<Tensor> &inputs) {
  std::vector<bp_tensor_t> given = asC(inputs);
  std::vector<std::vector<int64_t>> shapes;
  std::vector<int64_t *> rows;
  for (const TensorSpec &spec : specs)
    shapes.emplace_back(spec.dims.size());
  for (auto &shape : shapes)
    rows.push_back(shape.data());
  Status status = checked([&](bp_error_t *error) {
    return ask(session.get(), given.data(), uint32_t(given.size()), rows.data(),
               error);
  });
  if (!status.ok())
    return status;
  return shapes;
}

} // namespace

Result<OutputTensors> OutputTensors::make(const Session &session,
                                          const std::vector<TensorSpec> &specs,
                                          std::vector<Tensor> &inputs) {
  auto asked = shapesOf(bp_session_output_shapes, session, specs, inputs);
  if (!asked)
    return asked.status();
  auto bounds = shapesOf(bp_session_output_bounds, session, specs, inputs);
  if (!bounds)
    return bounds.status();
  OutputTensors outputs;
  outputs.asked_ = std::move(*asked);
  for (size_t i = 0; i < specs.size(); ++i) {
    Result<Tensor> tensor = Tensor::create(specs[i].dtype, (*bounds)[i]);
    if (!tensor)
      return tensor.status();
    outputs.tensors_.push_back(std::move(*tensor));
  }
  return outputs;
}

std::vector<bp_tensor_t> OutputTensors::forCall() {
  shapes_ = asked_;
  std::vector<bp_tensor_t> views;
  for (size_t i = 0; i < tensors_.size(); ++i) {
    views.push_back(asC(tensors_[i]));
    views.back().dims = shapes_[i].data();
  }
  return views;
}

Result<std::vector<Tensor>> OutputTensors::take() && {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (Status s = tensors_[i].shrink(shapes_[i]); !s.ok())
      return s.within("output " + std::to_string(i));
  return std::move(tensors_);
}

Result<PreparedSession> prepareSession(const Artifact &artifact,
                                       const ModelOptions &options) {
  Result<Session> session = createSession(artifact, sessionOptions(options));
  if (!session)
    return session.status();
  std::vector<TensorSpec> specs = inputSpecs(artifact);
  if (Status s = checkDims(options, specs); !s.ok())
    return s;
  auto inputs = randomInputs(specs, options.dims);
  if (!inputs)
    return inputs.status();
  auto outputs = OutputTensors::make(*session, outputSpecs(artifact), *inputs);
  if (!outputs)
    return outputs.status();
  return PreparedSession{std::move(*session), std::move(*inputs),
                         std::move(*outputs)};
}

std::string suggestion(std::string_view asked,
                       const std::vector<std::string> &known) {
  std::string near = nearestName(asked, known);
  return near.empty() ? near : " (did you mean '" + near + "'?)";
}

} // namespace backplane
