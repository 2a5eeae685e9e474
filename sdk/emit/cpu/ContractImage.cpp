// SPDX-License-Identifier: Apache-2.0
#include "sdk/emit/cpu/ContractImage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace backplane {

ImageBuilder::ImageBuilder(const ContractScope &scope)
    : ContractScope(scope), memory(scratch(scope.image->elements, element)),
      tile(*scope.image), narrow(scope) {}

/* ---- Where pixels are ---- */

/// The pixel of its line with which the copies begin.
Value ImageBuilder::firstPixel() const {
  return tile.oneLine() ? firstN : index(0);
}

/// How many elements of the window of a pixel lie in front of position `size`
/// of an axis of the image.
Value ImageBuilder::elementsBefore(const WindowAxis &axis, int64_t size,
                                   Value pixel) const {
  Value distance = sub(index(axis.low + size), mul(pixel, axis.stride));
  distance = builder.createOrFold<arith::MaxSIOp>(loc, distance, index(0));
  return ceilDiv(distance, index(axis.dilation));
}

PixelPanel ImageBuilder::panel(Value first, Value count) const {
  PixelPanel panel = {first, index(0), index(tile.rows().window)};
  if (!tile.oneLine())
    panel.start = add(first, mod(firstN, index(tile.line().pixels)));
  const WindowAxis &rows = tile.rows(), &line = tile.line();
  Value last = sub(minimum(add(first, count), countN), index(1));
  if (plan.transposed && tile.leavesOut(plan.rows)) {
    auto inLine = [&](Value column) {
      return mod(add(firstN, column), index(line.pixels));
    };
    Value low = inLine(first), high = inLine(last);
    panel.firstInRow = elementsBefore(line, 0, high);
    panel.endInRow =
        minimum(index(line.window), elementsBefore(line, line.size, low));
    if (line.pixels % plan.rows != 0) {
      Value isOneLine = lessOrEqual(low, high);
      auto inOneLine = [&](Value element, Value otherwise) -> Value {
        return arith::SelectOp::create(builder, loc, isOneLine, element,
                                       otherwise);
      };
      panel.firstInRow = inOneLine(panel.firstInRow, index(0));
      panel.endInRow = inOneLine(panel.endInRow, index(line.window));
    }
  }
  if (!rows.padded() || tile.phases.size() > 1)
    return panel;
  // Rows in front of these, and from the last of these on, meet the padding
  // alone, whichever pixel of the panel it is.
  auto rowOf = [&](Value column) {
    return floorDiv(add(firstN, column), index(tile.pixelsOfRow()));
  };
  panel.low = elementsBefore(rows, 0, rowOf(last));
  panel.high =
      minimum(panel.high, elementsBefore(rows, rows.size, rowOf(first)));
  return panel;
}

/* ---- The copies ---- */

Value ImageBuilder::splat(Value scalar) {
  Value word =
      arith::IndexCastOp::create(builder, loc, builder.getI32Type(), scalar);
  return vector::BroadcastOp::create(builder, loc, vectorType(word.getType()),
                                     word);
}

void ImageBuilder::copy(Value firstK, Value countK) {
  Value depth = index(tile.depth()), width = index(tile.line().pixels);
  Value channels = ceilDiv(countK, depth), first = floorDiv(firstK, depth);
  Value lines = index(1);
  if (!tile.oneLine())
    lines = add(ceilDiv(add(mod(firstN, width), countN), width),
                tile.rowReach() * (tile.pixelsOfRow() / tile.line().pixels));
  forRange(index(0), channels, 1, [&](Value channel) {
    Value source = originOf(operands.b);
    if (tile.channelAxis)
      source = add(source, mul(mul(add(first, channel), tile.perLane),
                               axisStrideOfB(*tile.channelAxis)));
    copyChannel(source, mul(channel, tile.channelPitch), lines);
  });
}

void ImageBuilder::copyChannel(Value source, Value to, Value lines) {
  Value width = index(tile.line().pixels);
  Value first = tile.oneLine() ? index(0) : floorDiv(firstN, width);
  forRange(index(0), index(tile.windowOfRow()), 1, [&](Value element) {
    for (auto [i, phase] : llvm::enumerate(tile.phases)) {
      Value start = add(add(to, mul(element, tile.copyPitch)),
                        int64_t(i) * tile.phasePitch);
      forRange(index(0), lines, 1, [&](Value number) {
        Line line = {add(first, number), element, phase, source,
                     add(start, mul(number, width))};
        findSource(line);
        copyLine(line);
      });
    }
  });
}

void ImageBuilder::copyPanel(const PixelPanel &panel, Value countK,
                             Value packedB) const {
  int64_t elements = tile.windowOfRow();
  auto copyPixels = [&](Value from, Value row) {
    for (int64_t v = 0; v < plan.vectors; ++v)
      storeVector(loadContiguous(memory, add(from, lanesOf(v)), Value()),
                  packedB, add(mul(row, panelN()), lanesOf(v)));
  };
  Value channels = ceilDiv(countK, index(tile.depth()));
  forRange(index(0), channels, 1, [&](Value channel) {
    Value start = add(panel.start, mul(channel, tile.channelPitch));
    for (int64_t i = 0; i < tile.window(); ++i) {
      int64_t offset =
          tile.offsetOfRow(i / elements) + i % elements * tile.copyPitch;
      copyPixels(add(start, offset), add(mul(channel, tile.window()), i));
    }
  });
}

