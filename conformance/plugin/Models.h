// SPDX-License-Identifier: Apache-2.0
//
// Models.h: the models that checks of layer 2 need, by name; what they are
// is in conformance/suite/PluginModels.cpp.
#ifndef BACKPLANE_CONFORMANCE_PLUGIN_MODELS_H
#define BACKPLANE_CONFORMANCE_PLUGIN_MODELS_H

#include "Compiled.h"

namespace backplane::checks {

struct ModelName {
  const char *name;
  bool dynamic; ///< has symbols
  bool indexed; ///< has an input "index", of indices below 5
  bool damaged; ///< its blobs are damaged in many ways
  bool smoke;
};

inline constexpr ModelName modelNames[] = {
    {"add-f32", false, false, true, true},
    {"add-i32-large", false, false, false, false},
    {"max-i8", false, false, false, false},
    {"neg-i32-n", true, false, false, false},
    {"mul-add-f32-n", true, false, false, false},
    {"matmul-f32", false, false, true, false},
    {"matmul-f32-mkn", true, false, true, true},
    {"row-sums-i32-mn", true, false, true, false},
    {"transpose-i32", false, false, false, false},
    {"gather-i32", false, true, true, true},
    {"scatter-add-i32", false, true, false, false},
    {"concat-i8", false, false, false, false},
    {"outer-sum-i32-mn", true, false, false, false},
    {"layers-f32", false, false, true, false},
    {"conv-f32", false, false, false, false},
    {"two-outputs-i32", false, false, false, false},
};

} // namespace backplane::checks

#endif // BACKPLANE_CONFORMANCE_PLUGIN_MODELS_H
