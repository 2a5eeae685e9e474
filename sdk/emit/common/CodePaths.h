// SPDX-License-Identifier: Apache-2.0
//
// CodePaths.h: the ways to generate code that some dispatches take and others
// do not. A pass tells which one a dispatch takes, as an MLIR remark of the
// category of the pass; the compiler keeps it in the report of a variant (`bp
// explain`), and conformance/paths measures which cases reach it.
#ifndef BACKPLANE_EMIT_COMMON_CODEPATHS_H
#define BACKPLANE_EMIT_COMMON_CODEPATHS_H

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringRef.h"

namespace backplane {

struct CodePath {
  llvm::StringLiteral pass, name;
  llvm::StringLiteral what; ///< "rows of A pass over B": for the page
};

namespace path {

inline constexpr CodePath attention = {
    "bp-contract", "attention",
    "scores, softmax and the product with V, block by block of keys"};
inline constexpr CodePath fewRows = {
    "bp-contract", "few-rows", "rows of B are read once, for up to 16 of A"};
inline constexpr CodePath fewColumns = {
    "bp-contract", "few-columns", "lanes are elements of k, columns are few"};
inline constexpr CodePath fewPixels = {
    "bp-contract", "few-pixels",
    "lanes are outputs of a convolution, rows its pixels"};
inline constexpr CodePath image = {
    "bp-contract", "image", "an image is copied as it is, windows read there"};
inline constexpr CodePath panels = {"bp-contract", "panels",
                                    "B is packed in panels of columns"};
inline constexpr CodePath packingTile = {
    "bp-contract", "packing-tile",
    "the first of few tiles packs the columns that it multiplies"};
inline constexpr CodePath storedB = {"bp-contract", "stored-b",
                                     "B is read where it is, row by row"};
inline constexpr CodePath columnBlocks = {
    "bp-contract", "column-blocks",
    "a weight in blocks of columns is read where it is"};
inline constexpr CodePath rowBlocks = {
    "bp-contract", "row-blocks",
    "a weight in blocks of outputs is read where it is"};
inline constexpr CodePath fetchedRows = {
    "bp-contract", "fetched-rows", "rows of A from memory are asked for early"};
inline constexpr CodePath bytes = {
    "bp-contract", "bytes", "an instruction multiplies four bytes of a lane"};
inline constexpr CodePath tiles = {
    "bp-contract", "tiles", "tile registers multiply 16 rows and columns"};
inline constexpr CodePath pairs = {
    "bp-contract", "pairs", "an instruction multiplies two words of a lane"};
inline constexpr CodePath squares = {"bp-contract", "squares",
                                     "an instruction multiplies 2 x 2 blocks"};

inline constexpr CodePath destination = {
    "bp-bufferize", "destination",
    "what is read last where it is written is computed there"};

inline constexpr CodePath lanes = {"bp-vectorize", "lanes",
                                   "a loop of the op in vectors"};
inline constexpr CodePath laneSums = {"bp-vectorize", "lane-sums",
                                      "a reduced loop in vectors"};
inline constexpr CodePath searches = {
    "bp-vectorize", "searches",
    "an index is searched for once the extreme of its row is known"};
inline constexpr CodePath laneLoads = {
    "bp-vectorize", "lane-loads", "elements by computed indices, in vectors"};
inline constexpr CodePath lanePadding = {
    "bp-vectorize", "lane-padding", "padding is told from elements by masks"};
inline constexpr CodePath laneRuns = {"bp-vectorize", "lane-runs",
                                      "sums of f64 in runs of f32"};
inline constexpr CodePath laneScales = {
    "bp-vectorize", "lane-scales", "vectors as long as the machine has them"};
inline constexpr CodePath laneLines = {
    "bp-vectorize", "lane-lines",
    "lines computed in order are side by side on lanes"};
inline constexpr CodePath repetition = {
    "bp-vectorize", "repetition", "elements that are repeated are loaded once"};
inline constexpr CodePath transposition = {"bp-vectorize", "transposition",
                                           "tiles are transposed in registers"};
inline constexpr CodePath window = {"bp-vectorize", "window",
                                    "neighbours in another order are permuted"};
inline constexpr CodePath shares = {"bp-vectorize", "shares",
                                    "quotients by one number are products"};

inline constexpr CodePath gpuTiles = {"bp-gpu-contract", "gpu-tiles",
                                      "tiles in memory of the work-group"};
inline constexpr CodePath gpuMatrices = {"bp-gpu-contract", "gpu-matrices",
                                         "matrix instructions"};
inline constexpr CodePath gpuAttention = {
    "bp-gpu-contract", "gpu-attention",
    "attention without matrix instructions"};
inline constexpr CodePath gpuMatrixAttention = {
    "bp-gpu-contract", "gpu-matrix-attention",
    "attention by matrix instructions, scores in memory"};
inline constexpr CodePath gpuRegisterAttention = {
    "bp-gpu-contract", "gpu-register-attention",
    "attention by matrix instructions, scores in registers"};
inline constexpr CodePath gpuRows = {
    "bp-gpu-rows", "gpu-rows", "rows from sums over them, by work-groups"};
inline constexpr CodePath gpuGroupSums = {"bp-gpu-reduce", "gpu-group-sums",
                                          "a sum is shared by a work-group"};
inline constexpr CodePath gpuClusterSums = {
    "bp-gpu-reduce", "gpu-cluster-sums",
    "a sum is shared by part of a subgroup"};

} // namespace path

/// A dispatch takes this path.
void tellPath(mlir::Location where, const CodePath &path);

} // namespace backplane

#endif // BACKPLANE_EMIT_COMMON_CODEPATHS_H
