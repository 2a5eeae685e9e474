// SPDX-License-Identifier: Apache-2.0
#include "Product.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace backplane::cublaslt {
namespace {

/// What cuBLASLt makes and takes back.
template <typename T>
using Owned =
    std::unique_ptr<std::remove_pointer_t<T>, cublasStatus_t (*)(T made)>;

/// Bytes to which an address is aligned, as far as cuBLASLt asks.
uint32_t alignmentOf(uint64_t address) {
  constexpr uint64_t largest = 256;
  return uint32_t(std::min(largest, address ? address & -address : largest));
}

const void *pointer(uint64_t address) {
  return reinterpret_cast<const void *>(address);
}

} // namespace

/// One product: descriptors, the algorithm, the call. The first failure stays.
class Products::Call {
public:
  Call(Products &products, const bp_native_launch_t &launch)
      : own_(products), library_(products.library_), launch_(launch),
        operation_(nullptr, library_.cublasLtMatmulDescDestroy),
        a_(nullptr, library_.cublasLtMatrixLayoutDestroy),
        b_(nullptr, library_.cublasLtMatrixLayoutDestroy),
        d_(nullptr, library_.cublasLtMatrixLayoutDestroy) {
    std::memcpy(&shape_, launch.parameters, sizeof shape_);
  }

  Status run() {
    if (!shape_.m || !shape_.n)
      return {};
    describeOperation();
    const Shape &s = shape_;
    a_ = s.transposed ? layout(s.k, s.n) : layout(s.n, s.k);
    b_ = layout(s.k, s.m);
    d_ = layout(s.n, s.m);
    if (status_.ok())
      multiply(algorithm());
    return status_;
  }

private:
  void check(cublasStatus_t status, const char *what) {
    if (status_.ok())
      status_ = library_.check(status, what);
  }
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T &value) {
    if (status_.ok())
      check(library_.cublasLtMatmulDescSetAttribute(operation_.get(), attribute,
                                                    &value, sizeof value),
            "cublasLtMatmulDescSetAttribute");
  }

  void describeOperation() {
    cublasLtMatmulDesc_t made = nullptr;
    check(library_.cublasLtMatmulDescCreate(
              &made, cublasComputeType_t(shape_.compute), CUDA_R_32F),
          "cublasLtMatmulDescCreate");
    operation_.reset(made);
    set(CUBLASLT_MATMUL_DESC_TRANSA,
        int32_t(shape_.transposed ? CUBLAS_OP_T : CUBLAS_OP_N));
    if (!shape_.hasBias)
      return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t(CUBLASLT_EPILOGUE_BIAS));
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, pointer(launch_.bindings[2]));
  }

  /// A matrix without gaps between its columns.
  Owned<cublasLtMatrixLayout_t> layout(int64_t rows, int64_t columns) {
    cublasLtMatrixLayout_t made = nullptr;
    check(library_.cublasLtMatrixLayoutCreate(&made, cudaDataType(shape_.type),
                                              uint64_t(rows), uint64_t(columns),
                                              rows),
          "cublasLtMatrixLayoutCreate");
    return {made, library_.cublasLtMatrixLayoutDestroy};
  }

  /// The addresses of A, B, C and D of cuBLASLt. C is not read where nothing
  /// is added.
  std::array<uint64_t, 4> addresses() const {
    const uint64_t *all = launch_.bindings;
    const uint64_t result = all[launch_.binding_count - 1];
    return {all[1], all[0], shape_.hasResidual ? all[3] : result, result};
  }

  Key key() const {
    Key key;
    std::copy_n(launch_.parameters, shapeParameters, key.begin());
    std::ranges::transform(addresses(), key.begin() + shapeParameters,
                           alignmentOf);
    return key;
  }

  /// The one that was chosen for this shape, or else is chosen now.
  cublasLtMatmulAlgo_t algorithm() {
    const Key key = this->key();
    if (auto found = own_.known(key))
      return *found;
    cublasLtMatmulAlgo_t chosen = choose();
    if (status_.ok()) {
      std::lock_guard lock(own_.mutex_);
      own_.algorithms_.emplace(key, chosen);
    }
    return chosen;
  }

  cublasLtMatmulAlgo_t choose() {
    cublasLtMatmulPreference_t made = nullptr;
    check(library_.cublasLtMatmulPreferenceCreate(&made),
          "cublasLtMatmulPreferenceCreate");
    const Owned<cublasLtMatmulPreference_t> preference(
        made, library_.cublasLtMatmulPreferenceDestroy);
    auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute,
                      auto value) {
      if (status_.ok())
        check(library_.cublasLtMatmulPreferenceSetAttribute(
                  made, attribute, &value, sizeof value),
              "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, launch_.scratch_bytes);
    // Parts of a sum are added up in f32.
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
           uint32_t(CUBLASLT_REDUCTION_SCHEME_MASK &
                    ~CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
    const std::array<uint64_t, 4> places = addresses();
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignmentOf(places[0]));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignmentOf(places[1]));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignmentOf(places[2]));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignmentOf(places[3]));
    cublasLtMatmulHeuristicResult_t result = {};
    int count = 0;
    if (status_.ok())
      check(library_.cublasLtMatmulAlgoGetHeuristic(
                own_.handle_, operation_.get(), a_.get(), b_.get(), d_.get(),
                d_.get(), made, 1, &result, &count),
            "cublasLtMatmulAlgoGetHeuristic");
    if (status_.ok() && !count)
      status_ = unimplemented("cuBLASLt has no algorithm for this product");
    return result.algo;
  }

  void multiply(const cublasLtMatmulAlgo_t &algorithm) {
    if (!status_.ok())
      return;
    const float one = 1, beta = shape_.hasResidual ? 1 : 0;
    const auto [a, b, c, d] = addresses();
    check(library_.cublasLtMatmul(
              own_.handle_, operation_.get(), &one, pointer(a), a_.get(),
              pointer(b), b_.get(), &beta, pointer(c), d_.get(),
              reinterpret_cast<void *>(d), d_.get(), &algorithm,
              reinterpret_cast<void *>(launch_.scratch), launch_.scratch_bytes,
              static_cast<cudaStream_t>(launch_.queue)),
          "cublasLtMatmul");
  }

  Products &own_;
  const Library &library_;
  const bp_native_launch_t &launch_;
  Shape shape_;
  Status status_;
  Owned<cublasLtMatmulDesc_t> operation_;
  Owned<cublasLtMatrixLayout_t> a_, b_, d_;
};

