// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/common/CodePaths.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;

namespace backplane {

llvm::ArrayRef<CodePath> codePaths() {
  using namespace path;
  static constexpr CodePath all[] = {attention,
                                     fewRows,
                                     fewColumns,
                                     fewPixels,
                                     image,
                                     panels,
                                     storedB,
                                     columnBlocks,
                                     rowBlocks,
                                     fetchedRows,
                                     bytes,
                                     pairs,
                                     squares,
                                     destination,
                                     lanes,
                                     laneSums,
                                     laneLoads,
                                     lanePadding,
                                     laneRuns,
                                     laneScales,
                                     laneLines,
                                     repetition,
                                     transposition,
                                     window,
                                     shares,
                                     gpuTiles,
                                     gpuMatrices,
                                     gpuAttention,
                                     gpuMatrixAttention,
                                     gpuRegisterAttention,
                                     gpuRows,
                                     gpuGroupSums,
                                     gpuClusterSums};
  return all;
}

void tellPath(Location where, const CodePath &path) {
  remark::passed(where,
                 remark::RemarkOpts::name(path.name).category(path.pass));
}

} // namespace backplane
