// SPDX-License-Identifier: Apache-2.0
//
// Bundle.cpp: `bp bundle` for models. Cases are bp-conformance's.
#include "hal/worker/Bundle.h"
#include "Common.h"
#include "sdk/support/CommandLine.h"
#include "sdk/support/Hash.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace backplane {
namespace {

using worker::BundleFacts;
using worker::WireTensor;

constexpr const char *about =
    "bp bundle: packs work for a machine without a connection.\n\n"
    "  bp bundle model.onnx --target aarch64 --input x=x.npy -o model.bpb\n"
    "  bp bundle cases --target aarch64 --filter 'L3/*' -o cases.bpb\n"
    "  bp-worker run model.bpb -o results.bpr     there\n"
    "  bp bundle judge model.bpb results.bpr      here again\n\n"
    "Outputs of a model are expected to be those of --expect or, without it, "
    "those that the host computes here.";

struct PackOptions {
  RunOptions run;
  std::vector<std::string> targets;
  std::string output;
};

WireTensor toWire(const Tensor &tensor) {
  return {tensor.dtype(),
          tensor.dims(),
          {tensor.data(), tensor.data() + tensor.size()}};
}

/// A tensor of a bundle, whose data must be as many as its shape says.
Result<Tensor> fromWire(const WireTensor &wire) {
  Result<Tensor> tensor = Tensor::create(bp_dtype_t(wire.dtype), wire.dims);
  if (!tensor)
    return tensor;
  if (tensor->size() != wire.data.size())
    return dataLoss("a tensor does not have the bytes that its shape says");
  if (tensor->size())
    std::memcpy(tensor->data(), wire.data.data(), wire.data.size());
  return tensor;
}

std::vector<WireTensor> toWire(const std::vector<Tensor> &tensors) {
  std::vector<WireTensor> wires;
  for (const Tensor &tensor : tensors)
    wires.push_back(toWire(tensor));
  return wires;
}

Result<Artifact> compileFor(const Context &context,
                            const PackOptions &options) {
  const std::string &path = options.run.model.path;
  if (path.ends_with(".bpx"))
    return openArtifact(context, path);
  std::vector<bp_string_t> targets = asC(options.targets);
  bp_compile_options_t compile = {BP_HEADER(bp_compile_options_t)};
  compile.targets = targets.data();
  compile.target_count = targets.size();
  return compileModel(context, path, compile);
}

/// What the host computes here, for want of --expect.
Result<std::vector<Tensor>> computeHere(const Context &context,
                                        const PackOptions &options,
                                        std::vector<Tensor> &inputs) {
  ModelOptions here = options.run.model;
  here.device = "host";
  Result<Artifact> artifact = openModel(context, here);
  if (!artifact)
    return artifact.status();
  bp_session_options_t session = {BP_HEADER(bp_session_options_t)};
  Result<Session> host = createSession(*artifact, session);
  if (!host)
    return host.status().within("the host cannot tell what to expect; give "
                                "--expect");
  Result<OutputTensors> outputs =
      OutputTensors::make(*host, outputSpecs(*artifact), inputs);
  if (!outputs)
    return outputs.status();
  std::vector<bp_tensor_t> in = asC(inputs);
  if (Status s = runSession(*host, in, outputs->forCall()); !s.ok())
    return s;
  return std::move(*outputs).take();
}

Status writeBundle(const PackOptions &options, const Artifact &artifact,
                   const std::vector<Tensor> &inputs,
                   const std::vector<Tensor> &expected) {
  worker::BundleMessage head;
  head.kind = "model";
  head.version = view(bp_version());
  head.device = options.run.model.device;
  for (const std::string &target : options.targets)
    head.target += (head.target.empty() ? "" : ",") + target;
  for (const TensorSpec &spec : outputSpecs(artifact))
    head.facts.push_back(spec.name);
  auto writer = worker::BundleWriter::create(options.output, head);
  if (!writer)
    return writer.status();
  bp_bytes_t bytes = bp_artifact_bytes(artifact.get());
  const auto *first = static_cast<const uint8_t *>(bytes.data);
  worker::ArtifactMessage message{hashBytes({first, bytes.size}),
                                  {first, first + bytes.size}};
  worker::RunMessage run{message.hash, toWire(inputs)};
  worker::ResultMessage result;
  result.outputs = toWire(expected);
  Status status = writer->artifact(message);
  if (status.ok())
    status = writer->run(run);
  if (status.ok())
    status =
        writer->answer({hashBytes(encode(run)),
                        uint32_t(worker::FrameType::Result), encode(result)});
  return status.ok() ? writer->finish() : status;
}

int pack(const PackOptions &options) {
  OutputFiles files = filesRead(options.run);
  if (Status s = files.writes(options.output); !s.ok())
    return fail(s);
  Result<Context> context = openContext(options.run.model.threads);
  if (!context)
    return fail(context.status());
  Result<Artifact> artifact = compileFor(*context, options);
  if (!artifact)
    return fail(artifact.status());
  auto inputs = gatherInputs(options.run, inputSpecs(*artifact));
  if (!inputs)
    return fail(inputs.status());
  auto expected = options.run.expected.empty()
                      ? computeHere(*context, options, *inputs)
                      : gatherExpected(options.run, outputSpecs(*artifact));
  if (!expected)
    return fail(expected.status());
  if (Status s = writeBundle(options, *artifact, *inputs, *expected); !s.ok())
    return fail(s);
  std::printf("%s: run it with 'bp-worker run %s -o RESULTS'\n",
              options.output.c_str(), options.output.c_str());
  return 0;
}

Result<std::vector<Tensor>> outputsOf(const worker::AnswerMessage &answer) {
  worker::ErrorMessage error;
  worker::ResultMessage result;
  if (answer.type == uint32_t(worker::FrameType::Error)) {
    Status status = decode(answer.payload, error);
    return status.ok() ? Status(error.code ? error.code : BP_STATUS_INTERNAL,
                                error.text)
                       : status;
  }
  if (Status s = decode(answer.payload, result); !s.ok())
    return s;
  if (!result.damage.empty())
    return internalError(result.damage);
  std::vector<Tensor> outputs;
  for (const WireTensor &wire : result.outputs) {
    Result<Tensor> tensor = fromWire(wire);
    if (!tensor)
      return tensor.status();
    outputs.push_back(std::move(*tensor));
  }
  return outputs;
}

/// Whether the outputs of one run match; says so for each.
Result<bool> judgeRun(const RunOptions &options, const BundleFacts &bundle,
                      const worker::AnswerMessage &known,
                      const worker::AnswerMessage &answer) {
  auto expected = outputsOf(known), outputs = outputsOf(answer);
  if (!expected || !outputs)
    return expected ? outputs.status() : expected.status();
  const std::vector<std::string> &names = bundle.head.facts;
  if (expected->size() != names.size() || outputs->size() != names.size())
    return dataLoss("the number of outputs is not that of the bundle");
  bool good = true;
  for (size_t i = 0; i < names.size(); ++i) {
    if ((*expected)[i].dtype() != (*outputs)[i].dtype())
      return dataLoss("output '" + names[i] + "' has another dtype");
    good &= compareOutput(options, names[i], (*outputs)[i], (*expected)[i]);
  }
  return good;
}

int judge(const RunOptions &options, const std::string &bundlePath,
          const std::string &resultsPath) {
  Result<BundleFacts> bundle = worker::readBundle(bundlePath);
  if (!bundle)
    return fail(bundle.status());
  auto results = worker::readResults(resultsPath, *bundle);
  if (!results)
    return fail(results.status());
  std::printf("run by %s %s on %s\n", results->hello.device.c_str(),
              results->hello.version.c_str(), results->hello.machine.c_str());
  bool good = !bundle->runs.empty();
  for (const std::string &run : bundle->runs) {
    auto known = bundle->known.find(run);
    if (known == bundle->known.end())
      return fail(dataLoss("'" + bundlePath + "' does not say what to expect"));
    Result<bool> match =
        judgeRun(options, *bundle, known->second, results->answers.at(run));
    if (!match)
      return fail(match.status());
    good &= *match;
  }
  return good ? 0 : 1;
}

int judgeMain(int argc, char **argv) {
  CLI::App app("bp bundle judge: judges what bp-worker run gave.");
  app.name("bp bundle judge");
  std::string bundle, results;
  RunOptions options;
  app.add_option("bundle", bundle, "the .bpb that was run")->required();
  app.add_option("results", results, "what bp-worker run wrote")->required();
  app.add_option("--rtol", options.rtol, "relative tolerance of a model")
      ->check(command::real(0, 1e300))
      ->capture_default_str();
  app.add_option("--atol", options.atol,
                 "absolute tolerance; default 1e-5 of the largest magnitude")
      ->check(command::real(0, 1e300));
  if (auto code = command::parse(app, argc, argv))
    return *code;
  return judge(options, bundle, results);
}

void addPack(CLI::App &app, PackOptions &options,
             std::vector<std::string> &dims) {
  app.add_option("model", options.run.model.path,
                 "a .onnx model or .bpx artifact")
      ->required();
  app.add_option("-o,--output", options.output, "the .bpb to write")
      ->required();
  app.add_option("--target", options.targets,
                 "target names, comma separated; default: this machine's")
      ->delimiter(',');
  app.add_option("--device", options.run.model.device,
                 "device URI on the machine that runs it")
      ->capture_default_str();
  app.add_option("--input", options.run.inputs,
                 "NAME=FILE.npy, once per input");
  app.add_option("--random-inputs", options.run.randomSeed,
                 "seed for the inputs that are not given")
      ->check(command::seed());
  app.add_option("--dim", dims, "NAME=SIZE: a symbolic dim of random inputs");
  app.add_option("--expect", options.run.expected,
                 "NAME=FILE.npy, once per output");
}

} // namespace

bool isBundleOfCases(const std::string &path) {
  Result<worker::BundleReader> reader = worker::BundleReader::open(path);
  return reader && reader->head().kind == "cases";
}

int bundleMain(int argc, char **argv) {
  if (argc > 1 && std::string_view(argv[1]) == "judge")
    return judgeMain(argc - 1, argv + 1);
  CLI::App app(about);
  PackOptions options;
  std::vector<std::string> dims;
  app.name("bp bundle");
  addPack(app, options, dims);
  auto take = [&] { options.run.model.dims = parseDims(dims); };
  if (auto code = command::parse(app, argc, argv, take))
    return *code;
  return pack(options);
}

} // namespace backplane
