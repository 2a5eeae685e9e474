// SPDX-License-Identifier: Apache-2.0
//
// Phase.h: tells the host how long a phase of compiling took, for its trace.
#ifndef BACKPLANE_COMPILER_PHASE_H
#define BACKPLANE_COMPILER_PHASE_H

#include "sdk/compiler/Compile.h"

#include <ctime>

namespace backplane {

/// Lasts as long as this object. Without a listener it does nothing.
class Phase {
public:
  Phase(const CompileServices &services, std::string_view name)
      : services_(services) {
    if (!services_.phase)
      return;
    name_ = name;
    begin_ = now();
  }
  ~Phase() {
    if (services_.phase)
      services_.phase(name_, begin_, now());
  }
  Phase(const Phase &) = delete;
  Phase &operator=(const Phase &) = delete;

private:
  static uint64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
  }

  const CompileServices &services_;
  std::string name_;
  uint64_t begin_ = 0;
};

} // namespace backplane

#endif // BACKPLANE_COMPILER_PHASE_H
