// SPDX-License-Identifier: Apache-2.0
//
// fuzz_seeds FOLDER: good inputs to start from, in one folder per target. ONNX
// models come from the tests of the tool (run_fuzz.py).
#include "Seeds.h"
#include "backends/vulkan/driver/test/MatrixSample.h"
#include "sdk/support/Npy.h"

#include <cstdio>

using namespace backplane;
using namespace backplane::fuzz;

namespace {

/// A .npy file of version 1 with this header.
std::string npy(const std::string &header, size_t dataBytes) {
  return std::string("\x93NUMPY\x01\x00", 8) + char(header.size()) + '\0' +
         header + std::string(dataBytes, '\1');
}

Status writeArrays(const fs::path &folder) {
  writeTexts(
      folder,
      {npy("{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }\n", 8),
       npy("{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }\n", 4),
       npy("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n", 8),
       npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2), }\n", 16),
       npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 8),
       npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }\n", 0),
       npy("{'descr': '<f4', 'fortran_order': False, "
           "'shape': (0, 9223372036854775807, 3), }\n",
           0),
       npy("{'descr': '<f4', 'fortran_order': False, "
           "'shape': (9223372036854775807, 3), }\n",
           8),
       npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }\n", 8),
       npy("{'shape': (), 'fortran_order': False, 'descr': '|b1'}", 1),
       npy("{'descr': '<f4', 'descr': '<f4', 'shape': ()}", 4),
       npy("{'descr': '<f4', 'fortran_order': Maybe, 'shape': [1]}", 4),
       npy("{'descr': '<f4", 0),
       std::string("\x93NUMPY\x03\x00\xff\xff\xff\x7f", 12),
       std::string("\x93NUMPY\x01\x00\x76\x00{'descr'", 18)});
  for (bp_dtype_t dtype :
       {BP_DTYPE_F32, BP_DTYPE_F64, BP_DTYPE_F16, BP_DTYPE_I64, BP_DTYPE_I32,
        BP_DTYPE_I16, BP_DTYPE_I8, BP_DTYPE_U8, BP_DTYPE_U64, BP_DTYPE_BOOL}) {
    auto tensor = Tensor::create(dtype, {2, 3});
    if (!tensor)
      return tensor.status();
    std::string name = dtypeName(dtype) + ".npy";
    if (Status s = writeNpy((folder / name).string(), *tensor); !s.ok())
      return s;
  }
  return {};
}

template <typename Word>
void writeWords(const fs::path &path, const std::vector<Word> &words) {
  write(path, {reinterpret_cast<const uint8_t *>(words.data()),
               words.size() * sizeof(Word)});
}

/// Modules that multiply matrices, good and wrong in one place.
void writeMatrices(const fs::path &folder) {
  using namespace vulkan::matrixsample;
  int number = 0;
  for (const Change &change : {Change{},
                               {.right = A},
                               {.layout = Zero},
                               {.layout = Two},
                               {.scope = Two},
                               {.opcode = 4460},
                               {.opcode = 5361}})
    writeWords(folder / ("matrix" + std::to_string(number++)), module(change));
}

/// What lies beside a kernel that copies two tensors, and one of four axes.
void writeTensors(const fs::path &folder) {
  writeWords<int64_t>(folder / "two", {2, 1, 2, 2, 72, 300, 144, 64, 128, 0, 1,
                                       2, 64, 48, 64, 128, 48});
  writeWords<int64_t>(folder / "axes",
                      {1, 0, 2, 4, 64, 48, 3, 2, 128, 6144, 18432, 64, 48});
  constexpr int64_t size = int64_t(1) << 32, stride = (int64_t(1) << 40) - 1;
  writeWords<int64_t>(folder / "large", {1, 0, 2, 2, 64, size, stride, 64, 64});
}

Status writeAll(const fs::path &root) {
  writeMatrices(folderOf(root, "spirv"));
  writeTensors(folderOf(root, "tensors"));
  writeTexts(folderOf(root, "kernel_text"), kernelTexts());
  writeTexts(folderOf(root, "dim"),
             {"12", "n", "4*n*m - 2", "(n + 3) floordiv 4", "64*(n ceildiv 64)",
              "min(n, max(m, 3))", "n mod 8", "truncdiv(n - m, 2)",
              "select(less(n, m), equal(n, 2), 3)"});
  writeTexts(folderOf(root, "manifest"), manifestSeeds());
  writeTexts(folderOf(root, "names"), names());
  writeTexts(folderOf(root, "cache"), {"BPCACHE1", "x"});
  writeKernels(folderOf(root, "kernel"));
  if (Status s = writeBundles(root); !s.ok())
    return s;
  for (auto *put : {writeGraphs, writeReads, writeControl})
    if (Status s = put(folderOf(root, "wire")); !s.ok())
      return s;
  if (Status s = writeArtifacts(folderOf(root, "artifact")); !s.ok())
    return s;
  if (Status s = writeSubmissions(root); !s.ok())
    return s;
  return writeArrays(folderOf(root, "npy"));
}

} // namespace

int main(int count, char **arguments) {
  if (count != 2) {
    std::fprintf(stderr, "fuzz_seeds: expected one folder\n");
    return 2;
  }
  Status status = writeAll(arguments[1]);
  if (!status.ok())
    std::fprintf(stderr, "fuzz_seeds: %s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
