// SPDX-License-Identifier: Apache-2.0
//
// Executable.h: a loaded blob and the description of its entries.
#ifndef BACKPLANE_CORE_EXECUTABLE_H
#define BACKPLANE_CORE_EXECUTABLE_H

#include "backplane/cpp/Result.h"
#include "backplane/hal.h"
#include "sdk/program/Entry.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace backplane {

class Device;

/// Made by Device::load or loadNative; immutable.
class Executable {
public:
  ~Executable();
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;

  const std::vector<Entry> &entries() const { return entries_; }
  const Device &device() const { return *device_; }
  bp_executable_t *handle() const { return handle_; }

private:
  friend class Device;
  Executable(std::shared_ptr<Device> device, bp_executable_t *handle,
             std::vector<Entry> entries, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), device_(std::move(device)), handle_(handle),
        entries_(std::move(entries)) {}

  std::shared_ptr<const void> owner_; ///< of native functions

  std::shared_ptr<Device> device_;
  bp_executable_t *handle_;
  std::vector<Entry> entries_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_EXECUTABLE_H
