// SPDX-License-Identifier: Apache-2.0
//
// TestPch.h: the headers that nearly every GoogleTest file includes.
#include "CodePch.h"

#include <gtest/gtest.h>
