// SPDX-License-Identifier: Apache-2.0
//
// plugin.cpp: how the host finds the plug-in. One library is driver, compiler
// and set of kernels; a large compiler belongs into a library of its own, which
// the manifest names.
#include "acme.h"

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
  return Library<Plugin>::query(host, out);
}
