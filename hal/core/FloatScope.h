// SPDX-License-Identifier: Apache-2.0
//
// FloatScope.h: the floating-point environment of a thread: rounding, flushing
// of denormals, exception masks and flags. Code of plug-ins runs in the default
// one, whatever the application has set, and leaves the application's as it
// was.
#ifndef BACKPLANE_CORE_FLOATSCOPE_H
#define BACKPLANE_CORE_FLOATSCOPE_H

#include <cstdint>
#include <cstring>

namespace backplane {

#if defined(__x86_64__)

/// The registers that hold it, read or about to be written.
struct FloatState {
  uint32_t sse = 0x1F80;       ///< control and flags
  uint16_t x87Control = 0x37F; ///< rounding, precision, masks
  uint16_t x87Flags = 0;

  static FloatState now() {
    FloatState state;
    uint16_t status;
    state.sse = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(state.x87Control));
    __asm__ volatile("fnstsw %0" : "=a"(status));
    state.x87Flags = status & x87FlagBits;
    return state;
  }
  /// Whether this thread computes in the default one; cheaper than now().
  static bool isDefault() {
    FloatState state;
    state.sse = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(state.x87Control));
    return state.controlsAs({});
  }
  /// Whether both compute alike; flags aside.
  bool controlsAs(const FloatState &other) const {
    return ((sse ^ other.sse) & ~sseFlagBits) == 0 &&
           x87Control == other.x87Control;
  }
  bool operator==(const FloatState &) const = default;

  /// The x87 part is rarely wanted, and an exception that it holds back must
  /// not be set free by new masks: all of it changes at once.
  void install() const {
    FloatState old = now();
    if (sse != old.sse)
      __builtin_ia32_ldmxcsr(sse);
    if (x87Control == old.x87Control && x87Flags == old.x87Flags)
      return;
    uint32_t unit[7]; // control, status, tags, addresses
    __asm__ volatile("fnstenv %0" : "=m"(unit));
    unit[0] = (unit[0] & 0xFFFF0000u) | x87Control;
    unit[1] = (unit[1] & ~uint32_t(x87FlagBits)) | x87Flags;
    __asm__ volatile("fldenv %0" : : "m"(unit));
  }

private:
  static constexpr uint32_t sseFlagBits = 0x3F;
  static constexpr uint16_t x87FlagBits = 0xFF; ///< with fault and summary
};

#elif defined(__aarch64__)

/// The registers that hold it, read or about to be written.
struct FloatState {
  uint64_t control = 0, flags = 0;

  static FloatState now() {
    FloatState state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state.control));
    __asm__ volatile("mrs %0, fpsr" : "=r"(state.flags));
    return state;
  }
  /// Whether this thread computes in the default one; cheaper than now().
  static bool isDefault() {
    FloatState state;
    __asm__ volatile("mrs %0, fpcr" : "=r"(state.control));
    return state.controlsAs({});
  }
  /// Whether both compute alike; flags aside.
  bool controlsAs(const FloatState &other) const {
    return control == other.control;
  }
  bool operator==(const FloatState &) const = default;

  void install() const {
    FloatState old = now();
    if (flags != old.flags)
      __asm__ volatile("msr fpsr, %0" : : "r"(flags));
    if (control != old.control)
      __asm__ volatile("msr fpcr, %0" : : "r"(control));
  }
};

#else
#error "the floating-point environment of this architecture is not known"
#endif

/// The default environment while it lives, then the one of before.
class FloatScope {
public:
  FloatScope() : kept_(FloatState::now()) {
    if (!kept_.controlsAs({}))
      FloatState().install();
  }
  ~FloatScope() { kept_.install(); }
  FloatScope(const FloatScope &) = delete;
  FloatScope &operator=(const FloatScope &) = delete;

  /// The default again, between two calls that share a scope.
  static void renew() {
    if (!FloatState::isDefault())
      FloatState().install();
  }

private:
  FloatState kept_;
};

} // namespace backplane

#endif // BACKPLANE_CORE_FLOATSCOPE_H
