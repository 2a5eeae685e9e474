// SPDX-License-Identifier: Apache-2.0
//
// A compiler whose optional members have the wrong parameters: it must not
// compile, and say which.
#include <backplane/cpp/Compiler.h>

using namespace backplane;
using namespace backplane::plugin;

struct Wrong {
  static constexpr Description description = {
      .name = "wrong", .vendor = "test", .version = "1.0.0"};
  Status targets(TargetSink) { return {}; }
  Claim claim(GraphView) { return {}; }
};

int32_t query(bp_plugin_info_t *out) {
  return Library<Wrong>::query(nullptr, out);
}
