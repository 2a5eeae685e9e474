// SPDX-License-Identifier: Apache-2.0
#include "conformance/publish/Html.h"

#include "conformance/publish/PageJson.h"

using namespace backplane;

namespace {

constexpr const char *page =
#include "conformance/publish/report.mustache.inc"
    ;

} // namespace

std::string conformance::reportHtml(const RunFacts &facts,
                                    const RunVerdict &verdict,
                                    const std::vector<Record> &records) {
  return render(page, pageJson(facts, verdict, records));
}
