// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a line of records.jsonl, as run.json and as a mustpass list;
// what is taken is written and read again.
#include "conformance/report/Verdict.h"
#include "conformance/runner/Mustpass.h"

using namespace backplane;
using namespace backplane::conformance;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  if (auto record = parseRecord(text)) {
    auto again = parseRecord(toJson(*record));
    if (!again || toJson(*again) != toJson(*record))
      __builtin_trap();
  }
  if (auto facts = parseFacts(text)) {
    auto again = parseFacts(toJson(*facts));
    if (!again || !differenceOf(*facts, *again).empty())
      __builtin_trap();
    std::vector<Record> none;
    (void)judgeRun(*facts, none, {}, {});
  }
  (void)parseMustpass(text);
  return 0;
}
