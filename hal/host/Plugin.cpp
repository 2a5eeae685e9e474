// SPDX-License-Identifier: Apache-2.0
#include "Queue.h"

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
  using namespace backplane;
  return plugin::Library<host::Driver>::query(host, out);
}
