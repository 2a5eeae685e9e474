// SPDX-License-Identifier: Apache-2.0
#include "Common.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace backplane {
namespace {

/// Ends the tool when a call of a session takes too long: what a driver was
/// given it may still write to, so that nothing can be returned. All that it
/// needs it has before the first call.
class Watchdog {
public:
  explicit Watchdog(const RunOptions &options)
      : timeout_(options.timeout), calls_(options.repeat),
        text_("of '" + options.model.path + "' on device '" +
              options.model.device + "'") {
    if (timeout_.count() <= 0)
      return;
    try {
      thread_ = std::thread([this] { watch(); });
    } catch (const std::system_error &error) {
      std::fprintf(stderr, "bp: warning: nobody watches over --timeout: %s\n",
                   error.what());
    }
  }
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable())
      thread_.join();
  }
  Watchdog(const Watchdog &) = delete;
  Watchdog &operator=(const Watchdog &) = delete;

  void nextCall() {
    std::lock_guard lock(mutex_);
    ++call_;
    changed_.notify_all();
  }

private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      const unsigned call = call_;
      bool moved = changed_.wait_for(lock, timeout_,
                                     [&] { return over_ || call_ != call; });
      if (!moved && call)
        end(call);
    }
  }
  [[noreturn]] void end(unsigned call) const {
    dprintf(STDERR_FILENO,
            "bp: call %u of %u %s did not complete within %g s and is still in "
            "flight; see --timeout, and bp lint for the driver\n",
            call, calls_, text_.c_str(), timeout_.count());
    _exit(1);
  }

  std::chrono::duration<double> timeout_;
  unsigned calls_, call_ = 0;
  bool over_ = false;
  std::string text_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

struct NamedFile {
  size_t index; ///< of the spec
  std::string path;
};

/// Splits NAME=FILE at the first '=' before which a known name stands.
Result<NamedFile> resolve(const std::string &text,
                          const std::vector<TensorSpec> &specs,
                          const char *what) {
  for (size_t at = text.find('='); at != std::string::npos;
       at = text.find('=', at + 1))
    for (size_t i = 0; i < specs.size(); ++i)
      if (text.compare(0, at, specs[i].name) == 0)
        return NamedFile{i, text.substr(at + 1)};
  std::string asked = text.substr(0, text.find('='));
  if (asked.size() == text.size())
    return invalidArgument("'" + text + "' is not of the form NAME=FILE.npy");
  std::vector<std::string> names;
  std::string list;
  for (const TensorSpec &spec : specs) {
    names.push_back(spec.name);
    list += (list.empty() ? "'" : ", '") + spec.name + "'";
  }
  return notFound("the model has no " + std::string(what) + " '" + asked + "'" +
                  suggestion(asked, names) + "; it has " + list);
}

/// A file's tensor as the spec wants it. The shape is checked by the session.
Result<Tensor> readAs(const std::string &path, const TensorSpec &spec,
                      const char *what) {
  Result<Tensor> tensor = readNpy(path);
  if (!tensor)
    return tensor;
  if (!holdsDType(tensor->dtype(), spec.dtype))
    return invalidArgument(std::string(what) + " '" + spec.name + "' is " +
                           dtypeName(spec.dtype) + ", '" + path + "' holds " +
                           dtypeName(tensor->dtype()));
  tensor->setDType(spec.dtype);
  return tensor;
}

/// Per spec, where a file was named for it.
using NamedTensors = std::vector<std::optional<Tensor>>;

/// The tensors of NAME=FILE arguments.
Result<NamedTensors> readNamed(const std::vector<std::string> &arguments,
                               const std::vector<TensorSpec> &specs,
                               const char *what) {
  NamedTensors found(specs.size());
  for (const std::string &text : arguments) {
    Result<NamedFile> file = resolve(text, specs, what);
    if (!file)
      return file.status();
    const TensorSpec &spec = specs[file->index];
    if (found[file->index])
      return invalidArgument(std::string(what) + " '" + spec.name +
                             "' is given twice; give it once");
    Result<Tensor> tensor = readAs(file->path, spec, what);
    if (!tensor)
      return tensor.status();
    found[file->index] = std::move(*tensor);
  }
  return found;
}

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

std::string indexText(const std::vector<int64_t> &dims, int64_t flat) {
  std::vector<int64_t> index(dims.size());
  for (size_t axis = dims.size(); axis-- > 0; flat /= dims[axis])
    index[axis] = flat % dims[axis];
  return shapeText(index);
}

/// How far `value` is from `want` in units of what is allowed.
double excess(double value, double want, double limit) {
  if (value == want || (std::isnan(value) && std::isnan(want)))
    return 0;
  if (!std::isfinite(value) || !std::isfinite(want))
    return INFINITY;
  double difference = std::abs(value - want);
  return limit > 0 ? difference / limit : INFINITY;
}

/// Whether the output lies within tolerance of the file; says so either way.
Result<bool> matches(const RunOptions &options, const TensorSpec &spec,
                     const Tensor &tensor, const std::string &path) {
  Result<Tensor> expected = readAs(path, spec, "output");
  if (!expected)
    return expected.status();
  return compareOutput(options, spec.name, tensor, *expected);
}

/// The files of the outputs, in the folder of --output-dir.
std::vector<std::string> outputPaths(const RunOptions &options,
                                     const std::vector<TensorSpec> &specs) {
  std::vector<std::string> names;
  for (const TensorSpec &spec : specs)
    names.push_back(spec.name);
  std::vector<std::string> paths = fileNames(names);
  for (std::string &path : paths)
    path = options.outputDir + "/" + path + ".npy";
  return paths;
}

