// SPDX-License-Identifier: Apache-2.0
#include "RunFiles.h"
#include "sdk/support/ReadableText.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace backplane {

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
static Result<NamedTensors> readNamed(const std::vector<std::string> &arguments,
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

/// The files of the outputs, in the folder of --output-dir.
static std::vector<std::string>
outputPaths(const RunOptions &options, const std::vector<TensorSpec> &specs) {
  std::vector<std::string> names;
  for (const TensorSpec &spec : specs)
    names.push_back(spec.name);
  std::vector<std::string> paths = fileNames(names);
  for (std::string &path : paths)
    path = options.outputDir + "/" + path + ".npy";
  return paths;
}

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

} // namespace backplane
