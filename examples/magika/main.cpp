// SPDX-License-Identifier: Apache-2.0
//
// Detects the type of files with the trained Magika model: an application of
// backplane.h from the first call to the last.
//
//   magika MODEL_DIR FILE...     MODEL_DIR holds model.onnx, config.min.json
//
// 1. a context finds plug-ins and devices, 2. the model is compiled or comes
// from the cache, 3. a session prepares it on a device, 4. each file becomes
// 2048 numbers, 5. one call gives a score for each type.
#include "backplane/cpp/Backplane.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

using namespace backplane;

namespace {

/// What config.min.json says about the model.
struct Config {
  int64_t beginSize = 0, endSize = 0, blockSize = 0, minimumSize = 0;
  int32_t padding = 0;
  double mediumThreshold = 0.5;
  std::vector<std::string> labels;
  std::map<std::string, double> thresholds;
  std::map<std::string, std::string> renamed;
};

Result<Config> readConfig(const std::string &path) {
  std::ifstream file(path);
  auto json = nlohmann::json::parse(file, nullptr, false);
  if (json.is_discarded())
    return invalidArgument("'" + path + "' is missing or not JSON");
  Config config;
  config.beginSize = json.value("beg_size", 0);
  config.endSize = json.value("end_size", 0);
  config.blockSize = json.value("block_size", 0);
  config.minimumSize = json.value("min_file_size_for_dl", 0);
  config.padding = json.value("padding_token", 0);
  config.mediumThreshold = json.value("medium_confidence_threshold", 0.5);
  config.labels = json.value("target_labels_space", std::vector<std::string>());
  config.thresholds = json.value("thresholds", std::map<std::string, double>());
  config.renamed =
      json.value("overwrite_map", std::map<std::string, std::string>());
  if (config.labels.empty() || config.beginSize < config.minimumSize ||
      config.blockSize < std::max(config.beginSize, config.endSize))
    return invalidArgument("'" + path + "' is not the model's configuration");
  return config;
}

bool isSpace(unsigned char c) { return c == ' ' || (c >= 9 && c <= 13); }

/// The model's input: the first and last bytes without outer white space.
Result<std::vector<int32_t>> features(const std::string &path,
                                      const Config &config) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file)
    return notFound("cannot open '" + path + "'");
  int64_t size = file.tellg(), block = std::min(size, config.blockSize);
  if (size < 0)
    return invalidArgument("'" + path + "' is not a regular file");
  std::string begin(block, '\0'), end(block, '\0');
  file.seekg(0).read(begin.data(), block);
  file.seekg(size - block).read(end.data(), block);
  if (!file)
    return dataLoss("cannot read '" + path + "'");
  begin.erase(begin.begin(),
              std::find_if_not(begin.begin(), begin.end(), isSpace));
  end.erase(std::find_if_not(end.rbegin(), end.rend(), isSpace).base(),
            end.end());
  std::vector<int32_t> tokens(config.beginSize + config.endSize,
                              config.padding);
  int64_t head = std::min<int64_t>(begin.size(), config.beginSize);
  int64_t tail = std::min<int64_t>(end.size(), config.endSize);
  for (int64_t i = 0; i < head; ++i)
    tokens[i] = static_cast<unsigned char>(begin[i]);
  for (int64_t i = 0; i < tail; ++i)
    tokens[tokens.size() - tail + i] =
        static_cast<unsigned char>(end[end.size() - tail + i]);
  return tokens;
}

/// The label to show for the best-scored one.
std::string verdict(const Config &config, std::string label, double score) {
  auto limit = config.thresholds.find(label);
  double needed =
      limit == config.thresholds.end() ? config.mediumThreshold : limit->second;
  auto renamed = config.renamed.find(label);
  if (renamed != config.renamed.end())
    label = renamed->second;
  return score >= needed ? label : label + " (low confidence)";
}

Status detect(const Session &session, const Config &config,
              const std::string &path) {
  Result<std::vector<int32_t>> tokens = features(path, config);
  if (!tokens)
    return tokens.status();
  if (config.minimumSize > 0 &&
      (*tokens)[config.minimumSize - 1] == config.padding) {
    std::printf("%-44s too short for the model\n", path.c_str());
    return {};
  }
  std::vector<float> scores(config.labels.size());
  int64_t inDims[] = {1, int64_t(tokens->size())};
  int64_t outDims[] = {1, int64_t(scores.size())};
  std::vector<bp_tensor_t> inputs = {
      {tokens->data(), inDims, tokens->size() * 4, BP_DTYPE_I32, 2}};
  std::vector<bp_tensor_t> outputs = {
      {scores.data(), outDims, scores.size() * 4, BP_DTYPE_F32, 2}};
  auto start = std::chrono::steady_clock::now();
  if (Status status = runSession(session, inputs, outputs); !status.ok())
    return status;
  std::chrono::duration<double, std::milli> took =
      std::chrono::steady_clock::now() - start;
  auto best = std::max_element(scores.begin(), scores.end());
  std::string label =
      verdict(config, config.labels[best - scores.begin()], *best);
  std::printf("%-44s %-20s %.3f  %7.2f ms\n", path.c_str(), label.c_str(),
              *best, took.count());
  return {};
}

/// A model that is ready to run: the session goes before its artifact.
struct Detector {
  Artifact artifact;
  Session session;
};

Result<Detector> prepare(const Context &context, const std::string &model) {
  const char *device = std::getenv("MAGIKA_DEVICE");
  std::string uri = device ? device : "host";
  std::string driver = uri.substr(0, uri.find("://"));
  bp_compile_options_t compile = {};
  compile.header = BP_HEADER(bp_compile_options_t);
  compile.driver = toC(driver);
  Result<Artifact> artifact = compileModel(context, model, compile);
  if (!artifact)
    return artifact.status();
  bp_session_options_t options = {};
  options.header = BP_HEADER(bp_session_options_t);
  options.device = toC(uri);
  Result<Session> session = createSession(*artifact, options);
  if (!session)
    return session.status();
  return Detector{std::move(*artifact), std::move(*session)};
}

int run(const std::string &folder, char **files, int count) {
  auto fail = [](const Status &status) {
    std::fprintf(stderr, "magika: %s\n", status.message().c_str());
    return 1;
  };
  Result<Config> config = readConfig(folder + "/config.min.json");
  if (!config)
    return fail(config.status());
  bp_context_options_t options = {};
  options.header = BP_HEADER(bp_context_options_t);
  bp_context_options_from_env(&options);
  Result<Context> context = createContext(options);
  if (!context)
    return fail(context.status());
  auto start = std::chrono::steady_clock::now();
  Result<Detector> detector = prepare(*context, folder + "/model.onnx");
  if (!detector)
    return fail(detector.status());
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::string_view choice = view(bp_session_choice(detector->session.get()));
  std::printf("%.*s\nready in %.2f s\n\n", int(choice.size()), choice.data(),
              took.count());
  int failures = 0;
  for (int i = 0; i < count; ++i)
    if (Status status = detect(detector->session, *config, files[i]);
        !status.ok())
      failures += fail(status);
  return failures ? 1 : 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: magika MODEL_DIR FILE...\n");
    return 1;
  }
  return run(argv[1], argv + 2, argc - 2);
}
