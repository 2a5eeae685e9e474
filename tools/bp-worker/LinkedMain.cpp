// SPDX-License-Identifier: Apache-2.0
//
// LinkedMain.cpp: the plug-ins of the static worker, named before main starts.
// Each was compiled with a query function of its own name.
#include "hal/core/LinkedPlugins.h"

extern "C" {
int32_t bp_plugin_query_v0_host(const bp_host_info_t *host,
                                bp_plugin_info_t *out);
int32_t bp_plugin_query_v0_arm(const bp_host_info_t *host,
                               bp_plugin_info_t *out);
}

namespace backplane {
namespace {

constexpr LinkedPlugin plugins[] = {
    {.name = "host", .query = bp_plugin_query_v0_host, .driver = true},
    {.name = "arm", .query = bp_plugin_query_v0_arm, .compiler = true},
};

struct Linking {
  Linking() noexcept { setLinkedPlugins(plugins); }
} linking;

} // namespace
} // namespace backplane
