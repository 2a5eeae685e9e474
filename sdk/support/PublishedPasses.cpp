// SPDX-License-Identifier: Apache-2.0
#include "sdk/support/PublishedPasses.h"

#include <algorithm>

namespace backplane {

const std::vector<PublishedPass> &publishedPasses() {
  static const std::vector<PublishedPass> passes = {
#include "sdk/support/PublishedPasses.inc"
  };
  return passes;
}

const PublishedPass *findPublishedPass(std::string_view name) {
  const auto &passes = publishedPasses();
  auto found = std::ranges::find(passes, name, &PublishedPass::name);
  return found == passes.end() ? nullptr : &*found;
}

} // namespace backplane
