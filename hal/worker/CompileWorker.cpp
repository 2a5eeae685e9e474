// SPDX-License-Identifier: Apache-2.0
#include "Loop.h"
#include "hal/core/DeviceUri.h"

#include <chrono>

namespace backplane::worker {
namespace {

/// Compiles graphs for one target. The context, and with it the compiler
/// library, stays loaded between requests.
class Compiler {
public:
  Compiler(SharedContext context, std::string target)
      : context_(std::move(context)), target_(std::move(target)) {}

  Status handle(const Frame &request, Frame &answer) {
    CompileMessage message;
    if (request.type != FrameType::Compile)
      return unimplemented("this worker compiles; it got frame type " +
                           std::to_string(unsigned(request.type)));
    if (Status s = decode(request.payload, message); !s.ok())
      return s;
    auto start = std::chrono::steady_clock::now();
    Result<Artifact> artifact = compile(message);
    if (!artifact)
      return artifact.status();
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    bp_bytes_t bytes = bp_artifact_bytes(artifact->get());
    const auto *first = static_cast<const uint8_t *>(bytes.data);
    answer.type = FrameType::Compiled;
    answer.payload =
        encode(CompiledMessage{{first, first + bytes.size}, took.count()});
    return {};
  }

private:
  Result<Artifact> compile(CompileMessage &message) const {
    std::vector<bp_tensor_t> weights;
    for (WireTensor &weight : message.weights)
      weights.push_back({weight.data.data(), weight.dims.data(),
                         weight.data.size(), weight.dtype,
                         uint32_t(weight.dims.size())});
    bp_compile_options_t options = {BP_HEADER(bp_compile_options_t)};
    bp_string_t target = toC(target_);
    options.targets = &target;
    options.target_count = 1;
    options.kernel = toC(message.kernel);
    bp_artifact_t *out = nullptr;
    Status status = checked([&](bp_error_t *error) {
      return bp_artifact_compile_graph(
          context_->get(), {message.graph.data(), message.graph.size()},
          weights.data(), uint32_t(weights.size()), &options, &out, error);
    });
    if (!status.ok())
      return status;
    return Artifact(out);
  }

  SharedContext context_;
  std::string target_;
};

} // namespace

Handler compileHandler(SharedContext context, std::string target) {
  auto compiler =
      std::make_shared<Compiler>(std::move(context), std::move(target));
  return [compiler](const Frame &request, Frame &answer) {
    return compiler->handle(request, answer);
  };
}

/// "acme-npu+x86-64-v4": the target of the first device, and of the others
/// those that fit them.
static Result<std::string> joinTargets(const Context &context,
                                       std::string joined,
                                       const std::vector<std::string> &uris) {
  for (size_t i = 1; i < uris.size(); ++i) {
    Result<Hello> other = describeDevice(context, uris[i]);
    if (!other)
      return other.status();
    if (other->target.empty())
      return notFound("no compiler plug-in has a target for device '" +
                      uris[i] + "'");
    joined += "+" + other->target;
  }
  return joined;
}

int serveCompiles(const WorkerOptions &options) {
  return serve(options, [&](Hello &greeting) -> Result<Handler> {
    Result<Context> context = openWorkerContext(options);
    if (!context)
      return context.status();
    std::vector<std::string> uris = splitUris(options.device);
    Result<Hello> hello =
        describeDevice(*context, uris.front(), options.target);
    if (!hello)
      return hello.status();
    if (hello->target.empty() && !options.target.empty())
      return notFound("no compiler plug-in has a target '" + options.target +
                      "'");
    if (hello->target.empty())
      return notFound("no compiler plug-in has a target for device '" +
                      options.device + "'");
    greeting = std::move(*hello);
    greeting.device = options.device;
    auto targets = joinTargets(*context, greeting.target, uris);
    if (!targets)
      return targets.status();
    return compileHandler(std::make_shared<const Context>(std::move(*context)),
                          std::move(*targets));
  });
}

} // namespace backplane::worker
