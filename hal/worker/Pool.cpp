// SPDX-License-Identifier: Apache-2.0
#include "Pool.h"
#include "hal/core/DeviceUri.h"
#include "sdk/support/TextViews.h"

namespace backplane::worker {

Result<std::shared_ptr<Client>> Pool::client(const RemoteUri &uri) {
  std::lock_guard lock(mutex_);
  std::string key = uri.worker + "/" + uri.devices();
  std::shared_ptr<Client> &client = clients_[key];
  if (client && !client->lost())
    return client;
  client.reset();
  Result<NamedWorker> worker = findWorker(uri.worker, file_, trust_);
  if (!worker)
    return worker.status();
  Result<std::shared_ptr<Client>> started =
      Client::start(*worker, {"--device", uri.devices(), "--cache", "auto"});
  if (started)
    client = *started;
  return started;
}

Result<std::vector<WireDevice>> Pool::devices(const std::string &name) {
  std::lock_guard lock(mutex_);
  if (auto found = devices_.find(name); found != devices_.end())
    return found->second;
  Result<NamedWorker> worker = findWorker(name, file_, trust_);
  if (!worker)
    return worker.status();
  auto client = Client::start(*worker, {"--list"});
  if (!client)
    return client.status();
  return devices_[name] = (*client)->hello().devices;
}

Result<WireDevice> Pool::device(const RemoteUri &uri) {
  Result<std::vector<WireDevice>> all = devices(uri.worker);
  if (!all)
    return all.status();
  Result<DeviceUri> wanted = DeviceUri::parse(uri.device);
  if (!wanted)
    return wanted.status();
  std::string list;
  for (WireDevice &device : *all) {
    bool usable = !device.id.empty() && device.refusal.empty();
    bool same = device.uri.starts_with(wanted->driver + "://") &&
                (wanted->id.empty() || wanted->id == device.id);
    if (usable && same)
      return std::move(device);
    if (usable)
      list += (list.empty() ? "" : ", ") + device.uri;
    else if (same || device.plugin == wanted->driver)
      list += (list.empty() ? "" : ", ") + wanted->driver +
              " (refused: " + device.refusal + ")";
  }
  return notFound("worker '" + uri.worker + "' has no device '" + uri.device +
                  "'; it has " + (list.empty() ? "none" : list));
}

Result<std::shared_ptr<const DeviceInfo>> deviceInfo(const WireDevice &device) {
  if (device.id.empty())
    return std::shared_ptr<const DeviceInfo>();
  std::vector<bp_string_t> formats = asC(device.formats),
                           features = asC(device.features);
  std::vector<bp_property_t> properties;
  for (const WireProperty &p : device.properties)
    properties.push_back({toC(p.key), p.kind, uint32_t(p.i64s.size()), p.i64,
                          p.f64, toC(p.text), p.i64s.data()});
  bp_device_info_t info = {BP_HEADER(bp_device_info_t)};
  info.id = toC(device.id);
  info.name = toC(device.name);
  info.identity = toC(device.identity);
  info.refusal = toC(device.refusal);
  info.kind = device.kind;
  info.flags = device.flags;
  info.formats = formats.data();
  info.format_count = formats.size();
  info.features = features.data();
  info.feature_count = features.size();
  info.max_buffer_size = device.maxBufferSize;
  info.max_binding_range = device.maxBindingRange;
  info.binding_alignment = device.bindingAlignment;
  info.memory_bytes = device.memoryBytes;
  info.max_bindings = device.maxBindings;
  info.max_constants = device.maxConstants;
  for (size_t i = 0; i < std::size(info.max_grid); ++i)
    info.max_grid[i] = device.maxGrid[i];
  info.worker_count = device.workerCount;
  info.properties = properties.data();
  info.property_count = properties.size();
  return DeviceInfo::copy(&info);
}

Result<RemoteDevice> findDevice(Pool &pool, std::string_view text) {
  Result<RemoteUri> uri = RemoteUri::parse(text);
  if (!uri)
    return uri.status();
  Result<WireDevice> line = pool.device(*uri);
  if (!line)
    return line.status();
  auto info = deviceInfo(*line);
  if (!info)
    return info.status().within("worker '" + uri->worker + "'");
  return RemoteDevice{std::move(*uri), std::move(*line), std::move(*info)};
}

} // namespace backplane::worker
