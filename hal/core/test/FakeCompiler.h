// SPDX-License-Identifier: Apache-2.0
//
// FakeCompiler.h: a compiler plug-in that hands over whatever a test made.
#ifndef BACKPLANE_CORE_TEST_FAKECOMPILER_H
#define BACKPLANE_CORE_TEST_FAKECOMPILER_H

#include "Cut.h"
#include "hal/core/CompilerCalls.h"

#include <cstddef>

namespace backplane {

struct FakeCompiler {
  const bp_target_t *target = nullptr;
  const bp_compiled_t *compiled = nullptr;
  uint64_t claimBytes = sizeof(bp_claim_t);

  static FakeCompiler &of(void *self) {
    return *static_cast<FakeCompiler *>(self);
  }
  static bp_status_t targets(void *self, const bp_target_sink_t *sink,
                             bp_error_t *) {
    return sink->put(sink->context, of(self).target);
  }
  static bp_status_t compile(void *self, const bp_compile_request_t *,
                             const bp_compiled_sink_t *sink, bp_error_t *) {
    return sink->put(sink->context, of(self).compiled);
  }
  /// Writes as many bytes as the struct of some other version has.
  static bp_status_t claim(void *self, bp_string_t, const bp_graph_t *,
                           const bp_graph_table_t *, bp_claim_t *out,
                           bp_error_t *) {
    auto *bytes = reinterpret_cast<uint8_t *>(out);
    std::memset(bytes + offsetof(bp_claim_t, supported), 0,
                of(self).claimBytes - offsetof(bp_claim_t, supported));
    out->supported = 1;
    return BP_STATUS_OK;
  }

  CompilerPlugin plugin() {
    table.targets = targets;
    table.compile = compile;
    table.claim = claim;
    return {"fake", "1.0.0", "", &table, this};
  }
  bp_compiler_table_t table = {BP_HEADER(bp_compiler_table_t)};
};

} // namespace backplane

#endif // BACKPLANE_CORE_TEST_FAKECOMPILER_H
