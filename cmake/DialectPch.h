// SPDX-License-Identifier: Apache-2.0
//
// DialectPch.h: MLIR with the dialect `bp`, most of which is generated.
#include "MlirPch.h"

#include "sdk/dialect/Bp.h"
