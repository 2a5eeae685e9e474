// SPDX-License-Identifier: Apache-2.0
// Made by sdk/import/gen_onnx.py from onnx_ops.toml. Do not edit.
//
// OnnxHandlers.h: the handlers of the ONNX ops. Each reads its node and
// defines the node's outputs, or fails the node.
#ifndef BACKPLANE_IMPORT_ONNXHANDLERS_H
#define BACKPLANE_IMPORT_ONNXHANDLERS_H

#include "Node.h"

namespace backplane::frontend {

void onnxActivation(Node &);
void onnxAffineGrid(Node &);
void onnxAlpha(Node &);
void onnxArgReduce(Node &);
void onnxAttention(Node &);
void onnxAveragePool(Node &);
void onnxBatchNormalization(Node &);
void onnxBernoulli(Node &);
void onnxBinary(Node &);
void onnxBitShift(Node &);
void onnxBlackmanWindow(Node &);
void onnxCast(Node &);
void onnxCastLike(Node &);
void onnxCelu(Node &);
void onnxCenterCropPad(Node &);
void onnxClip(Node &);
void onnxCompare(Node &);
void onnxCompress(Node &);
void onnxConcat(Node &);
void onnxConstant(Node &);
void onnxConstantOfShape(Node &);
void onnxConv(Node &);
void onnxConvInteger(Node &);
void onnxConvTranspose(Node &);
void onnxCumulative(Node &);
void onnxDepthToSpace(Node &);
void onnxDequantizeLinear(Node &);
void onnxDropout(Node &);
void onnxDynamicQuantizeLinear(Node &);
void onnxEinsum(Node &);
void onnxExpand(Node &);
void onnxEyeLike(Node &);
void onnxFlatten(Node &);
void onnxGather(Node &);
void onnxGatherElements(Node &);
void onnxGatherNd(Node &);
void onnxGelu(Node &);
void onnxGemm(Node &);
void onnxGlobalLpPool(Node &);
void onnxGlobalPool(Node &);
void onnxGridSample(Node &);
void onnxGroupNormalization(Node &);
void onnxGru(Node &);
void onnxHammingWindow(Node &);
void onnxHannWindow(Node &);
void onnxHardSigmoid(Node &);
void onnxHardmax(Node &);
void onnxIdentity(Node &);
void onnxIf(Node &);
void onnxInstanceNormalization(Node &);
void onnxIsInf(Node &);
void onnxLayerNormalization(Node &);
void onnxLoop(Node &);
void onnxLpNormalization(Node &);
void onnxLpPool(Node &);
void onnxLrn(Node &);
void onnxLstm(Node &);
void onnxMatMul(Node &);
void onnxMatMulInteger(Node &);
void onnxMaxPool(Node &);
void onnxMeanVarianceNormalization(Node &);
void onnxMod(Node &);
void onnxMultinomial(Node &);
void onnxNegativeLogLikelihoodLoss(Node &);
void onnxNonMaxSuppression(Node &);
void onnxNonZero(Node &);
void onnxOneHot(Node &);
void onnxPRelu(Node &);
void onnxPad(Node &);
void onnxPow(Node &);
void onnxQLinearConv(Node &);
void onnxQLinearMatMul(Node &);
void onnxQuantizeLinear(Node &);
void onnxRandom(Node &);
void onnxRandomLike(Node &);
void onnxRange(Node &);
void onnxReduce(Node &);
void onnxRelu(Node &);
void onnxReshape(Node &);
void onnxResize(Node &);
void onnxReverseSequence(Node &);
void onnxRmsNormalization(Node &);
void onnxRnn(Node &);
void onnxRotaryEmbedding(Node &);
void onnxScan(Node &);
void onnxScatterElements(Node &);
void onnxScatterNd(Node &);
void onnxSelu(Node &);
void onnxShape(Node &);
void onnxShrink(Node &);
void onnxSign(Node &);
void onnxSize(Node &);
void onnxSlice(Node &);
void onnxSoftmax(Node &);
void onnxSoftmaxCrossEntropyLoss(Node &);
void onnxSpaceToDepth(Node &);
void onnxSplit(Node &);
void onnxSqueeze(Node &);
void onnxSwiGLU(Node &);
void onnxSwish(Node &);
void onnxTensorScatter(Node &);
void onnxThresholdedRelu(Node &);
void onnxTile(Node &);
void onnxTopK(Node &);
void onnxTranspose(Node &);
void onnxTrilu(Node &);
void onnxUnary(Node &);
void onnxUnique(Node &);
void onnxUnsqueeze(Node &);
void onnxVariadic(Node &);
void onnxWhere(Node &);

} // namespace backplane::frontend

#endif // BACKPLANE_IMPORT_ONNXHANDLERS_H
