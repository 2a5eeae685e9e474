// SPDX-License-Identifier: Apache-2.0
//
// ImportPch.h: standard headers and the messages of ONNX, which protobuf
// generates.
#include "CodePch.h"

#include "onnx-ml.pb.h"
