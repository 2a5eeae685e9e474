// SPDX-License-Identifier: Apache-2.0
//
// AbiDevices.cpp: listing and opening devices.
#include "Groups.h"
#include "Work.h"

#include <algorithm>
#include <set>

namespace backplane::checks {
namespace {

/// Devices as the driver lists them, copied while the sink runs.
struct Listing {
  std::vector<std::shared_ptr<const DeviceInfo>> devices;
  Status failure;
  bp_status_t answer = BP_STATUS_OK; ///< of put
  unsigned calls = 0;
  uint32_t flags = 0; ///< of all devices, also those that no header has
  std::string excess; ///< a limit that no header allows; copies are cut to it

  void noteExcess(const bp_device_info_t &info) {
    auto note = [&](const char *limit, uint64_t value, uint64_t most) {
      if (value > most)
        excess = std::string(limit) + " is " + std::to_string(value) +
                 ", above " + std::to_string(most);
    };
    if (BP_HAS(&info, bp_device_info_t, max_constants))
      note("max_constants", info.max_constants, BP_MAX_CONSTANTS);
    if (BP_HAS(&info, bp_device_info_t, max_parameters))
      note("max_parameters", info.max_parameters, BP_MAX_PARAMETERS);
    if (BP_HAS(&info, bp_device_info_t, max_driver_data))
      note("max_driver_data", info.max_driver_data, BP_MAX_DRIVER_DATA);
  }

