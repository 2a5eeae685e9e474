// SPDX-License-Identifier: Apache-2.0
#include "Executable.h"
#include "Cubin.h"
#include "Ptx.h"

#include <algorithm>
#include <new>

namespace backplane::cuda {
namespace {

std::string nameOf(const bp_entry_t &entry) {
  return std::string(entry.name.data, entry.name.size);
}

std::string_view formatOf(const bp_executable_info_t &info) {
  return {info.format.data, info.format.size};
}

/// Makes the functions of one executable.
class Loader {
public:
  Loader(Device &device, const bp_executable_info_t &info, bp_executable_t &out,
         bp_error_t *error)
      : device_(device), info_(info), out_(out), error_(error),
        text_(static_cast<const char *>(info.blob.data), info.blob.size),
        cubin_(formatOf(info) == "cubin") {}

  bp_status_t run();

private:
  bp_status_t refuse(const std::string &reason) {
    return fail(device_.driver, error_, BP_STATUS_INVALID_ARGUMENT, reason);
  }
  /// A refusal of CUDA is one of the blob, unless there is no memory.
  bp_status_t refuse(CUresult result, const std::string &what);
  std::string kind() const { return cubin_ ? "cubin" : "PTX"; }
  bp_status_t check(const std::vector<bp_entry_t> &entries);
  bp_status_t check(const bp_entry_t &entry);
  size_t countMaps(const std::string &name) const;
  bp_status_t loadModule();
  bp_status_t loadTensors(const std::string &name, EntryPoint &made);
  bp_status_t load(const bp_entry_t &entry);

  Device &device_;
  const bp_executable_info_t &info_;
  bp_executable_t &out_;
  bp_error_t *error_;
  std::string text_; ///< with an end that CUDA finds
  Entries found_;
  bool cubin_;
};

bp_status_t Loader::refuse(CUresult result, const std::string &what) {
  bp_status_t status = statusOf(result);
  if (status != BP_STATUS_INTERNAL)
    return device_.fail(error_, result, what);
  return refuse(what + ": " + device_.cuda.describe(result));
}

/// What the driver passes: a pointer for each binding, the error word, scratch,
/// the constants, the parameters. Maps of tensors follow.
std::vector<uint32_t> expectedParameters(const bp_entry_t &entry) {
  constexpr uint32_t wordBytes = 4, pointerBytes = 8;
  std::vector<uint32_t> sizes(entry.binding_count + 2, pointerBytes);
  sizes.insert(sizes.end(), entry.constant_count, wordBytes);
  sizes.insert(sizes.end(), entry.parameter_count, pointerBytes);
  return sizes;
}

/// The last parameters of an entry that are maps of tensors.
size_t Loader::countMaps(const std::string &name) const {
  const std::vector<uint32_t> &sizes = found_.find(name)->second;
  auto other = std::find_if(sizes.rbegin(), sizes.rend(), [](uint32_t size) {
    return size != sizeof(CUtensorMap);
  });
  return size_t(other - sizes.rbegin());
}

bp_status_t Loader::check(const bp_entry_t &entry) {
  std::string name = nameOf(entry);
  auto place = found_.find(name);
  if (place == found_.end())
    return refuse("the " + kind() + " has no entry \"" + name + "\"");
  std::vector<uint32_t> sizes = place->second;
  sizes.resize(sizes.size() - countMaps(name));
  if (sizes != expectedParameters(entry))
    return refuse("entry \"" + name + "\" has " +
                  std::to_string(place->second.size()) +
                  " parameters that are not those of " +
                  std::to_string(entry.binding_count) + " bindings, " +
                  std::to_string(entry.constant_count) + " constants and " +
                  std::to_string(entry.parameter_count) + " parameters");
  return BP_STATUS_OK;
}

/// Parameters are read before CUDA sees the blob.
bp_status_t Loader::check(const std::vector<bp_entry_t> &entries) {
  std::string reason;
  if (!(cubin_ ? readCubin : readEntries)(text_, found_, &reason))
    return refuse(reason);
  for (const bp_entry_t &entry : entries)
    if (bp_status_t status = check(entry))
      return status;
  return BP_STATUS_OK;
}

bp_status_t Loader::loadModule() {
  constexpr size_t logBytes = 4096;
  std::string log(logBytes, '\0');
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER,
                            CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(logBytes)};
  CUresult result = device_.cuda.cuModuleLoadDataEx(&out_.module, text_.c_str(),
                                                    2, options, values);
  if (!result)
    return BP_STATUS_OK;
  log.resize(std::min(log.find('\0'), log.size()));
  std::replace(log.begin(), log.end(), '\n', ' ');
  return refuse(result, "the device's driver refuses the " + kind() +
                            (log.empty() ? log : " (" + log + ")"));
}

/// What lies beside a kernel that takes maps of tensors.
bp_status_t Loader::loadTensors(const std::string &name, EntryPoint &made) {
  if (!countMaps(name))
    return BP_STATUS_OK;
  const std::string beside = name + "_tensors";
  const Cuda &cuda = device_.cuda;
  if (!cuda.cuTensorMapEncodeTiled)
    return refuse("entry \"" + name +
                  "\" copies tensors by hardware, and the "
                  "driver is older than CUDA 12.0, which has no maps of them");
  constexpr size_t maxBytes = 4096;
  CUdeviceptr at = 0;
  size_t bytes = 0;
  CUresult result =
      cuda.cuModuleGetGlobal(&at, &bytes, out_.module, beside.c_str());
  if (!result && bytes > maxBytes)
    return refuse("damaged blob: " + beside + " has " + std::to_string(bytes) +
                  " bytes");
  std::vector<int64_t> words(bytes / sizeof(int64_t));
  if (!result)
    result =
        cuda.cuMemcpyDtoH(words.data(), at, words.size() * sizeof(int64_t));
  if (result)
    return refuse(result, beside);
  std::string reason;
  if (!readTensors(words, made.bindings, made.tensors, &reason))
    return refuse("entry \"" + name + "\": " + reason);
  if (countMaps(name) != made.tensors.size())
    return refuse("entry \"" + name + "\" has " +
                  std::to_string(countMaps(name)) + " maps of tensors, " +
                  beside + " tells of " + std::to_string(made.tensors.size()));
  return BP_STATUS_OK;
}

bp_status_t Loader::load(const bp_entry_t &entry) {
  std::string name = nameOf(entry);
  if (entry.subgroup_size && entry.subgroup_size != 32)
    return refuse("entry \"" + name + "\" asks for subgroups of " +
                  std::to_string(entry.subgroup_size) +
                  "; those of NVIDIA's GPUs are 32");
  EntryPoint made;
  if (CUresult result = device_.cuda.cuModuleGetFunction(
          &made.function, out_.module, name.c_str()))
    return refuse(result, "entry \"" + name + "\"");
  int most = 0;
  if (CUresult result = device_.cuda.cuFuncGetAttribute(
          &most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, made.function))
    return refuse(result, "entry \"" + name + "\"");
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    made.groupSize[i] = std::max(entry.workgroup_size[i], 1u);
    threads *= made.groupSize[i];
  }
  if (threads > uint64_t(std::max(most, 0)))
    return refuse("entry \"" + name + "\" has " + std::to_string(threads) +
                  " invocations in a work-group, and the device runs " +
                  std::to_string(most) + " of it");
  made.bindings = entry.binding_count;
  made.workspaceBytes = entry.workspace_bytes;
  if (bp_status_t status = loadTensors(name, made))
    return status;
  out_.entries.push_back(std::move(made));
  return BP_STATUS_OK;
}

