// SPDX-License-Identifier: Apache-2.0
//
// Fixture.h: a plug-in that was initialised by a watching host, and its device.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_FIXTURE_H
#define BACKPLANE_CONFORMANCE_PLUGIN_FIXTURE_H

#include "Library.h"
#include "TestHost.h"
#include "hal/core/DeviceInfo.h"
#include "hal/core/Error.h"
#include "hal/core/Tables.h"

#include <optional>

namespace backplane::checks {

/// The tables that a library gives, as the host copies them, without what only
/// `self` can give. Complains when they cannot be used.
bool readTables(Trial &trial, const bp_plugin_info_t &info,
                bp_plugin_table_t &plugin, DriverTables &driver);

/// Everything that uses it checks good() first, so that a check reads as if
/// nothing could fail. Thread-safe after start, but for close.
class Fixture {
public:
  /// Initialises the plug-in and opens the device of the tested.
  explicit Fixture(Trial &trial, const HostPlan &plan = {});
  /// Does so when start is called. A tolerant fixture takes it for an answer
  /// when memory is short: nothing is done from then on, and `failure` says
  /// why.
  enum class Mode { Strict, Tolerant };
  Fixture(Trial &trial, const HostPlan &plan, Mode mode);
  ~Fixture();
  Fixture(const Fixture &) = delete;
  Fixture &operator=(const Fixture &) = delete;

  void start();
  /// Closes the device, shuts the plug-in down and complains of what it leaves
  /// behind.
  void close();

  Trial &trial() const { return trial_; }
  TestHost &host() { return host_; }
  const DriverTables &tables() const { return tables_; }
  const bp_plugin_table_t &plugin() const { return plugin_; }
  void *self() const { return self_; }
  bp_device_t *device() const { return device_; }
  const bp_device_info_t &info() const { return info_->c(); }
  std::span<const bp_option_t> options() const { return options_; }
  /// How long to wait for what must come.
  uint64_t timeoutNs() const {
    return uint64_t(std::chrono::nanoseconds(trial_.tested().timeout).count());
  }

  bool good() const;
  Status failure() const;
  bool started() const { return opened_; }
  /// A tolerant fixture goes on after memory was short.
  void forgive();
  /// Whether `status` is a success; if not, it is complained about or, when
  /// the fixture is tolerant and memory short, kept.
  bool take(const Status &status, const std::string &what);

private:
  void initialize();
  void enumerate();
  void open();
  void findTables();

  Trial &trial_;
  TestHost host_;
  Mode mode_;
  Library library_;
  bp_plugin_table_t plugin_ = {};
  DriverTables tables_ = {};
  std::vector<bp_option_t> options_;
  void *self_ = nullptr;
  bp_device_t *device_ = nullptr;
  bool initialized_ = false, opened_ = false;
  std::shared_ptr<const DeviceInfo> info_;
  mutable std::mutex mutex_; ///< guards failure_
  Status failure_;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_FIXTURE_H