/// Whether the command may write what it is asked to write.
Status checkOutputs(const RunOptions &options,
                    const std::vector<TensorSpec> &specs) {
  OutputFiles files = filesRead(options);
  if (!options.trace.empty())
    if (Status s = files.writes(options.trace); !s.ok())
      return s;
  if (options.outputDir.empty())
    return {};
  for (const std::string &path : outputPaths(options, specs))
    if (Status s = files.writes(path); !s.ok())
      return s;
  return {};
}

Status writeOutputs(const RunOptions &options,
                    const std::vector<TensorSpec> &specs,
                    const std::vector<Tensor> &outputs) {
  std::error_code error;
  std::filesystem::create_directories(options.outputDir, error);
  if (error)
    return Status(BP_STATUS_UNAVAILABLE, "cannot create '" + options.outputDir +
                                             "': " + error.message());
  std::vector<std::string> paths = outputPaths(options, specs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (Status status = writeNpy(paths[i], outputs[i]); !status.ok())
      return status;
    std::string plain = options.outputDir + "/" + specs[i].name + ".npy";
    if (paths[i] != plain)
      std::printf("output '%s' is in '%s'\n", readable(specs[i].name).c_str(),
                  readable(paths[i], 300).c_str());
  }
  return {};
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

Status checkDims(const ModelOptions &options,
                 const std::vector<TensorSpec> &specs) {
  std::vector<std::string> known;
  for (const TensorSpec &spec : specs)
    for (size_t i = 0; i < spec.dims.size(); ++i)
      if (spec.dims[i] < 0)
        known.push_back(spec.dimTexts[i]);
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  std::string list;
  for (const std::string &name : known)
    list += (list.empty() ? "'" : ", '") + name + "'";
  for (const auto &[name, size] : options.dims)
    if (!std::ranges::binary_search(known, name))
      return notFound("the model has no symbolic dim '" + name + "'" +
                      suggestion(name, known) + "; it has " +
                      (list.empty() ? "none" : list));
  return {};
}

OutputFiles filesRead(const RunOptions &options) {
  OutputFiles files;
  files.reads(options.model.path);
  for (const auto *arguments : {&options.inputs, &options.expected})
    for (const std::string &text : *arguments)
      for (size_t at = text.find('='); at != std::string::npos;
           at = text.find('=', at + 1))
        files.reads(text.substr(at + 1));
  return files;
}

Result<std::vector<Tensor>> gatherInputs(const RunOptions &options,
                                         const std::vector<TensorSpec> &specs) {
  if (Status s = checkDims(options.model, specs); !s.ok())
    return s;
  auto read = readNamed(options.inputs, specs, "input");
  if (!read)
    return read.status();
  NamedTensors &found = *read;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!found[i] && !options.randomSeed)
      return invalidArgument("input '" + specs[i].name + "' (" +
                             specText(specs[i]) +
                             ") is missing; give --input '" + specs[i].name +
                             "=FILE.npy' or --random-inputs SEED");
    if (!found[i]) {
      Result<Tensor> tensor =
          randomTensor(specs[i], options.model.dims, *options.randomSeed + i);
      if (!tensor)
        return tensor.status();
      found[i] = std::move(*tensor);
    }
    inputs.push_back(std::move(*found[i]));
  }
  return inputs;
}

Result<std::vector<Tensor>>
gatherExpected(const RunOptions &options,
               const std::vector<TensorSpec> &specs) {
  auto read = readNamed(options.expected, specs, "output");
  if (!read)
    return read.status();
  NamedTensors &found = *read;
  std::vector<Tensor> expected;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (!found[i])
      return invalidArgument("what to expect of output '" + specs[i].name +
                             "' is missing; give --expect '" + specs[i].name +
                             "=FILE.npy' or no --expect at all");
    expected.push_back(std::move(*found[i]));
  }
  return expected;
}

bool compareOutput(const RunOptions &options, const std::string &name,
                   const Tensor &tensor, const Tensor &expected) {
  if (expected.dims() != tensor.dims()) {
    std::printf("MISMATCH %s: shape %s, expected %s\n", readable(name).c_str(),
                shapeText(tensor.dims()).c_str(),
                shapeText(expected.dims()).c_str());
    return false;
  }
  int64_t count = tensor.elements(), bad = 0, worst = 0;
  double largest = 0, worstExcess = -1;
  for (int64_t i = 0; i < count; ++i)
    if (double y = std::abs(expected.number(i)); std::isfinite(y))
      largest = std::max(largest, y);
  double atol = options.atol >= 0 ? options.atol : 1e-5 * largest;
  for (int64_t i = 0; i < count; ++i) {
    double want = expected.number(i);
    double over =
        excess(tensor.number(i), want, options.rtol * std::abs(want) + atol);
    bad += over > 1;
    if (over > worstExcess) {
      worstExcess = over;
      worst = i;
    }
  }
  std::printf("%s %s: ", bad ? "MISMATCH" : "match", readable(name).c_str());
  if (bad)
    std::printf("%lld of %lld elements, ", static_cast<long long>(bad),
                static_cast<long long>(count));
  if (count)
    std::printf("worst at %s: %.9g, expected %.9g (%.3g of the limit)",
                indexText(tensor.dims(), worst).c_str(), tensor.number(worst),
                expected.number(worst), worstExcess);
  else
    std::printf("no elements");
  std::printf("\n");
  return bad == 0;
}

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
