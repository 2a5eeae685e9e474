// SPDX-License-Identifier: Apache-2.0
//
// Product.h: products of one context of CUDA by cuBLASLt.
//
// Matrices of the graph are row by row, those of cuBLASLt column by column: one
// is the transpose of the other in the same bytes. So y = x * w is computed as
// its transpose, w' * x', whose columns are the rows of y; what is added to
// each row of y is the bias of cuBLASLt, one number for each row of y'.
#ifndef BACKPLANE_CUBLASLT_PRODUCT_H
#define BACKPLANE_CUBLASLT_PRODUCT_H

#include "Library.h"
#include "backplane/cpp/PluginHost.h"
#include "backplane/kernel.h"

#include <array>
#include <map>
#include <mutex>
#include <optional>

namespace backplane::cublaslt {

/// Bytes of scratch of each call: what NVIDIA recommends for Hopper, enough for
/// the others.
inline constexpr uint64_t workspaceBytes = uint64_t(32) << 20;

/// The parameters of a launch, in order. Bindings are x [m, k], w [k, n] or
/// [n, k], a row of n to add, perhaps a matrix [m, n] to add, y [m, n].
struct Shape {
  int64_t m, n, k;
  int64_t type;        ///< cudaDataType
  int64_t compute;     ///< cublasComputeType_t
  int64_t transposed;  ///< w is [n, k]
  int64_t hasBias;     ///< 0 or 1
  int64_t hasResidual; ///< 0 or 1
};
inline constexpr size_t shapeParameters = sizeof(Shape) / sizeof(int64_t);

/// A handle of cuBLASLt and the algorithms that it chose. The handle stays:
/// when this goes, its context may be gone. Thread-safe.
class Products {
public:
  /// The handle of the thread's current context.
  static Result<std::unique_ptr<Products>> open(const Library &library,
                                                plugin::Host host);
  ~Products() = default;
  Products(const Products &) = delete;
  Products &operator=(const Products &) = delete;

  /// bp_native_function_t.launch; `self` is a Products.
  static bp_status_t launch(void *self, const bp_native_launch_t *launch,
                            bp_error_t *error) noexcept;

private:
  class Call;
  /// A shape and how its operands are aligned.
  using Key = std::array<int64_t, shapeParameters + 4>;

  Products(const Library &library, plugin::Host host)
      : library_(library), host_(host) {}
  Status run(const bp_native_launch_t &launch);
  std::optional<cublasLtMatmulAlgo_t> known(const Key &key);

  const Library &library_;
  plugin::Host host_;
  cublasLtHandle_t handle_ = nullptr;
  std::mutex mutex_;
  std::map<Key, cublasLtMatmulAlgo_t> algorithms_; ///< guarded by mutex_
};

} // namespace backplane::cublaslt

#endif // BACKPLANE_CUBLASLT_PRODUCT_H
