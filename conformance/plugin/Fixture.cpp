// SPDX-License-Identifier: Apache-2.0
#include "Fixture.h"
#include "hal/core/PickDevice.h"

namespace backplane::checks {

bool readTables(Trial &trial, const bp_plugin_info_t &info,
                bp_plugin_table_t &plugin, DriverTables &driver) {
  return trial.expectOk(copyPluginTable(info.plugin, plugin), "query") &&
         trial.expectOk(copyDriverTables(info, driver), "query");
}

Fixture::Fixture(Trial &trial, const HostPlan &plan, Mode mode)
    : trial_(trial), host_(plan), mode_(mode), library_(trial) {
  if (trial.ok())
    readTables(trial, library_.info(), plugin_, tables_);
  for (const auto &[key, value] : trial.tested().options)
    options_.push_back({toC(key), toC(value)});
}

Fixture::Fixture(Trial &trial, const HostPlan &plan)
    : Fixture(trial, plan, Mode::Strict) {
  start();
}

Fixture::~Fixture() { close(); }

bool Fixture::good() const {
  std::lock_guard lock(mutex_);
  return failure_.ok() && trial_.ok();
}

Status Fixture::failure() const {
  std::lock_guard lock(mutex_);
  return failure_;
}

void Fixture::forgive() {
  std::lock_guard lock(mutex_);
  failure_ = {};
}

bool Fixture::take(const Status &status, const std::string &what) {
  if (status.ok())
    return true;
  if (mode_ == Mode::Strict || status.code() != BP_STATUS_RESOURCE_EXHAUSTED) {
    trial_.fail(what + ": " + status.message());
    return false;
  }
  std::lock_guard lock(mutex_);
  failure_ = status;
  return false;
}

void Fixture::initialize() {
  bp_options_t none = {};
  initialized_ = take(callPlugin("initialize", plugin_.initialize,
                                 host_.table(), &none, &self_),
                      "initialize");
}

void Fixture::findTables() {
  auto table = [&](std::string_view name) {
    PluginCall call("get_table");
    return plugin_.get_table(self_, toC(name), 0);
  };
  std::string warning;
  copyOptionalTables(table("backplane.memory2"), table("backplane.semaphore"),
                     table("backplane.command_buffer"), tables_, &warning);
  trial_.expect(warning.empty(), warning);
}

void Fixture::enumerate() {
  DeviceInfos infos;
  bp_device_sink_t sink = {};
  sink.context = &infos;
  sink.put = [](void *context, const bp_device_info_t *from) {
    static_cast<DeviceInfos *>(context)->push_back(DeviceInfo::copy(from));
    return bp_status_t(BP_STATUS_OK);
  };
  bp_options_t options = {options_.data(), options_.size()};
  if (!take(callPlugin("enumerate", tables_.driver.enumerate, self_, &options,
                       &sink),
            "enumerate"))
    return;
  for (const auto &info : infos)
    if (!info && !trial_.expectOk(info.status(), "enumerate"))
      return;
  auto found =
      pickDevice({trial_.tested().name, trial_.tested().device, {}}, infos);
  if (trial_.expectOk(found.status(), "enumerate"))
    info_ = *found;
}

void Fixture::open() {
  bp_options_t options = {options_.data(), options_.size()};
  opened_ = take(callPlugin("open", tables_.driver.open, self_, info_->c().id,
                            &options, &device_),
                 "open");
}

void Fixture::start() {
  for (auto step : {&Fixture::initialize, &Fixture::findTables,
                    &Fixture::enumerate, &Fixture::open})
    if (good())
      (this->*step)();
}

void Fixture::close() {
  if (opened_)
    callPluginVoid("close", tables_.driver.close, device_);
  opened_ = false;
  if (!initialized_)
    return;
  host_.finishPosts();
  callPluginVoid("shutdown", plugin_.shutdown, self_);
  initialized_ = false;
  host_.close();
  trial_.expect(host_.complaint().empty(), host_.complaint());
  trial_.expect(host_.liveBlocks() == 0,
                "shutdown leaves " + std::to_string(host_.liveBlocks()) +
                    " blocks of host memory, " +
                    std::to_string(host_.liveBytes()) + " bytes");
}

} // namespace backplane::checks
