// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a line of records.jsonl, as run.json and as a mustpass list,
// from a file; what is taken is written and read again.
#include "File.h"
#include "conformance/report/StrictJson.h"
#include "conformance/report/Verdict.h"
#include "conformance/runner/Mustpass.h"

using namespace backplane;
using namespace backplane::conformance;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static fuzz::File file;
  const std::string &path = file.with(data, size);
  auto text = readTextFile(path, size);
  if (!text || (size && readTextFile(path, size - 1)) ||
      readTextFile(path + "/absent", size))
    __builtin_trap();
  if (auto record = parseRecord(*text)) {
    auto again = parseRecord(toJson(*record));
    if (!again || toJson(*again) != toJson(*record))
      __builtin_trap();
  }
  if (auto facts = parseFacts(*text)) {
    auto again = parseFacts(toJson(*facts));
    if (!again || !differenceOf(*facts, *again).empty())
      __builtin_trap();
    std::vector<Record> none;
    (void)judgeRun(*facts, none, {}, {});
  }
  (void)parseMustpass(*text);
  return 0;
}
