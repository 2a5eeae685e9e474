// SPDX-License-Identifier: Apache-2.0
//
// The entry of libbackplane-import.so.
#include "Import.h"

namespace backplane {

extern "C" __attribute__((visibility("default"))) bp_status_t
bp_import_onnx_internal(const char *path, Model *out_model,
                        std::string *out_message) {
  Result<Model> model = importOnnx(path);
  if (!model.ok()) {
    *out_message = model.message();
    return model.code();
  }
  *out_model = std::move(*model);
  return BP_STATUS_OK;
}

} // namespace backplane
