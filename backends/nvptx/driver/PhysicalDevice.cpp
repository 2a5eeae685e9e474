// SPDX-License-Identifier: Apache-2.0
#include "PhysicalDevice.h"

#include <cctype>

namespace backplane::cuda {
namespace {

/// Compute capability of the oldest devices that there are targets for.
constexpr int oldestSm = 80;

/// Asks one device; the first failure is its refusal.
class Inquiry {
public:
  Inquiry(const Cuda &cuda, PhysicalDevice &device)
      : cuda_(cuda), device_(device) {}

  void run(int ordinal);

private:
  void check(CUresult result) {
    if (result && device_.refusal.empty())
      device_.refusal = cuda_.describe(result);
  }
  int attribute(CUdevice_attribute which) {
    int value = 0;
    check(cuda_.cuDeviceGetAttribute(&value, which, device_.handle));
    return value;
  }
  void readName();
  void readPlace(int ordinal);
  void readLimits();

  const Cuda &cuda_;
  PhysicalDevice &device_;
};

void Inquiry::readName() {
  constexpr int nameBytes = 256;
  char name[nameBytes] = {};
  check(cuda_.cuDeviceGetName(name, nameBytes, device_.handle));
  device_.name = name;
}

/// "0000:01:00.0" in lower case, as others write it.
void Inquiry::readPlace(int ordinal) {
  constexpr int placeBytes = 32;
  char place[placeBytes] = {};
  if (device_.emulated ||
      cuda_.cuDeviceGetPCIBusId(place, placeBytes, device_.handle)) {
    device_.id = "device-" + std::to_string(ordinal);
    return;
  }
  std::string text = place;
  for (char &c : text)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  device_.id = "pci-" + text;
  device_.identity = "pci:" + text;
}

void Inquiry::readLimits() {
  constexpr int perMajor = 10;
  device_.sm =
      perMajor * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
      attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  device_.maxGroupThreads =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  device_.sharedBytes =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  device_.maxSharedBytes =
      attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  device_.maxGrid[0] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  device_.maxGrid[1] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  device_.maxGrid[2] = attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  device_.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
}

void Inquiry::run(int ordinal) {
  check(cuda_.cuDeviceGet(&device_.handle, ordinal));
  if (!device_.refusal.empty())
    return;
  readName();
  readPlace(ordinal);
  readLimits();
  size_t bytes = 0;
  check(cuda_.cuDeviceTotalMem(&bytes, device_.handle));
  device_.memoryBytes = bytes;
  if (device_.refusal.empty() && device_.sm < oldestSm)
    device_.refusal = "its compute capability is " +
                      std::to_string(device_.sm / 10) + "." +
                      std::to_string(device_.sm % 10) + "; 8.0 is needed";
}

/// Stands for the devices of a library that cannot be used.
PhysicalDevice refused(const char *id, const char *name, std::string reason) {
  PhysicalDevice device = {};
  device.id = id;
  device.name = name;
  device.refusal = std::move(reason);
  return device;
}

/// All devices of a library, those of `sm` alone if it is given.
std::vector<PhysicalDevice> devicesOf(const std::string &library, int sm,
                                      bool emulated, std::string *reason) {
  std::vector<PhysicalDevice> devices;
  const Cuda *cuda = Cuda::shared(library, reason);
  int count = 0;
  if (cuda)
    if (CUresult result = cuda->cuDeviceGetCount(&count))
      *reason = cuda->describe(result);
  for (int i = 0; i < count; ++i) {
    PhysicalDevice device = {};
    device.cuda = cuda;
    device.emulated = emulated;
    Inquiry(*cuda, device).run(i);
    if (!sm || device.sm == sm)
      devices.push_back(std::move(device));
  }
  if (devices.empty() && reason->empty())
    *reason = count && sm ? "no device has sm=" + std::to_string(sm)
                          : "it finds no device";
  return devices;
}

/// The first one that the emulator has of this architecture.
PhysicalDevice emulated(const Options &options) {
  std::string reason;
  auto devices = devicesOf(emulatorLibrary(), options.sm, true, &reason);
  if (devices.empty())
    return refused("emu", "emulated NVIDIA GPU", reason);
  devices.front().id = "emu";
  return devices.front();
}

} // namespace

std::vector<PhysicalDevice> describeAll(const Options &options) {
  std::string reason;
  if (!options.library.empty()) {
    auto devices = devicesOf(options.library, options.sm, true, &reason);
    if (devices.empty())
      devices.push_back(refused("none", "CUDA", reason));
    return devices;
  }
  auto devices = devicesOf(machineLibrary, options.sm, false, &reason);
  if (devices.empty())
    devices.push_back(refused("none", "CUDA", reason));
  devices.push_back(emulated(options));
  return devices;
}

} // namespace backplane::cuda