Result<std::unique_ptr<Products>> Products::open(const Library &library,
                                                 plugin::Host host) {
  std::unique_ptr<Products> made(new Products(library, host));
  if (Status s = library.check(library.cublasLtCreate(&made->handle_),
                               "cublasLtCreate");
      !s.ok())
    return s;
  return made;
}

std::optional<cublasLtMatmulAlgo_t> Products::known(const Key &key) {
  std::lock_guard lock(mutex_);
  auto found = algorithms_.find(key);
  return found == algorithms_.end() ? std::nullopt
                                    : std::optional(found->second);
}

Status Products::run(const bp_native_launch_t &launch) {
  if (launch.parameter_count != shapeParameters)
    return invalidArgument("a product has other parameters");
  Shape shape;
  std::memcpy(&shape, launch.parameters, sizeof shape);
  const uint64_t least = shape.hasResidual ? 5 : 4;
  if (launch.binding_count < least || launch.binding_count > 5)
    return invalidArgument("a product has other bindings");
  return Call(*this, launch).run().within("cublaslt");
}

bp_status_t Products::launch(void *self, const bp_native_launch_t *launch,
                             bp_error_t *error) noexcept {
  auto &own = *static_cast<Products *>(self);
  return plugin::guarded(own.host_, error, [&] { return own.run(*launch); });
}

} // namespace backplane::cublaslt
