// SPDX-License-Identifier: Apache-2.0
//
// Manifest.h: the *.bp.json file that stands beside the libraries of a plug-in.
// It is read, and most refusals are decided, before any code of the plug-in is
// mapped. Manifests are untrusted text: whatever is wrong with one is a Status
// of one line that names the file.
#ifndef BACKPLANE_CORE_MANIFEST_H
#define BACKPLANE_CORE_MANIFEST_H

#include "backplane/cpp/Result.h"
#include "hal/core/LoaderOptions.h"
#include "hal/core/PassLibrary.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace backplane {

/// Newest version of the file format that is understood.
inline constexpr int64_t manifestFormat = 1;

/// A version of the ABI that a plug-in has a query function for, with the
/// lowest minor version that its libraries need.
struct AbiVersion {
  uint32_t major = 0;
  uint32_t minorLow = 0;
};

/// A parsed manifest. Library paths are canonical, absolute and inside the
/// folder of the manifest.
struct Manifest {
  std::string path; ///< canonical
  std::string name; ///< [a-z][a-z0-9_-]{0,31}
  std::string version;
  std::string vendor;
  std::string arch;            ///< "x86_64", "aarch64"; empty: any
  std::vector<AbiVersion> abi; ///< one for each major version
  std::string driver;          ///< library, empty when there is none
  std::string compiler;        ///< library, may be the same as `driver`
  std::string kernels;         ///< library, may be the same as these
  std::string driverSha256;    ///< 64 hexadecimal digits, or empty
  std::string compilerSha256;  ///< 64 hexadecimal digits, or empty
  std::string kernelsSha256;   ///< 64 hexadecimal digits, or empty
  PassLibrary passes;          ///< of the compiler
  std::vector<std::string> cpuFeatures; ///< required of this machine's CPU
  /// Given to `initialize` of each library, sorted by key.
  std::map<std::string, std::string> options;
  /// Multiply-adds that one case of the conformance suite may take, for a slow
  /// device; 0: as many as the suite likes.
  uint64_t multiplyAdds = 0;
};

/// Reads and checks one manifest file, at most 64 KiB.
Result<Manifest> readManifest(const std::string &path, const FileTrust &trust);

/// Why a plug-in with this manifest is not loaded here (arch, ABI, select and
/// disable, CPU features), empty when nothing speaks against it.
std::string manifestRefusal(const Manifest &manifest,
                            const LoaderOptions &options,
                            const bp_host_cpu_t &cpu);

/// A manifest that was looked at: parsed, or `refusal` says why it is not used.
struct FoundManifest {
  std::string path;
  Manifest manifest; ///< `name` is empty when it could not be read
  std::string refusal;
  /// Refused only because a later version of the same plug-in is there.
  bool givesWay = false;
};

/// Looks in all places that `options` name, in their order. Of several
/// manifests of one vendor with one plug-in name the one with the highest
/// version (at equal versions, the first found) stays usable. A plug-in of
/// another vendor does not take the name: the one in the system's folder stays,
/// else the first found. The others get a refusal.
std::vector<FoundManifest> findManifests(const LoaderOptions &options,
                                         const bp_host_cpu_t &cpu);

/// Compares MAJOR.MINOR.PATCH numerically: negative, zero or positive.
int compareVersions(std::string_view a, std::string_view b);

} // namespace backplane

#endif // BACKPLANE_CORE_MANIFEST_H
