// SPDX-License-Identifier: Apache-2.0
#include "Selection.h"
#include "hal/core/DeviceUri.h"
#include "hal/core/Requirement.h"
#include "sdk/support/Version.h"

#include <algorithm>

namespace backplane::rt {
namespace {

std::string inQuotes(std::string_view text) {
  return "'" + std::string(text) + "'";
}

std::string formatList(const DeviceInfo &device) {
  std::string list;
  for (uint64_t i = 0; i < device.c().format_count; ++i)
    list += (i ? ", " : "") + inQuotes(view(device.c().formats[i]));
  return list.empty() ? "none" : list;
}

std::string_view driverOf(std::string_view uri) {
  if (worker::RemoteUri::matches(uri))
    uri.remove_prefix(uri.find('/') + 1);
  return uri.substr(0, uri.find("://"));
}

/// A device that was asked for and cannot be had.
Candidate absent(const std::string &uri, const Status &failure) {
  Candidate out;
  out.uri = uri;
  out.refusal = failure.message();
  out.failure = failure;
  return out;
}

/// Candidates of a device that was asked for by its URI, with those behind a
/// plus for variants on several devices.
void addListed(Registry &registry, const ArtifactInfo &artifact,
               const std::string &asked, std::vector<Candidate> &out) {
  std::vector<std::string> further = splitUris(asked);
  std::string uri = further.front();
  further.erase(further.begin());
  Result<std::shared_ptr<Device>> device = registry.device(uri);
  if (!device)
    return out.push_back(absent(uri, device.status()));
  std::vector<Candidate> ranked =
      rankVariants(artifact, (*device)->uri(), (*device)->sharedInfo());
  for (Candidate &candidate : ranked) {
    candidate.device = *device;
    candidate.further = further;
    out.push_back(std::move(candidate));
  }
}

/// A device behind a worker, with those behind a plus there.
Status addRemote(worker::Pool &workers, const ArtifactInfo &artifact,
                 const std::string &asked, std::vector<Candidate> &out) {
  Result<worker::RemoteDevice> found = worker::findDevice(workers, asked);
  if (!found)
    return found.status();
  const worker::RemoteUri &uri = found->uri;
  std::string full = "worker:" + uri.worker + "/" + found->line.uri;
  full += uri.device.substr(std::min(uri.device.find('?'), uri.device.size()));
  std::vector<Candidate> ranked = rankVariants(artifact, full, found->info);
  for (Candidate &candidate : ranked) {
    candidate.further = uri.further;
    out.push_back(std::move(candidate));
  }
  return {};
}

/// All usable devices, in the order of their standing, then by URI.
void addByAim(Registry &registry, const ArtifactInfo &artifact, Aim aim,
              std::vector<Candidate> &out) {
  std::vector<std::pair<int, Candidate>> all;
  for (const DeviceListing &listing : registry.listings()) {
    if (!listing.info || !listing.refusal.empty())
      continue;
    for (Candidate &c : rankVariants(artifact, listing.uri, listing.info)) {
      Standing place = standing(aim, *listing.info, c.rank);
      c.note += ", " + place.reason;
      c.byAim = true;
      all.emplace_back(c.open() ? place.place : lastResort + 2, std::move(c));
    }
  }
  using Placed = std::pair<int, Candidate>;
  sortStably(std::span(all), [](const Placed &a, const Placed &b) {
    return std::pair(a.first, std::string_view(a.second.uri)) <
           std::pair(b.first, std::string_view(b.second.uri));
  });
  for (auto &[place, candidate] : all)
    out.push_back(std::move(candidate));
}

/// "x86-64-v3 on host://cpu has rank 30, not the highest"
std::string refusalText(const Candidate &candidate, bool withDevice) {
  if (candidate.target.empty())
    return candidate.uri + ": " + candidate.refusal;
  return candidate.target + (withDevice ? " on " + candidate.uri : "") + " " +
         candidate.refusal;
}

} // namespace

std::string misfit(std::string_view driver, std::string_view format,
                   const std::vector<std::string_view> &features,
                   std::string_view deviceDriver, const DeviceInfo &device) {
  if (driver != deviceDriver)
    return "is for driver " + inQuotes(driver);
  if (!device.hasFormat(format))
    return "has format " + inQuotes(format) + ", the device takes " +
           formatList(device);
  std::string missing;
  for (std::string_view feature : features)
    if (std::string lacks = lacking(feature, device); !lacks.empty())
      missing += (missing.empty() ? "" : ", ") + lacks;
  return missing.empty() ? "" : "needs " + missing;
}

std::string unreadable(const VariantInfo &variant) {
  if (variant.unknownRequirement.empty())
    return "";
  return "requires " + inQuotes(variant.unknownRequirement) +
         ", which Backplane " + productVersion + " does not know";
}

std::vector<Candidate>
rankVariants(const ArtifactInfo &artifact, std::string_view uri,
             const std::shared_ptr<const DeviceInfo> &device) {
  std::vector<Candidate> all;
  for (uint32_t i = 0; i < artifact.variants.size(); ++i) {
    const VariantInfo &variant = artifact.variants[i];
    Candidate candidate;
    candidate.uri = uri;
    candidate.info = device;
    candidate.variant = i;
    candidate.target = variant.target;
    candidate.rank = variant.rank;
    candidate.refusal = unreadable(variant);
    if (candidate.refusal.empty())
      candidate.refusal =
          misfit(variant.devices.front(), driverOf(uri), *device);
    candidate.note = "rank " + std::to_string(candidate.rank);
    all.push_back(std::move(candidate));
  }
  sortStably(std::span(all), [](const Candidate &a, const Candidate &b) {
    if (a.open() != b.open() || !a.open())
      return a.open() && !b.open();
    return a.rank != b.rank ? a.rank > b.rank : a.target < b.target;
  });
  return all;
}

std::string misfit(const DeviceNeeds &need, std::string_view driver,
                   const DeviceInfo &device) {
  std::vector<std::string_view> features(need.requiredFeatures.begin(),
                                         need.requiredFeatures.end());
  return rt::misfit(need.driver, need.format, features, driver, device);
}

std::string misfit(const DeviceNeeds &need, const Device &device) {
  return misfit(need, driverOf(device.uri()), device.info());
}

Selection consider(Registry &registry, worker::Pool *workers,
                   const ArtifactInfo &artifact, const DevicePolicy &policy) {
  Selection selection;
  selection.policy = policy.text;
  std::vector<Candidate> &all = selection.candidates;
  for (size_t i = 0; i <= policy.uris.size(); ++i) {
    if (policy.aim && i == policy.aimAt)
      addByAim(registry, artifact, *policy.aim, all);
    if (i == policy.uris.size())
      break;
    const std::string &uri = policy.uris[i];
    if (!worker::RemoteUri::matches(uri))
      addListed(registry, artifact, uri, all);
    else if (Status s = addRemote(*workers, artifact, uri, all); !s.ok())
      all.push_back(absent(uri, s));
  }
  return selection;
}

bool Selection::severalDevices() const {
  return std::ranges::any_of(candidates, [&](const Candidate &candidate) {
    return candidate.uri != candidates.front().uri;
  });
}

const Candidate *Selection::chosen() const {
  auto found = std::ranges::find_if(candidates, &Candidate::chosen);
  return found == candidates.end() ? nullptr : &*found;
}

void choose(Selection &selection) {
  Candidate *first = nullptr;
  for (Candidate &candidate : selection.candidates) {
    candidate.chosen = !first && candidate.open();
    if (candidate.chosen)
      first = &candidate;
    else if (!candidate.open())
      continue;
    else if (candidate.uri != first->uri)
      candidate.refusal = "comes after it";
    else if (candidate.rank == first->rank)
      candidate.refusal = "has rank " + std::to_string(candidate.rank) +
                          " too, its name comes later";
    else
      candidate.refusal =
          "has rank " + std::to_string(candidate.rank) + ", not the highest";
  }
}

static std::string choiceText(const Selection &selection,
                              const Candidate &chosen) {
  std::string text = "variant " + chosen.target + " on " + chosen.uri + ": ";
  if (selection.byApplication)
    return text + chosen.note + ", chosen by the application";
  if (selection.candidates.size() == 1)
    return text + chosen.note + ", the only one";
  if (!selection.severalDevices())
    return text + chosen.note + ", the highest that fits";
  return text + chosen.note + ", the first of '" + selection.policy +
         "' that fits";
}

std::string Selection::line() const {
  const Candidate *taken = chosen();
  std::string text = taken ? choiceText(*this, *taken) : "nothing fits";
  for (const Candidate &candidate : candidates)
    if (!candidate.chosen)
      text += "; " + refusalText(candidate, severalDevices());
  for (const std::string &remark : remarks)
    text += "; " + remark;
  return text;
}

std::string Selection::lines() const {
  const Candidate *taken = chosen();
  std::string text = "policy: " + policy + "\n";
  text += taken ? "chosen: " + choiceText(*this, *taken) + "\n"
                : std::string("chosen: none\n");
  for (const Candidate &candidate : candidates)
    if (!candidate.chosen)
      text += "passed over: " + refusalText(candidate, true) + "\n";
  for (const std::string &remark : remarks)
    text += "remark: " + remark + "\n";
  return text;
}

Status Selection::failure() const {
  std::string where = candidates.empty() ? "this machine"
                      : severalDevices() ? "any device of '" + policy + "'"
                                         : candidates.front().uri;
  bool alone = candidates.size() == 1 && remarks.empty();
  if (alone && !candidates[0].failure.ok())
    return candidates[0].failure;
  std::string text = "no variant of the artifact runs on " + where;
  for (const Candidate &candidate : candidates)
    text += "; " + refusalText(candidate, severalDevices());
  for (const std::string &remark : remarks)
    text += "; " + remark;
  return Status(BP_STATUS_FAILED_PRECONDITION,
                text + "; compile the model for a target of this device");
}

} // namespace backplane::rt
