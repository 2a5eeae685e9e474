// SPDX-License-Identifier: Apache-2.0
#include "Driver.h"

#include <ctime>

namespace backplane::gpu {

bp_status_t fail(const Driver &driver, bp_error_t *error, bp_status_t status,
                 std::string_view message) {
  return driver.host->error_set(driver.host->self, error, status, toC(message));
}

bp_status_t outOfMemory(const Driver &driver, bp_error_t *error) {
  return fail(driver, error, BP_STATUS_RESOURCE_EXHAUSTED, "out of memory");
}

bp_status_t lacks(const Driver &driver, bp_error_t *error,
                  const std::string &what) {
  return fail(driver, error, BP_STATUS_UNIMPLEMENTED,
              "the " + std::string(driver.name) + " driver " + what);
}

uint64_t hostNow() {
  constexpr uint64_t second = 1000000000u;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * second + uint64_t(now.tv_nsec);
}

} // namespace backplane::gpu