bp_status_t Loader::run() {
  std::vector<bp_entry_t> entries;
  for (uint64_t i = 0; i < info_.entry_count; ++i)
    entries.push_back(readStruct<bp_entry_t>(&info_.entries[i]->header));
  bp_status_t status = check(entries);
  if (status == BP_STATUS_OK)
    status = loadModule();
  for (const bp_entry_t &entry : entries)
    if (status == BP_STATUS_OK)
      status = load(entry);
  return status;
}

/// Functions of this process in the place of a module.
bp_status_t loadNative(const Driver &driver, const bp_executable_info_t &info,
                       bp_executable_t &out, bp_error_t *error) {
  for (uint64_t i = 0; i < info.entry_count; ++i) {
    auto function =
        readStruct<bp_native_function_t>(&info.functions[i]->header);
    auto entry = readStruct<bp_entry_t>(&info.entries[i]->header);
    if (!function.launch)
      return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                  "a native kernel has no function that takes a stream");
    EntryPoint made;
    made.bindings = entry.binding_count;
    made.workspaceBytes = entry.workspace_bytes;
    made.launch = function.launch;
    made.self = function.self;
    out.entries.push_back(made);
  }
  return BP_STATUS_OK;
}

void unload(bp_device_t *device, bp_executable_t *executable) {
  Current current(of(*device));
  if (executable->module)
    of(*device).cuda.cuModuleUnload(executable->module);
  delete executable;
}

bp_status_t load(bp_device_t *opened, const bp_executable_info_t *info,
                 bp_executable_t **out, bp_error_t *error) {
  Device &device = of(*opened);
  const Driver &driver = device.driver;
  std::string format(formatOf(*info));
  const bool isNative = format == "native";
  if (!isNative && format != "ptx" &&
      (format != "cubin" || device.physical.emulated))
    return fail(driver, error, BP_STATUS_INVALID_ARGUMENT,
                "this device loads executables of the formats ptx" +
                    std::string(device.physical.emulated ? "" : ", cubin") +
                    " and native, not of \"" + format + "\"");
  auto *executable = new (std::nothrow) bp_executable_t;
  if (!executable)
    return outOfMemory(driver, error);
  bp_status_t status;
  {
    Current current(device);
    status = isNative ? loadNative(driver, *info, *executable, error)
                      : Loader(device, *info, *executable, error).run();
  }
  if (status == BP_STATUS_OK)
    *out = executable;
  else
    unload(opened, executable);
  return status;
}

} // namespace

const bp_executable_table_t executableTable = {BP_HEADER(bp_executable_table_t),
                                               load, unload};

} // namespace backplane::cuda
