// SPDX-License-Identifier: Apache-2.0
//
// MlirTestPch.h: the headers that nearly every GoogleTest file about MLIR
// includes.
#include "MlirPch.h"

#include <gtest/gtest.h>
