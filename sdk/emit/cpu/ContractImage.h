// SPDX-License-Identifier: Apache-2.0
//
// ContractImage.h: copies the part of an image that a group needs, and says
// where its pixels are. Private to this folder.
#ifndef BACKPLANE_EMIT_CPU_CONTRACTIMAGE_H
#define BACKPLANE_EMIT_CPU_CONTRACTIMAGE_H

#include "sdk/emit/cpu/ContractScope.h"
#include "sdk/emit/cpu/ContractVnni.h"

namespace backplane {

/// The pixels of a panel.
struct PixelPanel {
  mlir::Value start;     ///< in the copies, of the first element of a window
  mlir::Value low, high; ///< rows of a window that meet the image
  /// Elements of a row of a window that meet it; null: any may.
  mlir::Value firstInRow = {}, endInRow = {};
};

class ImageBuilder : ContractScope {
public:
  /// Makes the memory of the copies.
  explicit ImageBuilder(const ContractScope &scope);

  mlir::Value memory; ///< the copies

  /// Copies the channels that elements firstK to firstK + countK of k have.
  void copy(mlir::Value firstK, mlir::Value countK);
  /// So many columns of the group, from `first` on.
  PixelPanel panel(mlir::Value first, mlir::Value count) const;

  /// Copies the pixels that a panel meets to where B is packed, one row for
  /// each element of k: a tile register takes rows that are equally far apart.
  void copyPanel(const PixelPanel &panel, mlir::Value countK,
                 mlir::Value packedB) const;

private:
  /// Pixels in a row of the image, and where in the copies they go.
  struct Line {
    mlir::Value number;  ///< among the lines of the result
    mlir::Value element; ///< of a row of the window
    int64_t phase;
    mlir::Value source; ///< where the channel begins in B
    mlir::Value to;
    mlir::Value inside = {}; ///< whether it is in the image; null: it is
    mlir::Value shift = {};  ///< of the first pixel in the line
  };
  mlir::Value elementsBefore(const WindowAxis &axis, int64_t size,
                             mlir::Value pixel) const;
  void copyChannel(mlir::Value source, mlir::Value to, mlir::Value lines);
  void findSource(Line &line);
  void addAxis(Line &line, const WindowAxis &axis, mlir::Value at,
               bool mayBeOutside);
  void copyLine(const Line &line);
  mlir::Value loadPixels(const Line &line, mlir::Value pixel);
  mlir::Value loadPart(const Line &line, mlir::Value at);
  mlir::Value packed(llvm::ArrayRef<mlir::Value> elements);
  mlir::Value firstPixel() const;
  mlir::Value splat(mlir::Value scalar);

  const ImageTile &tile;
  VnniBuilder narrow;
};

} // namespace backplane

#endif // BACKPLANE_EMIT_CPU_CONTRACTIMAGE_H
