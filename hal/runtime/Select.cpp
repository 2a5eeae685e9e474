// SPDX-License-Identifier: Apache-2.0
#include "Select.h"
#include "Measure.h"
#include "sdk/package/Check.h"
#include "sdk/support/Error.h"

#include <algorithm>

namespace backplane::rt {
namespace {

/// What a chooser is shown of the candidates.
std::vector<bp_candidate_t> describe(const std::vector<Candidate> &all) {
  std::vector<bp_candidate_t> out;
  for (const Candidate &candidate : all) {
    bp_candidate_t c = {BP_HEADER(bp_candidate_t)};
    c.uri = toC(candidate.uri);
    c.target = toC(candidate.target);
    c.misfit = toC(candidate.refusal);
    c.info = candidate.info ? &candidate.info->c() : nullptr;
    c.variant = candidate.variant;
    c.rank = candidate.rank;
    out.push_back(c);
  }
  return out;
}

bp_status_t keepReason(void *context, bp_string_t text) {
  constexpr uint64_t maxBytes = 4096;
  if (text.size > maxBytes)
    return BP_STATUS_INVALID_ARGUMENT;
  *static_cast<std::string *>(context) = view(text);
  return BP_STATUS_OK;
}

/// Checks what a chooser answered, a list of distinct numbers that may run.
Status checkOrder(const std::vector<Candidate> &all,
                  std::span<const uint32_t> order) {
  std::vector<bool> seen(all.size());
  for (uint32_t number : order) {
    if (number >= all.size() || seen[number])
      return invalidArgument(
          "the chooser named candidate " + std::to_string(number) + " of " +
          std::to_string(all.size()) + ", or named it twice");
    if (!all[number].open())
      return invalidArgument("the chooser named candidate " +
                             std::to_string(number) + ", " +
                             all[number].target + " on " + all[number].uri +
                             ", which cannot run: " + all[number].refusal);
    seen[number] = true;
  }
  return {};
}

/// Puts the candidates into the chooser's order; those that it leaves out are
/// refused.
Status askChooser(const bp_chooser_t &chooser, Selection &selection) {
  std::vector<Candidate> &all = selection.candidates;
  std::vector<bp_candidate_t> c = describe(all);
  std::vector<const bp_candidate_t *> pointers;
  for (const bp_candidate_t &candidate : c)
    pointers.push_back(&candidate);
  std::vector<uint32_t> order(all.size());
  uint32_t given = 0;
  std::string reason;
  bp_string_sink_t sink = {&keepReason, &reason};
  bp_status_t code =
      chooser.choose(chooser.context, pointers.data(), uint32_t(all.size()),
                     order.data(), &given, &sink);
  if (code != BP_STATUS_OK)
    return Status(code,
                  "the chooser failed" + (reason.empty() ? "" : ": " + reason));
  if (given > order.size())
    return invalidArgument("the chooser named " + std::to_string(given) +
                           " candidates of " + std::to_string(order.size()));
  order.resize(given);
  if (Status s = checkOrder(all, order); !s.ok())
    return s;
  std::vector<Candidate> sorted;
  for (uint32_t number : order) {
    sorted.push_back(std::move(all[number]));
    all[number].refusal = "moved";
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (std::ranges::count(order, i))
      continue;
    if (all[i].open())
      all[i].refusal = "was left out by the chooser";
    sorted.push_back(std::move(all[i]));
  }
  all = std::move(sorted);
  selection.byApplication = true;
  if (!reason.empty())
    selection.remarks.push_back("the application chose: " + reason);
  return {};
}

/// All usable devices, in the order of the list.
DevicePolicy everyDevice(Registry &registry) {
  DevicePolicy policy;
  policy.text = "every device";
  for (const DeviceListing &listing : registry.listings())
    if (listing.info && listing.refusal.empty())
      policy.uris.push_back(listing.uri);
  return policy;
}

/// Refuses variants that open devices that nobody asked for.
void refuseFallback(const ArtifactInfo &artifact, Selection &selection) {
  for (Candidate &candidate : selection.candidates) {
    if (!candidate.open())
      continue;
    const VariantInfo &variant = artifact.variants[candidate.variant];
    size_t asked = 1 + candidate.further.size();
    if (variant.devices.size() <= asked)
      continue;
    const std::string &driver = variant.devices[asked].driver;
    candidate.refusal = "runs a part of the model on a device of driver '" +
                        driver +
                        "', which was not asked for, and there is to be no "
                        "fallback; allow it, or name the device behind a "
                        "plus";
  }
}

} // namespace

Result<Selection> select(const std::shared_ptr<const LoadedArtifact> &artifact,
                         const SessionRequest &request) {
  Registry &registry = *artifact->registry;
  TraceScope scope(registry.host().trace(), "select device");
  Result<DevicePolicy> policy = DevicePolicy::parse(request.device);
  if (!policy)
    return policy.status();
  if (request.device.empty() && request.chooser)
    *policy = everyDevice(registry);
  Selection selection =
      consider(registry, request.workers, artifact->file->metadata(), *policy);
  if (!request.fallback)
    refuseFallback(artifact->file->metadata(), selection);
  if (policy->aim && *policy->aim != Aim::Power)
    orderByTime(artifact, *policy->aim, request, selection);
  if (request.chooser)
    if (Status s = askChooser(*request.chooser, selection); !s.ok())
      return s;
  return selection;
}

} // namespace backplane::rt