  bp_status_t enumerate(Fixture &fixture, const bp_options_t &options,
                        bp_error_t *error = nullptr) {
    bp_device_sink_t sink = {};
    sink.context = this;
    sink.put = [](void *context, const bp_device_info_t *from) {
      auto &listing = *static_cast<Listing *>(context);
      ++listing.calls;
      auto info = DeviceInfo::copy(from);
      if (info && BP_HAS(from, bp_device_info_t, flags))
        listing.flags |= from->flags;
      if (info)
        listing.noteExcess(*from);
      if (info)
        listing.devices.push_back(*info);
      else
        listing.failure = info.status();
      return listing.answer;
    };
    return fixture.tables().driver.enumerate(fixture.self(), &options, &sink,
                                             error);
  }
};

Listing list(Fixture &fixture) {
  Listing listing;
  if (fixture.good())
    fixture.trial().expect(listing.enumerate(fixture, {}) == BP_STATUS_OK,
                           "enumerate failed");
  fixture.trial().expectOk(listing.failure, "enumerate");
  return listing;
}

void forEach(Trial &trial,
             const std::function<void(const bp_device_info_t &)> &look) {
  Fixture fixture(trial);
  for (const auto &device : list(fixture).devices)
    look(device->c());
}

void ids(Trial &trial) {
  std::set<std::string> seen;
  forEach(trial, [&](const bp_device_info_t &info) {
    std::string id(view(info.id));
    trial.expect(seen.insert(id).second, "the id '" + id + "' is listed twice");
    trial.expect(id.find_first_of(" ?#%&=") == std::string::npos,
                 "the id '" + id + "' cannot be part of a device URI");
    trial.expect(id.find_first_not_of("0123456789") != std::string::npos,
                 "the id '" + id + "' is a number, as ordinals are");
  });
}

void stable(Trial &trial) {
  auto idsOf = [](Fixture &fixture) {
    std::vector<std::string> ids;
    for (const auto &device : list(fixture).devices)
      ids.emplace_back(device->id());
    return ids;
  };
  Fixture first(trial), second(trial);
  auto expected = idsOf(first);
  trial.expect(idsOf(first) == expected && idsOf(second) == expected,
               "enumerate lists other devices the second time");
}

void kinds(Trial &trial) {
  forEach(trial, [&](const bp_device_info_t &info) {
    trial.expect(
        info.kind >= BP_DEVICE_KIND_CPU && info.kind <= BP_DEVICE_KIND_OTHER,
        "the device kind " + std::to_string(info.kind) + " is unknown");
    trial.expect(info.name.size > 0, "the device has no name for people");
  });
  constexpr uint32_t known = BP_DEVICE_EMULATED | BP_DEVICE_UNIFIED_MEMORY |
                             BP_DEVICE_SYNCHRONOUS | BP_DEVICE_DISCRETE;
  constexpr uint32_t contrary = BP_DEVICE_UNIFIED_MEMORY | BP_DEVICE_DISCRETE;
  Fixture fixture(trial);
  uint32_t flags = list(fixture).flags;
  trial.expect(!(flags & ~known), "a device has unknown flags");
  trial.expect((flags & contrary) != contrary,
               "a device says that host and kernels see the same memory, and "
               "that kernels reach that of the host over a bus");
}

void formats(Trial &trial) {
  forEach(trial, [&](const bp_device_info_t &info) {
    if (info.refusal.size)
      return;
    trial.expect(info.format_count > 0,
                 "a usable device lists no format of executables");
    std::set<std::string> seen;
    for (uint64_t i = 0; i < info.format_count; ++i)
      trial.expect(seen.insert(std::string(view(info.formats[i]))).second &&
                       info.formats[i].size > 0,
                   "the list of formats has an empty or repeated name");
  });
}

void features(Trial &trial) {
  forEach(trial, [&](const bp_device_info_t &info) {
    std::set<std::string> seen;
    for (uint64_t i = 0; i < info.feature_count; ++i)
      trial.expect(seen.insert(std::string(view(info.features[i]))).second &&
                       info.features[i].size > 0,
                   "the list of features has an empty or repeated name");
  });
}

void limits(Trial &trial) {
  Fixture fixture(trial);
  Listing listing = list(fixture);
  trial.expect(listing.excess.empty(), listing.excess);
  forEach(trial, [&](const bp_device_info_t &info) {
    uint64_t align = info.binding_alignment;
    trial.expect(align && !(align & (align - 1)) && align <= 256,
                 "binding_alignment is " + std::to_string(align) +
                     ", not a power of two up to 256");
    trial.expect(info.max_bindings >= 2,
                 "max_bindings does not allow an input and an output");
    trial.expect(!info.max_buffer_size ||
                     info.max_binding_range <= info.max_buffer_size,
                 "max_binding_range is above max_buffer_size");
  });
}

void cpuFeatures(Trial &trial) {
  forEach(trial, [&](const bp_device_info_t &info) {
    std::string known = "," + std::string(view(CpuInfo::detect().c().features));
    // A software renderer has features of an API, not of the CPU.
    bool runsCode = info.kind == BP_DEVICE_KIND_CPU && info.format_count &&
                    view(info.formats[0]).starts_with("elf-");
    for (uint64_t i = 0; i < info.feature_count; ++i) {
      std::string name(view(info.features[i]));
      bool real = (known + ",").find("," + name + ",") != std::string::npos;
      trial.expect(!runsCode || real || (info.flags & BP_DEVICE_EMULATED),
                   "the device lists the feature '" + name +
                       "', which this CPU does not have");
    }
  });
}

void sinkFails(Trial &trial, bp_status_t answer) {
  Fixture fixture(trial);
  Listing listing;
  listing.answer = answer;
  if (!fixture.good())
    return;
  bp_error_t error;
  bp_status_t status = listing.enumerate(fixture, {}, &error);
  trial.expect(status == answer,
               "the sink of enumerate answered " + std::to_string(answer) +
                   ", enumerate gave " + std::to_string(status));
  trial.expect(listing.calls == 1,
               "enumerate went on after its sink had failed");
}

void listUnknownOption(Trial &trial, bool wantsReason) {
  Fixture fixture(trial);
  if (!fixture.good())
    return;
  bp_option_t option = {toC("no_such_option"), toC("yes")};
  bp_error_t error;
  Listing listing;
  bp_status_t status =
      listing.enumerate(fixture, {&option, 1}, wantsReason ? &error : nullptr);
  trial.expect(status == BP_STATUS_INVALID_ARGUMENT,
               "enumerate with an unknown option gave status " +
                   std::to_string(status));
  if (wantsReason)
    trial.expect(error.message.find("no_such_option") != std::string::npos,
                 "enumerate does not name the option that it refuses");
}

// ---- Opening ----

void openUnknown(Trial &trial, const std::string &id, bool wantsReason) {
  Fixture fixture(trial);
  if (!fixture.good())
    return;
  bp_device_t *device = nullptr;
  bp_options_t none = {};
  bp_error_t error;
  bp_status_t status = fixture.tables().driver.open(
      fixture.self(), toC(id), &none, &device, wantsReason ? &error : nullptr);
  if (status == BP_STATUS_OK)
    fixture.tables().driver.close(device);
  trial.expect(status == BP_STATUS_NOT_FOUND,
               "open of a device that is not listed gave status " +
                   std::to_string(status));
  if (wantsReason)
    trial.expect(!error.message.empty(), "open failed without a message");
}

void openUnknownOption(Trial &trial) {
  Fixture fixture(trial);
  if (!fixture.good())
    return;
  bp_option_t option = {toC("no_such_option"), toC("")};
  bp_options_t options = {&option, 1};
  bp_device_t *device = nullptr;
  Status status = callPlugin(
      "open", fixture.tables().driver.open, fixture.self(), fixture.info().id,
      static_cast<const bp_options_t *>(&options), &device);
  if (status.ok())
    fixture.tables().driver.close(device);
  trial.expect(status.code() == BP_STATUS_INVALID_ARGUMENT &&
                   status.message().find("no_such_option") != std::string::npos,
               "open does not refuse an unknown option by name: " +
                   status.message());
}

/// Opens the device of a fixture once more.
class Opened {
public:
  explicit Opened(Fixture &fixture) : fixture_(fixture) {
    bp_options_t none = {fixture.options().data(), fixture.options().size()};
    exists_ = fixture.good() &&
              fixture.take(callPlugin("open", fixture.tables().driver.open,
                                      fixture.self(), fixture.info().id, &none,
                                      &device_),
                           "open");
  }
  ~Opened() {
    if (exists_)
      fixture_.tables().driver.close(device_);
  }

private:
  Fixture &fixture_;
  bp_device_t *device_ = nullptr;
  bool exists_;
};

void openAgain(Trial &trial, int times) {
  Fixture fixture(trial);
  for (int i = 0; i < times && trial.ok(); ++i)
    Opened device(fixture);
}

/// A second open device must not disturb the first.
void openTwice(Trial &trial) {
  Fixture fixture(trial);
  Buffer buffer(fixture, 500);
  buffer.fill(3);
  {
    Opened one(fixture), two(fixture);
    buffer.expect("memory of the first device");
  }
  Queue queue(fixture);
  queue.run(Commands().fill(buffer, 10, 20, 0x77, 1));
  buffer.expect("memory of the first device, the second one closed");
}

/// The id need not outlive the call, nor be terminated.
void idNotKept(Trial &trial) {
  Fixture fixture(trial);
  if (!fixture.good())
    return;
  std::string id = std::string(view(fixture.info().id)) + "tail";
  bp_string_t text = {id.data(), id.size() - 4};
  bp_options_t none = {fixture.options().data(), fixture.options().size()};
  bp_device_t *device = nullptr;
  bool opened = fixture.take(
      callPlugin("open", fixture.tables().driver.open, fixture.self(), text,
                 static_cast<const bp_options_t *>(&none), &device),
      "open with an id that is not terminated");
  id.assign(id.size(), '#');
  if (opened)
    fixture.tables().driver.close(device);
}

void addOpen(Checks &all) {
  Group group(all, "L0/open",
              "open takes the ids that enumerate lists and refuses others with "
              "a reason.");
  group.add("unknown-id", Depth::Smoke, openUnknown, "no-such-device", true);
  group.add("unknown-id-no-error", openUnknown, "no-such-device", false);
  group.add("empty-id", openUnknown, "", true);
  group.add("long-id", [](Trial &trial) {
    openUnknown(trial, std::string(100000, 'd'), true);
  });
  group.add("format-characters-in-id", openUnknown, "%s%n%99999d", true);
  group.add("unknown-option", openUnknownOption);
  group.add("100-times", openAgain, 100);
  group.add("twice-at-once", openTwice);
  group.add("id-not-terminated", idNotKept);
}

} // namespace

void addDevices(Checks &all) {
  Group group(all, "L0/devices",
              "enumerate lists devices that are described completely, the same "
              "ones every time.");
  group.add("ids", Depth::Smoke, ids);
  group.add("stable", stable);
  group.add("kinds", kinds);
  group.add("formats", Depth::Smoke, formats);
  group.add("features", features);
  group.add("features-of-the-cpu", cpuFeatures);
  group.add("limits", limits);
  group.add("sink-cancels", sinkFails, BP_STATUS_CANCELLED);
  group.add("sink-exhausted", sinkFails, BP_STATUS_RESOURCE_EXHAUSTED);
  group.add("unknown-option", listUnknownOption, true);
  group.add("unknown-option-no-error", listUnknownOption, false);
  addOpen(all);
}

} // namespace backplane::checks
