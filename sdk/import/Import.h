// SPDX-License-Identifier: Apache-2.0
//
// Import.h: model files to the portable graph. The entry of
// libbackplane-import.so, which is loaded only when a model must be imported.
#ifndef BACKPLANE_IMPORT_IMPORT_H
#define BACKPLANE_IMPORT_IMPORT_H

#include "sdk/graph/Model.h"

namespace backplane {

/// Reads an ONNX model (opsets 7 to current) with its external data, which must
/// lie in the folder of the model or below it. Unknown ops, domains and types
/// are refused by name. Weights stay mapped where the file allows it.
Result<Model> importOnnx(const std::string &path);

/// C entry of the library: `*out_model` is filled on success.
extern "C" bp_status_t bp_import_onnx_internal(const char *path,
                                               Model *out_model,
                                               std::string *out_message);

} // namespace backplane

#endif // BACKPLANE_IMPORT_IMPORT_H
