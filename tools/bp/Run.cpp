// SPDX-License-Identifier: Apache-2.0
#include "RunFiles.h"
#include "Watchdog.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace backplane {
namespace {

void printSummary(const TensorSpec &spec, const Tensor &tensor) {
  double low = INFINITY, high = -INFINITY, sum = 0;
  int64_t count = tensor.elements(), strange = 0;
  for (int64_t i = 0; i < count; ++i) {
    double value = tensor.number(i);
    if (!std::isfinite(value)) {
      ++strange;
      continue;
    }
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
  }
  std::printf("%s: %s %s", readable(spec.name).c_str(),
              dtypeName(spec.dtype).c_str(), shapeText(tensor.dims()).c_str());
  if (count > strange)
    std::printf(", min %g, max %g, mean %g", low, high,
                sum / double(count - strange));
  if (strange)
    std::printf(", %lld not finite", static_cast<long long>(strange));
  std::printf("\n");
}

/// Whether the output lies within tolerance of the file; says so either way.
Result<bool> matches(const RunOptions &options, const TensorSpec &spec,
                     const Tensor &tensor, const std::string &path) {
  Result<Tensor> expected = readAs(path, spec, "output");
  if (!expected)
    return expected.status();
  return compareOutput(options, spec.name, tensor, *expected);
}

Status printWhy(const Session &session) {
  bp_string_sink_t sink = stdoutSink();
  return checked([&](bp_error_t *error) {
    return bp_session_explain(session.get(), &sink, error);
  });
}

Result<std::vector<Tensor>> execute(const Artifact &artifact,
                                    const RunOptions &options,
                                    const std::vector<TensorSpec> &outSpecs) {
  Result<std::vector<Tensor>> inputs =
      gatherInputs(options, inputSpecs(artifact));
  if (!inputs)
    return inputs;
  Result<Session> session =
      createSession(artifact, sessionOptions(options.model));
  if (!session)
    return session.status();
  if (options.model.why)
    if (Status status = printWhy(*session); !status.ok())
      return status;
  Result<OutputTensors> outputs =
      OutputTensors::make(*session, outSpecs, *inputs);
  if (!outputs)
    return outputs.status();
  std::vector<bp_tensor_t> in = asC(*inputs);
  Watchdog watchdog(options);
  for (unsigned i = 0; i < options.repeat; ++i) {
    watchdog.nextCall();
    if (Status status = runSession(*session, in, outputs->forCall());
        !status.ok())
      return status;
  }
  return std::move(*outputs).take();
}

} // namespace

static int runIn(const Context &context, const RunOptions &options) {
  Result<Artifact> artifact = openModel(context, options.model);
  if (!artifact)
    return fail(artifact.status());
  std::vector<TensorSpec> specs = outputSpecs(*artifact);
  if (Status s = checkOutputs(options, specs); !s.ok())
    return fail(s);
  std::vector<NamedFile> expected;
  for (const std::string &text : options.expected) {
    Result<NamedFile> file = resolve(text, specs, "output");
    if (!file)
      return fail(file.status());
    expected.push_back(*file);
  }
  Result<std::vector<Tensor>> outputs = execute(*artifact, options, specs);
  if (!outputs)
    return fail(outputs.status());
  for (size_t i = 0; i < specs.size(); ++i)
    printSummary(specs[i], (*outputs)[i]);
  if (!options.outputDir.empty())
    if (Status status = writeOutputs(options, specs, *outputs); !status.ok())
      return fail(status);
  bool good = true;
  for (const NamedFile &file : expected) {
    Result<bool> match =
        matches(options, specs[file.index], (*outputs)[file.index], file.path);
    if (!match)
      return fail(match.status());
    good &= *match;
  }
  return good ? 0 : 1;
}

int runRun(const RunOptions &options) {
  Result<Context> context = openContext(options.model.threads);
  if (!context)
    return fail(context.status());
  if (options.trace.empty())
    return runIn(*context, options);
  OutputFiles files = filesRead(options);
  if (Status s = files.writes(options.trace); !s.ok())
    return fail(s);
  Status status = checked([&](bp_error_t *error) {
    return bp_context_trace_begin(context->get(), toC(options.trace), error);
  });
  if (!status.ok())
    return fail(status);
  int code = runIn(*context, options);
  // A run that failed leaves its timeline too.
  status = checked([&](bp_error_t *error) {
    return bp_context_trace_end(context->get(), error);
  });
  return status.ok() ? code : fail(status);
}

} // namespace backplane
