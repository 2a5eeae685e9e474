// SPDX-License-Identifier: Apache-2.0
//
// ClassesPlugin.h: the plug-in of plugins/Classes.cpp and calls of its members.
#ifndef BACKPLANE_CORE_TEST_CLASSESPLUGIN_H
#define BACKPLANE_CORE_TEST_CLASSESPLUGIN_H

#include "hal/core/Error.h"
#include "hal/core/Host.h"
#include "sdk/graph/GraphTable.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace backplane {

/// A library of plugins/Classes.cpp, initialised with options.
class Loaded {
public:
  explicit Loaded(std::string_view thrower = "", std::string_view what = "",
                  const char *library = BP_CLASSES_PLUGIN) {
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    auto query = reinterpret_cast<bp_plugin_query_t>(
        dlsym(handle, BP_PLUGIN_QUERY_SYMBOL));
    info.header = BP_HEADER(bp_plugin_info_t);
    const bp_host_info_t hostInfo = {
        BP_HEADER(bp_host_info_t), 1, BP_ABI_MINOR, {}};
    EXPECT_EQ(query(&hostInfo, &info), BP_STATUS_OK);
    const bp_option_t items[] = {{toC("throw"), toC(thrower)},
                                 {toC("what"), toC(what)}};
    const bp_options_t options = {items, what.empty() ? 1u : 2u};
    status = info.plugin->initialize(&table, &options, &self, &error);
  }
  ~Loaded() {
    if (status == BP_STATUS_OK)
      info.plugin->shutdown(self);
  }
  Loaded(const Loaded &) = delete;
  Loaded &operator=(const Loaded &) = delete;

  bp_device_t *open() {
    bp_device_t *device = nullptr;
    info.driver->open(self, toC("one"), &none, &device, &error);
    return device;
  }

  Host host{HostOptions{.threads = 2, .graphTable = graphTable()}};
  bp_host_t table = host.table(BP_ABI_MINOR);
  bp_plugin_info_t info = {};
  bp_options_t none = {};
  bp_error_t error;
  void *self = nullptr;
  bp_status_t status = BP_STATUS_UNKNOWN;
};

/// One product, which the caller closes.
bp_graph_t *smallGraph();

/// Calls a member and what it needs; gives its status.
bp_status_t call(Loaded &loaded, const std::string &member);

} // namespace backplane

#endif // BACKPLANE_CORE_TEST_CLASSESPLUGIN_H
