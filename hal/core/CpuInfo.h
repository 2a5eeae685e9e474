// SPDX-License-Identifier: Apache-2.0
//
// CpuInfo.h: what this machine's CPU can do, in LLVM's feature names. A feature
// counts only when the operating system has enabled its registers.
#ifndef BACKPLANE_CORE_CPUINFO_H
#define BACKPLANE_CORE_CPUINFO_H

#include "backplane/plugin.h"

#include <string>
#include <string_view>
#include <vector>

namespace backplane {

class CpuInfo {
public:
  /// Asks the CPU that runs this.
  static CpuInfo detect();

  CpuInfo(const CpuInfo &other);
  CpuInfo &operator=(const CpuInfo &) = delete;

  /// Sorted.
  const std::vector<std::string> &features() const { return features_; }
  bool hasFeature(std::string_view name) const;
  /// Points into this object.
  const bp_host_cpu_t &c() const { return info_; }

private:
  CpuInfo() = default;
  void link();

  std::string architecture_;
  std::string model_;
  std::vector<std::string> features_;
  std::string featureText_;
  bp_host_cpu_t info_ = {BP_HEADER(bp_host_cpu_t)};
};

} // namespace backplane

#endif // BACKPLANE_CORE_CPUINFO_H
