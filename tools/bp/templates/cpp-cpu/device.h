// SPDX-License-Identifier: Apache-2.0
//
// device.h: the device as the host sees it, whose members driver.cpp defines.
#ifndef DEVICE_H
#define DEVICE_H

#include <backplane/cpp/Driver.h>

using namespace backplane;
using namespace backplane::plugin;

inline constexpr std::string_view deviceId = "cpu0";

struct Instruction;

class Device {
public:
  using Buffer = HostMemory;
  struct Executable {
    const Instruction *instruction;
  };
  struct Queue {
    Host host;
    Status run(Commands commands);
  };

  explicit Device(Host host) : host_(host) {}
  Result<std::unique_ptr<Buffer>> allocate(uint32_t space, uint64_t size,
                                           uint64_t alignment);
  Status write(Buffer &buffer, uint64_t offset,
               std::span<const std::byte> data);
  Status read(Buffer &buffer, uint64_t offset, std::span<std::byte> data);
  Result<std::unique_ptr<Executable>> load(const bp_executable_info_t &info);
  Result<std::unique_ptr<Queue>> createQueue(uint32_t queueClass);

private:
  Host host_;
};

#endif // DEVICE_H
