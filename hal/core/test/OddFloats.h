// SPDX-License-Identifier: Apache-2.0
//
// OddFloats.h: a floating-point environment that no kernel expects: upward
// rounding, denormals flushed, invalid operations and divisions by zero trap.
#ifndef BACKPLANE_CORE_TEST_ODDFLOATS_H
#define BACKPLANE_CORE_TEST_ODDFLOATS_H

#include "hal/core/FloatScope.h"

namespace backplane::test {

/// Installs it while it lives.
class OddFloats {
public:
  OddFloats() { install(); }
  ~OddFloats() { kept_.install(); }
  OddFloats(const OddFloats &) = delete;
  OddFloats &operator=(const OddFloats &) = delete;

  static void install() {
    FloatState state;
#if defined(__x86_64__)
    // Up, both kinds of flushing, all masked but invalid and division.
    state.sse = 0x8040 | 0x4000 | (0x1F80 & ~0x280);
    state.x87Control = 0x0B3A; // up, 64 bits, the same masks
#elif defined(__aarch64__)
    state.control = 1u << 22 | 1u << 24; // up, flushing; few processors trap
#endif
    state.install();
  }

private:
  FloatState kept_ = FloatState::now();
};

} // namespace backplane::test

#endif // BACKPLANE_CORE_TEST_ODDFLOATS_H
