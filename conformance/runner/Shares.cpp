// SPDX-License-Identifier: Apache-2.0
#include "Shares.h"

#include "sdk/package/Artifact.h"

using namespace backplane;
using namespace backplane::conformance;

static void count(const Program &from, const VariantInfo &variant,
                  Shares &shares) {
  for (const program::Command &command : from.commands)
    if (const auto *dispatch = std::get_if<program::Dispatch>(&command)) {
      bool isOwn = variant.executables[dispatch->executable].device == 0;
      ++(isOwn ? shares.own : shares.others);
    }
}

Result<Shares> conformance::sharesOf(std::span<const uint8_t> artifact) {
  auto file = ArtifactFile::fromBytes(artifact, "the compiled unit");
  if (!file)
    return file.status();
  const std::vector<VariantInfo> &variants = (*file)->metadata().variants;
  if (variants.size() != 1)
    return internalError("the compiled unit has " +
                         std::to_string(variants.size()) + " variants");
  Shares shares;
  count(variants[0].program, variants[0], shares);
  for (const RegionInfo &region : variants[0].regions)
    count(region.program, variants[0], shares);
  return shares;
}

void conformance::chargeHelp(const Shares &shares, Record &record) {
  if (shares.others == 0 || !isGood(record.status))
    return;
  record.status = shares.own ? CaseStatus::Assisted : CaseStatus::Refused;
  record.reason = "another device runs " + std::to_string(shares.others) +
                  " of " + std::to_string(shares.own + shares.others) +
                  " dispatches";
}
