// SPDX-License-Identifier: Apache-2.0
//
// PublishedPasses.h: the passes that pipelines of plug-ins may name, for those
// that have no MLIR. The rows come from the Passes.td files.
#ifndef BACKPLANE_SUPPORT_PUBLISHEDPASSES_H
#define BACKPLANE_SUPPORT_PUBLISHEDPASSES_H

#include <string_view>
#include <vector>

namespace backplane {

struct PassOption {
  std::string_view name;
  std::string_view type; ///< "unsigned, default 256"
  std::string_view description;
};

/// A pass, as docs/reference/passes.md has it.
struct PublishedPass {
  std::string_view name;
  std::string_view summary;
  std::string_view stage;   ///< the one that it is for
  std::string_view promise; ///< "stable" or "may change"
  std::string_view needs;   ///< what it takes
  std::string_view gives;   ///< what it leaves
  std::vector<PassOption> options;
};

/// In the order of the stages.
const std::vector<PublishedPass> &publishedPasses();

/// Null: there is none of this name.
const PublishedPass *findPublishedPass(std::string_view name);

} // namespace backplane

#endif // BACKPLANE_SUPPORT_PUBLISHEDPASSES_H
