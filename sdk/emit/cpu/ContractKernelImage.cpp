// SPDX-License-Identifier: Apache-2.0
//
// The micro-kernel over windows of an image, which is copied as it is.
#include "sdk/emit/cpu/ContractKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace backplane {

void MicroKernel::enterPanel(Value panelB, Value countK) {
  if (pixels && !plan.transposed)
    pixelPanel = pixels->panel(panelB, panelN());
  if (pixels && vnni.tiles)
    pixels->copyPanel(pixelPanel, countK, packedB);
}

void MicroKernel::multiplyImage(const Source &fromA, Value panelB,
                                Value countK) {
  forPanel(panelB, [&](int64_t vectors) {
    auto add = [&](Value k, Value at, ValueRange sums) {
      Sums row;
      for (int64_t v = 0; v < vectors; ++v)
        row.push_back(loadContiguous(
            pixels->memory, VectorBuilder::add(at, lanesOf(v)), Value()));
      return addProducts(fromA, offsetInA(fromA, k), row, sums);
    };
    multiplyWindows(pixelPanel, countK, vectors, add);
  });
}

/// Rows of A are pixels, the elements of a column side by side.
void MicroKernel::multiplyRowsOfPixels(Value panelB, Value panelA, Value firstK,
                                       Value countK) {
  PixelPanel rows = pixels->panel(firstRow(panelA), index(plan.rows));
  Source fromA = {pixels->memory, index(0), index(1), index(0)};
  Source fromB = sourceB(panelB, firstK);
  forPanel(panelB, [&](int64_t vectors) {
    auto add = [&](Value k, Value at, ValueRange sums) {
      return addProducts(fromA, at, loadRow(fromB, k, vectors), sums);
    };
    forElementsInRow(rows, [&](const PixelPanel &panel) {
      multiplyWindows(panel, countK, vectors, add);
    });
  });
}

/// With the elements of a row of the window that meet the image: written out
/// where they are all, or all but the first or the last one.
void MicroKernel::forElementsInRow(
    const PixelPanel &panel, function_ref<void(const PixelPanel &)> multiply) {
  if (!panel.firstInRow)
    return multiply(panel);
  int64_t window = image->windowOfRow();
  auto among = [&](int64_t first, int64_t end) {
    auto equal = [&](Value a, int64_t b) -> Value {
      return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a,
                                   index(b));
    };
    return arith::AndIOp::create(builder, loc, equal(panel.firstInRow, first),
                                 equal(panel.endInRow, end))
        .getResult();
  };
  auto known = [&](int64_t first, int64_t end) {
    PixelPanel part = panel;
    part.firstInRow = index(first);
    part.endInRow = index(end);
    multiply(part);
  };
  ifElse(
      among(0, window), [&] { known(0, window); },
      [&] {
        ifElse(
            among(1, window), [&] { known(1, window); },
            [&] {
              ifElse(
                  among(0, window - 1), [&] { known(0, window - 1); },
                  [&] { multiply(panel); });
            });
      });
}

void MicroKernel::multiplyWindows(const PixelPanel &panel, Value countK,
                                  int64_t vectors, Product product) {
  Sums zeros(plan.rows * vectors, zeroVector(element));
  const WindowAxis &rows = image->rows();
  auto addRowOf = [&](Value channel, Value row, Value offset, ValueRange sums) {
    Value k = mul(add(mul(channel, rows.window), row), image->windowOfRow());
    Value start = add(panel.start, mul(channel, image->channelPitch));
    return addRow(panel, k, add(start, offset), sums, product);
  };
  auto addChannel = [&](Value channel, ValueRange sums) {
    if (rows.stride == 1)
      return forCarrying(
          panel.low, panel.high, sums, [&](Value row, ValueRange sums) {
            Value pitch = index(rows.dilation * image->pixelsOfRow());
            return addRowOf(channel, row, mul(row, pitch), sums);
          });
    Sums result(sums);
    for (int64_t row = 0; row < rows.window; ++row)
      result =
          addRowOf(channel, index(row), index(image->offsetOfRow(row)), result);
    return result;
  };
  Value channels = ceilDiv(countK, index(image->depth()));
  storeTile(forCarrying(index(0), channels, zeros, addChannel));
}

/// Adds the products with a row of the window, whose first one is number `k`
/// and has its pixels at `start`. Short rows are written out, but of sums of
/// integers by pairs: LLVM would add up the products of a row first.
MicroKernel::Sums MicroKernel::addRow(const PixelPanel &panel, Value k,
                                      Value start, ValueRange sums,
                                      Product product) {
  constexpr int64_t shortRow = 4;
  int64_t elements = image->windowOfRow();
  Value first = panel.firstInRow ? panel.firstInRow : index(0);
  Value end = panel.endInRow ? panel.endInRow : index(elements);
  std::optional<int64_t> low = getConstantIntValue(first),
                         high = getConstantIntValue(end);
  auto addElement = [&](Value element, ValueRange sums) {
    Value at = add(start, mul(element, image->copyPitch));
    return product(add(k, element), at, sums);
  };
  if (!low || !high || elements > shortRow || multipliesPairs(vnni))
    return forCarrying(first, end, sums, addElement);
  Sums result(sums);
  for (int64_t element = *low; element < *high; ++element)
    result = addElement(index(element), result);
  return result;
}

} // namespace backplane
