// SPDX-License-Identifier: Apache-2.0
//
// Generates tokens with a decoder whose cache stays on the device: an
// application of value.h.
//
//   decode MODEL [--device URI] [--steps N] [--batch N]
//
// The first input is a token for each sequence, i64[batch, 1]; "past…" inputs
// and "present…" outputs, equal in number and order, are the cache, which grows
// by one position each step from none; the first output are the logits. The
// program generates the most likely tokens twice, with the cache on the device
// and with the cache carried over the host, and compares.
#include "backplane/cpp/Backplane.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>

using namespace backplane;

namespace {

struct Options {
  std::string model, device = "host";
  int steps = 32;
  int64_t batch = 1;
};

/// Destroys what a call has made.
struct Value {
  bp_value_t c = {};
  Value() { c.header = BP_HEADER(bp_value_t); }
  Value(Value &&other) noexcept : c(std::exchange(other.c, Value().c)) {}
  Value &operator=(Value &&other) noexcept {
    std::swap(c, other.c);
    return *this;
  }
  ~Value() {
    if (c.release)
      c.release(c.context);
  }
};

/// A model and what its ports are.
struct Decoder {
  Context context;
  Artifact artifact;
  Session session;
  uint32_t inputs = 0, outputs = 0;
  std::vector<std::vector<int64_t>> pastDims; ///< before the first step
  std::vector<bp_dtype_t> pastTypes;
};

/// The cache has the batch of the tokens, and no position yet.
Status readPast(Decoder &decoder, const Options &options) {
  bp_tensor_info_t token = {};
  token.header = BP_HEADER(bp_tensor_info_t);
  bp_artifact_t *artifact = decoder.artifact.get();
  if (bp_artifact_input(artifact, 0, &token) != BP_STATUS_OK ||
      token.dtype != BP_DTYPE_I64 || token.rank != 2)
    return invalidArgument("the first input of the model is no i64[batch, 1]");
  std::string batch(view(token.dim_texts[0]));
  for (uint32_t i = 1; i < decoder.inputs; ++i) {
    bp_tensor_info_t info = {};
    info.header = BP_HEADER(bp_tensor_info_t);
    (void)bp_artifact_input(artifact, i, &info);
    std::vector<int64_t> dims(info.dims, info.dims + info.rank);
    for (uint32_t axis = 0; axis < info.rank; ++axis)
      if (dims[axis] < 0)
        dims[axis] = view(info.dim_texts[axis]) == batch ? options.batch : 0;
    decoder.pastDims.push_back(std::move(dims));
    decoder.pastTypes.push_back(info.dtype);
  }
  return {};
}

Status load(const Options &options, Decoder &decoder) {
  bp_context_options_t contextOptions = {};
  contextOptions.header = BP_HEADER(bp_context_options_t);
  bp_context_options_from_env(&contextOptions);
  Result<Context> context = createContext(contextOptions);
  if (!context)
    return context.status();
  decoder.context = std::move(*context);
  bp_compile_options_t compile = {};
  compile.header = BP_HEADER(bp_compile_options_t);
  compile.driver = toC(options.device);
  Result<Artifact> artifact =
      compileModel(decoder.context, options.model, compile);
  if (!artifact)
    return artifact.status();
  decoder.artifact = std::move(*artifact);
  decoder.inputs = bp_artifact_input_count(decoder.artifact.get());
  decoder.outputs = bp_artifact_output_count(decoder.artifact.get());
  if (decoder.inputs < 2 || decoder.inputs != decoder.outputs)
    return invalidArgument("the model has " + std::to_string(decoder.inputs) +
                           " inputs and " + std::to_string(decoder.outputs) +
                           " outputs; a decoder has a token, logits, and as "
                           "many pasts as presents");
  return readPast(decoder, options);
}

Status openSession(const Options &options, Decoder &decoder) {
  bp_session_options_t sessionOptions = {};
  sessionOptions.header = BP_HEADER(bp_session_options_t);
  sessionOptions.device = toC(options.device);
  Result<Session> session = createSession(decoder.artifact, sessionOptions);
  if (session)
    decoder.session = std::move(*session);
  return session.status();
}

/// The most likely token of each sequence, from logits of [batch, 1, words].
void pick(const bp_value_t &logits, std::vector<int64_t> &tokens) {
  const auto *scores = static_cast<const float *>(logits.data);
  int64_t words = logits.dims[logits.rank - 1];
  for (size_t i = 0; i < tokens.size(); ++i) {
    const float *row = scores + int64_t(i) * words;
    tokens[i] = std::max_element(row, row + words) - row;
  }
}

std::vector<Value> emptyCache(const Decoder &decoder) {
  std::vector<Value> cache(decoder.pastDims.size());
  for (size_t i = 0; i < cache.size(); ++i) {
    bp_value_t &past = cache[i].c;
    past.kind = BP_VALUE_TENSOR;
    past.dtype = decoder.pastTypes[i];
    past.rank = uint32_t(decoder.pastDims[i].size());
    past.dims = decoder.pastDims[i].data();
  }
  return cache;
}

/// One call: `tokens` and `cache` become those of the next step.
Status step(const Decoder &decoder, uint32_t where,
            std::vector<int64_t> &tokens, std::vector<Value> &cache) {
  int64_t dims[2] = {int64_t(tokens.size()), 1};
  bp_value_t token = {};
  token.header = BP_HEADER(bp_value_t);
  token.kind = BP_VALUE_TENSOR;
  token.dtype = BP_DTYPE_I64;
  token.rank = 2;
  token.dims = dims;
  token.data = tokens.data();
  std::vector<const bp_value_t *> inputs = {&token};
  std::vector<Value> results(cache.size() + 1);
  std::vector<bp_value_t *> outputs;
  for (Value &past : cache) {
    past.c.flags = BP_VALUE_DONATED;
    inputs.push_back(&past.c);
  }
  for (Value &result : results) {
    result.c.kind = BP_VALUE_TENSOR;
    result.c.flags = &result == &results[0] ? BP_VALUE_ON_HOST : where;
    outputs.push_back(&result.c);
  }
  if (Status s = runValues(decoder.session, inputs, outputs); !s.ok())
    return s;
  pick(results[0].c, tokens);
  for (size_t i = 0; i < cache.size(); ++i) {
    cache[i].c.release = nullptr; // the call took it over
    cache[i] = std::move(results[i + 1]);
  }
  return {};
}

struct Outcome {
  std::vector<int64_t> tokens; ///< batch of them for each step
  double milliseconds = 0;     ///< for each step
};

Result<Outcome> generate(const Decoder &decoder, const Options &options,
                         uint32_t where) {
  Outcome outcome;
  std::vector<int64_t> tokens(size_t(options.batch), 1);
  std::vector<Value> cache = emptyCache(decoder);
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < options.steps; ++i) {
    if (Status s = step(decoder, where, tokens, cache); !s.ok())
      return s.within("step " + std::to_string(i));
    outcome.tokens.insert(outcome.tokens.end(), tokens.begin(), tokens.end());
  }
  std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - begin;
  outcome.milliseconds = took.count() / options.steps;
  return outcome;
}

