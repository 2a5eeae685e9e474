// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/common/CodePaths.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace backplane {

void tellPath(Location where, const CodePath &path) {
  remark::passed(where,
                 remark::RemarkOpts::name(path.name).category(path.pass));
}

} // namespace backplane
