// SPDX-License-Identifier: Apache-2.0
//
// Models.h: hand-made artifacts whose kernels are those of kernels.c, and the
// application side of the C API in short.
#ifndef BACKPLANE_RUNTIME_TEST_MODELS_H
#define BACKPLANE_RUNTIME_TEST_MODELS_H

#include "backplane/cpp/Backplane.h"
#include "sdk/package/test/Sample.h"

#include <filesystem>

namespace backplane::test {

/// A folder that lives as long as this object.
class Folder {
public:
  Folder();
  ~Folder();
  std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }

private:
  std::string path_;
};

/// What a test writes: the artifact and its weights.
struct Draft {
  fb::ArtifactT artifact;
  WeightPool pool;

  /// A variant of the host driver with the kernels add, multiply and count as
  /// executables 0, 1 and 2.
  fb::VariantT &addVariant(std::string target, uint32_t rank);
  void addSymbol(std::string name, int64_t minimum, int64_t maximum,
                 int64_t divisor = 1);
  void addVariable(std::string name, std::vector<std::string> dims,
                   int32_t initial);
};

/// The format of images that the host driver takes on this machine.
#if defined(__aarch64__)
inline constexpr const char *hostFormat = "elf-aarch64";
#else
inline constexpr const char *hostFormat = "elf-x86_64";
#endif

Bytes floats(std::vector<float> values);

/// The signature y: f32[n, 4] of x: f32[n, 4], and a weight with 1, 2, 3 and 4.
/// Returns the number of the weight.
uint32_t addRows(Draft &draft);

/// y = (x + 3 + 4) * w, x: f32[n, 4], w: f32[4]; its transient is planned at
/// run time.
void affine(Draft &draft);
/// y = x + 5, x: f32[8], planned at compile time.
void fixed(Draft &draft);
/// A variable that starts at 10 and grows by x[0]; y is its new value.
void counter(Draft &draft);
/// y = x * c, where the init program makes the constant c = w + 1.
void packed(Draft &draft);

/// Context over the in-tree host driver.
Context hostContext();
Status write(Draft &draft, const std::string &path);
/// Writes and opens it.
Result<Artifact> open(const Context &context, Draft &draft,
                      const std::string &path);

/// A dense f32 tensor.
struct Floats {
  std::vector<int64_t> dims;
  std::vector<float> values;

  explicit Floats(std::vector<int64_t> dims, float value = 0);
  bp_tensor_t c();
};

} // namespace backplane::test

#endif // BACKPLANE_RUNTIME_TEST_MODELS_H
