// SPDX-License-Identifier: Apache-2.0
//
// bp-kernel-bench FILE.mlir [n=123 …] [--threads T] [--isa avx512|avx2|base]
//   [--flops EXPRESSION] [--function NAME] [--dump] [--no-check] [--plain]
//
// Compiles each dispatch of a file (or the named one), compares it with plain
// loops and times it. Symbols that are not given are 8. The file may be what
// `bp compile --dump-stages` leaves of the fusion stage.
#include "sdk/emit/test/KernelHarness.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

using namespace backplane;
using namespace backplane::test;

namespace {

struct Options {
  std::string file, flops, function;
  SymbolValues symbols;
  unsigned threads = 1;
  Isa isa = ownIsas()[0];
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
    else if (argument == "--function")
      options.function = argv[++i];
    else if (argument == "--isa")
      options.isa = !strcmp(argv[++i], "avx2")   ? Isa::Avx2
                    : !strcmp(argv[i], "avx512") ? Isa::Avx512
                    : !strcmp(argv[i], "neon")   ? Isa::Neon
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
  // CPU time of one thread is less disturbed by other programs.
  clockid_t id =
      options.threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
  auto clock = [&] {
    timespec time;
    clock_gettime(id, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
  };
  double best = INFINITY, start = clock();
  for (int i = 0; i < 3 || clock() - start < 0.2; ++i) {
    double begin = clock();
    kernel.run(buffers.pointers(), options.symbols, options.threads);
    best = std::min(best, clock() - begin);
  }
  return best;
}

static int check(const Kernel &kernel, const std::string &text,
                 const std::string &name, const Buffers &buffers,
                 uint32_t error, const Options &options) {
  auto plain = Kernel::compile(text, hostTarget(options.isa), plainStages(),
                               false, name);
  if (!plain)
    return 1;
  Buffers expected(kernel.bindings(), options.symbols, 7);
  uint32_t plainError = plain->run(expected.pointers(), options.symbols);
  double worst =
      compareOutputs(kernel.bindings(), buffers, expected, options.symbols);
  bool ok = worst < 1e-3 && error == plainError;
  printf("  %s: largest error %.3g, error word %x (plain %x)\n",
         ok ? "ok" : "WRONG", worst, error, plainError);
  return ok ? 0 : 1;
}

static int runDispatch(const std::string &text, const std::string &name,
                       Options options) {
  auto kernel =
      Kernel::compile(text, hostTarget(options.isa),
                      options.plain ? plainStages() : fastStages(options.isa),
                      options.dump, name);
  if (!kernel) {
    printf("%s: FAILED to compile\n", name.c_str());
    return 1;
  }
  for (const std::string &symbol : kernel->symbols())
    options.symbols.emplace(symbol, 8);
  const EntryInfo &entry = kernel->entry();
  printf("%s: grid %s, %s, %s; workspace %s; compiled in %.0f ms\n",
         name.c_str(), entry.grid[0].c_str(), entry.grid[1].c_str(),
         entry.grid[2].c_str(), entry.workspace.c_str(),
         kernel->compileSeconds() * 1e3);
  Buffers buffers(kernel->bindings(), options.symbols, 7);
  uint32_t error = kernel->run(buffers.pointers(), options.symbols, 1);
  int status =
      options.check ? check(*kernel, text, name, buffers, error, options) : 0;
  double seconds = timeKernel(*kernel, buffers, options);
  printf("  %.4f ms", seconds * 1e3);
  if (!options.flops.empty())
    printf(", %.1f G/s", *Dim::parse(options.flops)->evaluate(options.symbols) /
                             seconds / 1e9);
  printf("\n");
  return status;
}

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  std::ifstream file(options.file);
  std::stringstream text;
  text << file.rdbuf();
  int status = 0;
  for (const std::string &name : dispatchNames(text.str()))
    if (options.function.empty() || options.function == name)
      status |= runDispatch(text.str(), name, options);
  return status;
}
