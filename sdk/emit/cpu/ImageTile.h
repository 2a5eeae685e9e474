// SPDX-License-Identifier: Apache-2.0
//
// ImageTile.h: the part of an image that the windows of a work-group meet.
// Private to this folder.
//
// The columns of a convolution are pixels, its k runs over channels and the
// elements of a window. Under elements that differ in their row alone lie the
// same pixels, a row further. So a group copies rows of pixels, with their
// padding, once for each element of a row of the window, and the micro-kernel
// reads its vectors of pixels in any row of a copy. Where an instruction
// multiplies several bytes of a lane, a pixel of a copy has those of as many
// channels, which are the last loop of k.
#ifndef BACKPLANE_EMIT_CPU_IMAGETILE_H
#define BACKPLANE_EMIT_CPU_IMAGETILE_H

#include "sdk/emit/cpu/Contraction.h"

namespace backplane {

/// An axis of B along which windows lie: pixel o meets element w of its window
/// at o * stride + w * dilation - low.
struct WindowAxis {
  std::optional<unsigned> axis; ///< of B; none: one pixel, one element
  bool hasLoop = false;         ///< of n; else it has one pixel
  int64_t pixels = 1, window = 1;
  int64_t stride = 1, dilation = 1;
  int64_t low = 0, size = 1; ///< padding in front, elements behind that

  /// Whether some pixel meets the padding.
  bool padded() const {
    int64_t last = (pixels - 1) * stride + (window - 1) * dilation;
    return low > 0 || last >= low + size;
  }
};

/// In memory the copies have channels, elements of a row of the window, phases
/// and pixels, last one fastest. A phase has the rows that are `stride` apart.
/// Its pixels follow each other as those of the result do, line by line.
struct ImageTile {
  llvm::SmallVector<WindowAxis> axes;  ///< that of rows, one or more in a row
  std::optional<unsigned> channelAxis; ///< of B; none: there is one channel
  int64_t perLane = 1;                 ///< channels that a pixel has
  /// Of rows that windows meet; some may end with a row beyond the last one.
  llvm::SmallVector<int64_t> phases;
  // Elements from one to the next, and of all of it.
  int64_t phasePitch = 0, copyPitch = 0, channelPitch = 0, elements = 0;

  const WindowAxis &rows() const { return axes.front(); }
  const WindowAxis &line() const { return axes.back(); }
  llvm::ArrayRef<WindowAxis> inRow() const {
    return llvm::ArrayRef(axes).drop_front();
  }
  /// Whether the image is one line of pixels, of which a group copies a part.
  bool oneLine() const {
    return axes.size() == 2 && rows().pixels == 1 && rows().window == 1;
  }
  int64_t pixelsOfRow() const;
  int64_t windowOfRow() const;
  int64_t window() const { return rows().window * windowOfRow(); }
  /// Elements of k that the channels of a copy have.
  int64_t depth() const { return window() * perLane; }
  /// The share of the elements of rows of windows that are padding for all
  /// pixels of a tile of so many, which lies in one line.
  double leftOut(int64_t pixels) const;
  /// Whether that is enough to look for them.
  bool leavesOut(int64_t pixels) const { return leftOut(pixels) > 0.05; }
  /// Rows of a phase from the first element of a window to the last one.
  int64_t rowReach() const {
    return (rows().window - 1) * rows().dilation / rows().stride;
  }
  /// Where row w of a window lies, from where row 0 of it does.
  int64_t offsetOfRow(int64_t w) const;

  /// Makes room for so many pixels of a group and elements of k, and for as
  /// many elements behind them as are stored or read with the last one.
  void place(int64_t columns, int64_t countK, int64_t slack);
};

/// None where B is no image with known sizes, or a copy has no use. So many
/// elements of k are multiplied in a lane.
std::optional<ImageTile> matchImageTile(Contraction &c, int64_t perLane);

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_IMAGETILE_H
