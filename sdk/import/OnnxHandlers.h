// SPDX-License-Identifier: Apache-2.0
//
// OnnxHandlers.h: the handlers of the ONNX ops, by family. Each reads its node
// and defines the node's outputs, or fails the node.
#ifndef BACKPLANE_IMPORT_ONNXHANDLERS_H
#define BACKPLANE_IMPORT_ONNXHANDLERS_H

#include "Node.h"

namespace backplane::frontend {

// OnnxElementwise.cpp
void onnxUnary(Node &);
void onnxBinary(Node &);
void onnxVariadic(Node &);
void onnxCompare(Node &);
void onnxWhere(Node &);
void onnxPow(Node &);
void onnxMod(Node &);
void onnxCast(Node &);
void onnxCastLike(Node &);
void onnxSign(Node &);
void onnxIsInf(Node &);
void onnxIdentity(Node &);
void onnxDropout(Node &);

// OnnxActivation.cpp
void onnxRelu(Node &);
void onnxActivation(Node &);
void onnxAlpha(Node &);
void onnxHardSigmoid(Node &);
void onnxGelu(Node &);
void onnxSelu(Node &);
void onnxCelu(Node &);
void onnxPRelu(Node &);
void onnxThresholdedRelu(Node &);
void onnxShrink(Node &);
void onnxSwish(Node &);
void onnxClip(Node &);
void onnxSoftmax(Node &);

// OnnxControl.cpp
void onnxIf(Node &);
void onnxLoop(Node &);
void onnxScan(Node &);

// OnnxRecurrent.cpp
void onnxRnn(Node &);
void onnxGru(Node &);
void onnxLstm(Node &);

// OnnxConv.cpp
void onnxConv(Node &);
void onnxConvTranspose(Node &);
void onnxConvInteger(Node &);
void onnxQLinearConv(Node &);

// OnnxPool.cpp
void onnxMaxPool(Node &);
void onnxAveragePool(Node &);
void onnxGlobalPool(Node &);
void onnxLpPool(Node &);
void onnxGlobalLpPool(Node &);

// OnnxResize.cpp
void onnxResize(Node &);

// OnnxMatMul.cpp
void onnxMatMul(Node &);
void onnxGemm(Node &);

// OnnxNorm.cpp
void onnxBatchNormalization(Node &);
void onnxLayerNormalization(Node &);
void onnxInstanceNormalization(Node &);
void onnxRmsNormalization(Node &);

// OnnxNormMore.cpp
void onnxGroupNormalization(Node &);
void onnxLpNormalization(Node &);
void onnxMeanVarianceNormalization(Node &);
void onnxLrn(Node &);

// OnnxAttention.cpp
void onnxAttention(Node &);
void onnxRotaryEmbedding(Node &);

// OnnxEinsum.cpp
void onnxEinsum(Node &);

// OnnxInteger.cpp
void onnxMatMulInteger(Node &);
void onnxQLinearMatMul(Node &);
void onnxDynamicQuantizeLinear(Node &);
void onnxBitShift(Node &);

// OnnxOrder.cpp
void onnxCumulative(Node &);
void onnxTopK(Node &);
void onnxHardmax(Node &);

// OnnxReduce.cpp
void onnxReduce(Node &);
void onnxArgReduce(Node &);

// OnnxShape.cpp
void onnxConstant(Node &);
void onnxConstantOfShape(Node &);
void onnxShape(Node &);
void onnxSize(Node &);
void onnxRange(Node &);
void onnxOneHot(Node &);
void onnxTrilu(Node &);

// OnnxReshape.cpp
void onnxReshape(Node &);
void onnxFlatten(Node &);
void onnxSqueeze(Node &);
void onnxUnsqueeze(Node &);
void onnxExpand(Node &);
void onnxTile(Node &);
void onnxTranspose(Node &);
void onnxDepthToSpace(Node &);
void onnxSpaceToDepth(Node &);

// OnnxSlice.cpp
void onnxSlice(Node &);
void onnxSplit(Node &);
void onnxConcat(Node &);
void onnxPad(Node &);

// OnnxGather.cpp
void onnxGather(Node &);
void onnxGatherElements(Node &);
void onnxGatherNd(Node &);

// OnnxSample.cpp
void onnxEyeLike(Node &);
void onnxGridSample(Node &);
void onnxReverseSequence(Node &);

// OnnxScatter.cpp
void onnxScatterElements(Node &);
void onnxScatterNd(Node &);

// OnnxQuantize.cpp
void onnxQuantizeLinear(Node &);
void onnxDequantizeLinear(Node &);

// OnnxLoss.cpp
void onnxNegativeLogLikelihoodLoss(Node &);
void onnxSoftmaxCrossEntropyLoss(Node &);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXHANDLERS_H
