// SPDX-License-Identifier: Apache-2.0
//
// bp-kernel-bench FILE.mlir [n=123 …] [--threads T] [--isa avx512|avx2|base]
//   [--flops EXPRESSION] [--dump] [--no-check] [--plain]
//
// Compiles a dispatch, compares it with plain loops and times it.
#include "sdk/emit/test/KernelHarness.h"

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

using namespace backplane;
using namespace backplane::test;

namespace {

struct Options {
  std::string file, flops;
  SymbolValues symbols;
  unsigned threads = 1;
  Isa isa = Isa::Avx512;
  bool dump = false, check = true, plain = false;
};

} // namespace

static Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    if (argument == "--threads")
      options.threads = atoi(argv[++i]);
    else if (argument == "--flops")
      options.flops = argv[++i];
    else if (argument == "--isa")
      options.isa = !strcmp(argv[++i], "avx2")   ? Isa::Avx2
                    : !strcmp(argv[i], "avx512") ? Isa::Avx512
                                                 : Isa::Baseline;
    else if (argument == "--dump")
      options.dump = true;
    else if (argument == "--no-check")
      options.check = false;
    else if (argument == "--plain")
      options.plain = true;
    else if (equals != std::string::npos)
      options.symbols[argument.substr(0, equals)] =
          atoll(argument.c_str() + equals + 1);
    else
      options.file = argument;
  }
  return options;
}

static double timeKernel(const Kernel &kernel, const Buffers &buffers,
                         const Options &options) {
  auto clock = [] {
    return std::chrono::duration<double>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  double best = INFINITY, start = clock();
  for (int i = 0; i < 3 || clock() - start < 0.5; ++i) {
    double begin = clock();
    kernel.run(buffers.pointers(), options.symbols, options.threads);
    best = std::min(best, clock() - begin);
  }
  return best;
}

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  std::ifstream file(options.file);
  std::stringstream text;
  text << file.rdbuf();
  EmitTarget target = hostTarget(options.isa);
  auto kernel = Kernel::compile(
      text.str(), target,
      options.plain ? plainStages() : fastStages(options.isa), options.dump);
  if (!kernel)
    return 1;
  const EntryInfo &entry = kernel->entry();
  printf("%s: grid %s, %s, %s; workspace %s; compiled in %.0f ms\n",
         entry.name.c_str(), entry.grid[0].c_str(), entry.grid[1].c_str(),
         entry.grid[2].c_str(), entry.workspace.c_str(),
         kernel->compileSeconds() * 1e3);
  Buffers buffers(kernel->bindings(), options.symbols, 7);
  uint32_t error = kernel->run(buffers.pointers(), options.symbols, 1);
  int status = 0;
  if (options.check) {
    auto plain = Kernel::compile(text.str(), target, plainStages());
    if (!plain)
      return 1;
    Buffers expected(kernel->bindings(), options.symbols, 7);
    uint32_t plainError = plain->run(expected.pointers(), options.symbols);
    double worst =
        compareOutputs(kernel->bindings(), buffers, expected, options.symbols);
    printf("largest error %.3g, error word %x (plain %x)\n", worst, error,
           plainError);
    status = worst < 1e-3 && error == plainError ? 0 : 1;
  }
  double seconds = timeKernel(*kernel, buffers, options);
  printf("%.4f ms", seconds * 1e3);
  if (!options.flops.empty())
    printf(", %.1f G/s", *Dim::parse(options.flops)->evaluate(options.symbols) /
                             seconds / 1e9);
  printf("\n");
  return status;
}