/// The index on an axis of the image.
void ImageBuilder::addAxis(Line &line, const WindowAxis &axis, Value at,
                           bool mayBeOutside) {
  at = sub(at, index(axis.low));
  if (axis.axis)
    line.source = add(line.source, mul(at, axisStrideOfB(*axis.axis)));
  if (!mayBeOutside)
    return;
  // As unsigned numbers negative indices are beyond every size.
  Value inside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       at, index(axis.size));
  line.inside = line.inside
                    ? arith::AndIOp::create(builder, loc, line.inside, inside)
                    : inside;
}

void ImageBuilder::findSource(Line &line) {
  Value number = line.number, element = line.element;
  for (size_t i = tile.axes.size(); i-- > 1;) {
    const WindowAxis &axis = tile.axes[i];
    Value w = mod(element, index(axis.window));
    element = floorDiv(element, index(axis.window));
    Value moved = mul(w, axis.dilation);
    if (i + 1 == tile.axes.size()) {
      line.shift = sub(moved, index(axis.low));
      continue;
    }
    Value pixel = mod(number, index(axis.pixels));
    number = floorDiv(number, index(axis.pixels));
    addAxis(line, axis, add(mul(pixel, axis.stride), moved), axis.padded());
  }
  // All phases have as many rows, of which the last may be met in some alone.
  const WindowAxis &rows = tile.rows();
  addAxis(line, rows, add(mul(number, rows.stride), line.phase),
          rows.padded() || rows.stride > 1);
}

void ImageBuilder::copyLine(const Line &line) {
  Value end = tile.oneLine() ? countN : index(tile.line().pixels);
  auto store = [&](Value pixel, Value pixels) {
    storeVector(pixels, memory, add(line.to, pixel));
  };
  auto copyPixels = [&] {
    forRange(index(0), end, laneCount,
             [&](Value pixel) { store(pixel, loadPixels(line, pixel)); });
  };
  auto fill = [&] {
    SmallVector<Value> nothing(tile.perLane, paddingOfB());
    Value pixels = packed(nothing);
    forRange(index(0), end, laneCount,
             [&](Value pixel) { store(pixel, pixels); });
  };
  if (!line.inside)
    return copyPixels();
  ifElse(line.inside, copyPixels, fill);
}

/// A vector of pixels, which are `stride` apart in the image.
Value ImageBuilder::loadPixels(const Line &line, Value pixel) {
  int64_t stride = tile.line().stride, lanes = width.count;
  Value at = add(mul(add(firstPixel(), pixel), stride), line.shift);
  Value result = loadPart(line, at);
  for (int64_t part = 1; part < stride; ++part) {
    // Lanes of earlier parts are there, those of later ones are any.
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t element = lane * stride;
      bool earlier = element < part * lanes;
      from.push_back(!earlier   ? lanes + element % lanes
                     : part > 1 ? lane
                                : element);
    }
    result = vector::ShuffleOp::create(
        builder, loc, result, loadPart(line, add(at, lanesOf(part))), from);
  }
  return result;
}

/// What a copy has of these elements, one of each channel of a pixel.
Value ImageBuilder::packed(ArrayRef<Value> elements) {
  return vnni.narrow ? narrow.packElements(elements)
                     : convertRight(elements.front());
}

/// A vector of neighbours in the image, from an index of its line on.
Value ImageBuilder::loadPart(const Line &line, Value at) {
  Value start = add(line.source, at), nothing = paddingOfB();
  Value size = index(tile.line().size);
  Value inside =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, at, size);
  Value whole = arith::AndIOp::create(builder, loc, inside,
                                      lessOrEqual(add(at, laneCount), size));
  auto type = cast<VectorType>(nothing.getType());
  auto loadChannels = [&](function_ref<Value(Value)> load) {
    SmallVector<Value> channels;
    for (int64_t channel = 0; channel < tile.perLane; ++channel)
      channels.push_back(load(
          channel ? add(start, mul(axisStrideOfB(*tile.channelAxis), channel))
                  : start));
    return packed(channels);
  };
  auto loadInside = [&]() -> Value {
    Value lanes = vector::StepOp::create(builder, loc,
                                         vectorType(builder.getIndexType()));
    lanes = arith::IndexCastOp::create(builder, loc,
                                       vectorType(builder.getI32Type()), lanes);
    lanes = arith::AddIOp::create(builder, loc, lanes, splat(at));
    Value mask = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                       lanes, splat(size));
    return loadChannels([&](Value from) -> Value {
      return vector::MaskedLoadOp::create(builder, loc, type, operands.b.memref,
                                          ValueRange(from), mask, nothing);
    });
  };
  return either(
      whole, vectorType(element),
      [&] {
        return loadChannels([&](Value from) {
          return loadContiguous(operands.b.memref, from, Value());
        });
      },
      loadInside);
}

} // namespace backplane