Status run(const Options &options) {
  Decoder decoder;
  if (Status s = load(options, decoder); !s.ok())
    return s;
  Outcome outcomes[2];
  const uint32_t wheres[2] = {BP_VALUE_ON_DEVICE, BP_VALUE_ON_HOST};
  for (int i = 0; i < 2; ++i) {
    if (Status s = openSession(options, decoder); !s.ok())
      return s;
    // The first time, the device may still compile.
    Result<Outcome> outcome = generate(decoder, options, wheres[i]);
    if (outcome)
      outcome = generate(decoder, options, wheres[i]);
    if (!outcome)
      return outcome.status();
    outcomes[i] = std::move(*outcome);
  }
  printf("tokens:");
  for (int64_t token : outcomes[0].tokens)
    printf(" %lld", static_cast<long long>(token));
  printf("\ncache on the device: %.3f ms a step\ncache over the host: %.3f ms "
         "a step\n",
         outcomes[0].milliseconds, outcomes[1].milliseconds);
  if (outcomes[0].tokens != outcomes[1].tokens)
    return internalError("the two ways differ");
  return {};
}

/// A positive number, else 0.
int64_t number(const char *text) {
  char *end = nullptr;
  int64_t value = strtoll(text, &end, 10);
  return *end == '\0' && value > 0 && value <= 1 << 20 ? value : 0;
}

bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    if (flag[0] != '-' && options.model.empty()) {
      options.model = flag;
      continue;
    }
    if (i + 1 == argc)
      return false;
    const char *value = argv[++i];
    if (flag == "--device")
      options.device = value;
    else if (flag == "--steps")
      options.steps = int(number(value));
    else if (flag == "--batch")
      options.batch = number(value);
    else
      return false;
  }
  return !options.model.empty() && options.steps > 0 && options.batch > 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    fprintf(stderr, "usage: decode MODEL [--device URI] [--steps N] "
                    "[--batch N], numbers from 1 on\n");
    return 2;
  }
  if (Status s = run(options); !s.ok()) {
    fprintf(stderr, "decode: %s\n", s.message().c_str());
    return 1;
  }
  return 0;
}
