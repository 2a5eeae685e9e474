// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a file of waivers; what is taken is applied to records.
#include "conformance/report/Waivers.h"

using namespace backplane;
using namespace backplane::conformance;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const Date day = *parseDate("2026-11-21");
  auto waivers =
      parseWaivers({reinterpret_cast<const char *>(data), size}, day);
  if (!waivers)
    return 0;
  RunFacts facts;
  facts.suite = "0.2.0";
  facts.device = "acme://0";
  std::vector<Record> records(3);
  const char *ids[] = {"L3/exp/f32/n/special", "L3/exp/f64/n/special",
                       "L1/copy/small"};
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].id = ids[i];
    records[i].layer = i == 2 ? 1 : 3;
    records[i].status = i == 1 ? CaseStatus::Pass : CaseStatus::Fail;
  }
  (void)applyWaivers(*waivers, facts, day, true, records);
  return records[2].status == CaseStatus::Waived ? __builtin_trap(), 0 : 0;
}
