// SPDX-License-Identifier: Apache-2.0
//
// ValueCall.h: calls whose tensors lie anywhere: in place where the session
// takes the memory, else copied through the host.
#ifndef BACKPLANE_API_VALUECALL_H
#define BACKPLANE_API_VALUECALL_H

#include "Handles.h"
#include "HostMemory.h"
#include "Strided.h"

namespace backplane::rt {

/// A tensor of an application, checked.
struct ValueTensor {
  bp_value_t value = {};
  std::shared_ptr<Buffer> buffer; ///< null: host memory
  uint64_t bytes = 0;             ///< dense
  uint64_t elementBytes = 0;      ///< 0: less than one

  /// Valid as long as the dims and strides of the application.
  Strided layout() const;
  bool dense() const { return elementBytes == 0 || layout().dense(); }
  /// Of host memory; null where there is none.
  uint8_t *data() const {
    return value.data ? static_cast<uint8_t *>(value.data) + value.byte_offset
                      : nullptr;
  }
  /// All elements, dense; from or to memory of `bytes`.
  Status read(uint8_t *to) const;
  Status write(const uint8_t *from) const;
};

/// Looks at everything but the data.
Result<ValueTensor> readTensor(const bp_value_t &value);

/// Starts a call; value.h says what inputs and outputs are.
Result<std::unique_ptr<AnyCall>>
beginValues(const std::shared_ptr<AnySession> &session,
            std::span<const bp_value_t *const> inputs,
            std::span<bp_value_t *const> outputs, bool callerWaits);

} // namespace backplane::rt

#endif // BACKPLANE_API_VALUECALL_H
