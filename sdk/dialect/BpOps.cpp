// SPDX-License-Identifier: Apache-2.0
//
// The generated op classes, apart from the dialect so that both build fast.
#include "sdk/dialect/Bp.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

#pragma clang diagnostic ignored "-Wunused-parameter"
#define GET_OP_CLASSES
#include "sdk/dialect/BpOps.cpp.inc"
