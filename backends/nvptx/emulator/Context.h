// SPDX-License-Identifier: Apache-2.0
//
// Context.h: the emulated devices, and the primary context of each: its
// streams, modules and the thread that executes what is enqueued.
#pragma once

#include "Error.h"
#include "Machine.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace emulator {

struct DeviceInfo {
  int capability; // 90 of sm_90
  const char *name;
  int multiprocessors;
  int sharedOptin; // bytes of shared memory that a block may ask for
  int sharedPerMultiprocessor;
  int threadsPerMultiprocessor;
  uint64_t memory;
};
constexpr int kDevices = 4;
extern const DeviceInfo kDevice[kDevices];

struct Graph;
struct Context;

struct Event {
  std::atomic<uint64_t> recorded{0}; // how often it was recorded
  std::atomic<uint64_t> completed{0};
  double milliseconds = 0; // of the last completion, since some start
  bool timing = true;
  bool capturing = false; // recorded last in a stream that captures
  std::shared_ptr<Graph> capture;
  // Of the work in front of it: there was no memory to execute it.
  std::atomic<CUresult> failure{CUDA_SUCCESS};
};

struct Stream {
  Context *context = nullptr;
  bool blocking = true; // waits for the stream 0 and the other way round
  bool isDefault = false;
  int priority = 0;
  uint64_t id = 0;
  bool destroyed = false;
  std::shared_ptr<Graph> capture;
  bool capturedFirst = false; // the stream whose capture was begun
  // There was no memory for a piece of work. What follows is dropped up to the
  // next event, or a wait for the stream, which takes the failure away.
  std::atomic<CUresult> failure{CUDA_SUCCESS};
};

// What is enqueued: `ready` says whether it may run, when there is one.
struct Work {
  std::shared_ptr<Stream> stream;
  std::function<bool()> ready;
  std::function<void()> run;
};

struct Graph {
  std::vector<Work> nodes;
  bool broken = false;
};

// Executes work one piece after another, in the order in which it was enqueued
// as far as streams and events let it.
class Executor {
public:
  ~Executor();
  // Starts the thread, if it is not there yet.
  void start();
  void enqueue(Work work);
  // Waits for all work of a stream, or of all when there is none.
  void wait(const Stream *stream);
  bool idle(const Stream *stream);
  // The fault that stopped it, or CUDA_SUCCESS. All work behind it is dropped.
  CUresult error() const { return stopped; }
  void clearError() { stopped = CUDA_SUCCESS; }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::list<Work> pending;
  std::thread thread;
  std::vector<const Stream *> held; // streams whose work waits, in next()
  bool ends = false;
  std::atomic<CUresult> stopped{CUDA_SUCCESS};

  void begin();
  void loop();
  std::list<Work>::iterator next(bool &polls);
  bool has(const Stream *stream) const;
};

struct Module;

struct LoadedFunction {
  Module *module = nullptr;
  std::unique_ptr<Kernel> kernel;
  int dynamicSharedLimit = 48 * 1024;
};

struct Module {
  Context *context = nullptr;
  Syntax syntax;
  std::map<std::string, Symbol> symbols;
  std::map<std::string, std::unique_ptr<LoadedFunction>> functions;
  ~Module();
};

struct Context {
  int device = 0;
  int references = 0;
  std::shared_ptr<Stream> stream0;
  Executor executor;
  std::mutex mutex;
  std::map<Stream *, std::shared_ptr<Stream>> streams;
  std::map<Module *, std::unique_ptr<Module>> modules;

  explicit Context(int device);
  std::shared_ptr<Stream> stream(CUstream handle);
  // Puts work into a stream, or into the graph that it captures.
  void submit(const std::shared_ptr<Stream> &stream, std::function<void()> run,
              std::function<bool()> ready = nullptr);
};

// Makes a module of PTX text. Throws Error.
std::unique_ptr<Module> loadModule(Context &context, std::string_view image);

// The context of the calling thread; throws when there is none or when it has
// had a fault.
Context &current();
Context &primary(int device);
double now();

// Runs `body` and gives the code of the Error that it throws, whose text is
// reported.
CUresult guarded(const std::function<void()> &body);

} // namespace emulator
