// SPDX-License-Identifier: Apache-2.0
//
// ProgramPipelines.h: the pipelines that plug-ins have for stages of a whole
// program.
#ifndef BACKPLANE_COMPILER_PROGRAMPIPELINES_H
#define BACKPLANE_COMPILER_PROGRAMPIPELINES_H

#include "sdk/compiler/Variant.h"

namespace backplane {

/// Runs the pipeline that the target of a program has for a stage, and tells
/// the report what it changed. Without one device none runs, and the report
/// says so. A failure names the plug-in, the target and the stage: a pass
/// failed, or inputs and outputs of `main` are no longer the same.
Status runProgramPipeline(VariantContext &context, mlir::ModuleOp module,
                          const Stage &stage, OneDevice device, Draft &draft);

} // namespace backplane

#endif // BACKPLANE_COMPILER_PROGRAMPIPELINES_H
