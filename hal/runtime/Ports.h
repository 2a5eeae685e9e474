// SPDX-License-Identifier: Apache-2.0
//
// Ports.h: how the host memory of inputs and outputs becomes device memory: in
// place where the device can use it, else through staging copies.
#ifndef BACKPLANE_RUNTIME_PORTS_H
#define BACKPLANE_RUNTIME_PORTS_H

#include "Memory.h"

namespace backplane::rt {

/// The memory of one input or output during one call.
struct PortMemory {
  std::shared_ptr<Buffer> buffer;
  uint64_t offset = 0; ///< of its first byte in the buffer
  bool staged = false;
  // Of a staged output: where its bytes go when the call is done.
  void *target = nullptr;
  uint64_t bytes = 0;
};

/// Not thread-safe.
class PortBinder {
public:
  /// `nothing` stands in for tensors without bytes.
  PortBinder(std::shared_ptr<Device> device, std::shared_ptr<Budget> budget,
             std::shared_ptr<Buffer> nothing, size_t portCount);

  /// Gives port `port` the memory of a tensor. The memory must stay valid until
  /// release.
  Status bindInput(size_t port, void *data, uint64_t bytes, PortMemory &memory);
  Status bindOutput(size_t port, void *data, uint64_t bytes,
                    PortMemory &memory);
  /// The call that used the memory is done.
  void release(PortMemory &memory);

private:
  struct Import {
    void *data = nullptr;
    uint64_t bytes = 0;
    std::shared_ptr<Buffer> buffer;
  };
  std::shared_ptr<Buffer> import(size_t port, void *data, uint64_t bytes,
                                 bool readOnly);
  Result<std::shared_ptr<Buffer>> stage(uint64_t bytes);

  std::shared_ptr<Device> device_;
  std::shared_ptr<Budget> budget_;
  std::shared_ptr<Buffer> nothing_;
  bool usesImports_;  ///< memory of the application, as it is
  bool keepsImports_; ///< beyond a call
  static constexpr size_t importsPerPort = 4;
  std::vector<Import> imports_; ///< importsPerPort for each port
  std::vector<uint8_t> next_;   ///< which import of a port to replace
  std::vector<std::shared_ptr<Buffer>> idleStaging_;
};

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_PORTS_H
