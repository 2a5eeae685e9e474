// SPDX-License-Identifier: Apache-2.0
//
// Selection.h: which variant of an artifact runs on which device, and why the
// others are not taken. Every decision is kept with its reason.
#ifndef BACKPLANE_RUNTIME_SELECTION_H
#define BACKPLANE_RUNTIME_SELECTION_H

#include "DevicePolicy.h"
#include "hal/core/Registry.h"
#include "hal/worker/Pool.h"
#include "sdk/package/Artifact.h"

#include <algorithm>
#include <span>

namespace backplane::rt {

/// Sorts a short list; equal items keep their order.
template <typename T, typename Less>
void sortStably(std::span<T> items, Less less) {
  for (auto next = items.begin(); next != items.end(); ++next)
    std::rotate(std::upper_bound(items.begin(), next, *next, less), next,
                next + 1);
}

/// Why something compiled for `driver`, `format` and `features`, comparisons
/// among them (sdk/support/Condition.h), cannot run on a device of
/// `deviceDriver`; empty when it can.
std::string misfit(std::string_view driver, std::string_view format,
                   const std::vector<std::string_view> &features,
                   std::string_view deviceDriver, const DeviceInfo &device);

/// Why a device is not what a device of a variant must be; empty when it is.
std::string misfit(const DeviceNeeds &need, const Device &device);
/// Why this runtime cannot run a variant on any device; empty when it can.
std::string unreadable(const VariantInfo &variant);
std::string misfit(const DeviceNeeds &need, std::string_view deviceDriver,
                   const DeviceInfo &device);

/// A variant on a device, or a device that is out.
struct Candidate {
  std::string uri;                        ///< as listed, or as asked
  std::shared_ptr<const DeviceInfo> info; ///< null: there is no such device
  std::shared_ptr<Device> device;         ///< null: not opened yet
  /// Asked for beside the device, for the further ones of a split variant;
  /// behind a worker as that worker takes them.
  std::vector<std::string> further;
  uint32_t variant = 0; ///< in the artifact
  std::string target;   ///< empty: a device that is out
  uint32_t rank = 0;
  std::string refusal; ///< why it is not taken; empty while it may be
  Status failure;      ///< of the device or of loading, part of the refusal
  std::string note;    ///< what decided its place
  bool byAim = false;  ///< found by an aim, not named
  bool chosen = false;

  bool open() const { return refusal.empty(); }
};

/// What was considered, in the order in which it is tried.
struct Selection {
  std::string policy;
  std::vector<Candidate> candidates;
  std::vector<std::string> remarks; ///< about the decision as a whole
  bool byApplication = false;       ///< a chooser gave the order

  /// Whether more than one device was considered.
  bool severalDevices() const;
  const Candidate *chosen() const;
  /// One line: the choice, then why each other candidate was not taken.
  std::string line() const;
  /// The same, one line each.
  std::string lines() const;
  /// When nothing was chosen: what each candidate lacks. Of an only one, what
  /// its device or its loading said.
  Status failure() const;
};

/// The variants of an artifact on a device: those that fit by falling rank, at
/// equal ranks by name, then those that do not.
std::vector<Candidate>
rankVariants(const ArtifactInfo &artifact, std::string_view uri,
             const std::shared_ptr<const DeviceInfo> &device);

/// Everything that a policy allows. Devices of a list are opened and keep its
/// order; workers in it are started and asked what they have; an aim looks at
/// all usable devices of this machine and orders them by what they declare.
Selection consider(Registry &registry, worker::Pool *workers,
                   const ArtifactInfo &artifact, const DevicePolicy &policy);

/// Marks the first candidate that is not refused; those behind it get the
/// reason.
void choose(Selection &selection);

} // namespace backplane::rt

#endif // BACKPLANE_RUNTIME_SELECTION_H
