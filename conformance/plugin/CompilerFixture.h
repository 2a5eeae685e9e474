// SPDX-License-Identifier: Apache-2.0
//
// CompilerFixture.h: the compiler of a plug-in that was initialised by a
// watching host.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_COMPILERFIXTURE_H
#define BACKPLANE_CONFORMANCE_PLUGIN_COMPILERFIXTURE_H

#include "Fixture.h"

#include "hal/core/CompilerCalls.h"

namespace backplane::checks {

/// It stays initialised as long as this object. A library without a compiler
/// skips the trial.
class CompilerFixture {
public:
  explicit CompilerFixture(Trial &trial) : fixture_(trial) {
    if (!fixture_.good())
      return;
    const bp_plugin_info_t info = Library(trial).info();
    if (!info.compiler)
      trial.skip("the library has no compiler table");
    else
      good_ =
          trial.expectOk(copyCompilerTable(info.compiler, table_), "the table");
  }

  bool good() const { return good_; }
  const bp_compiler_table_t &table() const { return table_; }
  CompilerPlugin plugin() const {
    return {fixture_.trial().tested().name, "", "", &table_, fixture_.self()};
  }
  std::vector<std::string> targets() const {
    std::vector<std::string> names;
    fixture_.trial().expectOk(callTargets(plugin(),
                                          [&](const bp_target_t &target) {
                                            names.emplace_back(
                                                view(target.name));
                                            return Status();
                                          }),
                              "targets");
    return names;
  }

private:
  Fixture fixture_;
  bp_compiler_table_t table_ = {};
  bool good_ = false;
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_COMPILERFIXTURE_H
