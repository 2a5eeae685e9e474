// SPDX-License-Identifier: Apache-2.0
//
// Messages.h: the payloads of frames. Each has one encode and one decode; a
// decode takes any bytes, allocates no more than the payload holds, and refuses
// bytes that are left over.
#ifndef BACKPLANE_WORKER_MESSAGES_H
#define BACKPLANE_WORKER_MESSAGES_H

#include "Frame.h"

#include <string>

namespace backplane::worker {

using Payload = std::vector<uint8_t>;

/// A tensor as it travels; at most 16 dims.
struct WireTensor {
  uint32_t dtype = 0;
  std::vector<int64_t> dims;
  Payload data;
};

/// What a target declares about one op class and dtype (bp_numerics_t).
struct WireNumerics {
  std::string opClass;
  uint32_t dtype = 0, accumulatorBits = 0, rounding = 0, flags = 0;
  uint32_t operandBits = 0;
};

/// A file of a plug-in.
struct WireFile {
  std::string name; ///< without its folder
  std::string sha256;
};

/// A bp_property_t.
struct WireProperty {
  std::string key;
  uint32_t kind = 0;
  int64_t i64 = 0;
  double f64 = 0;
  std::string text;
  std::vector<int64_t> i64s;
};

/// A device as a worker lists it: bp_device_listing_t with its device info.
struct WireDevice {
  std::string uri, plugin, manifest, refusal;
  /// Of the device info; without one `id` is empty.
  std::string id, name, identity;
  uint32_t kind = 0, flags = 0, maxBindings = 0, maxConstants = 0,
           workerCount = 0;
  std::vector<uint32_t> maxGrid = {0, 0, 0};
  uint64_t maxBufferSize = 0, maxBindingRange = 0, bindingAlignment = 0,
           memoryBytes = 0;
  std::vector<std::string> formats, features;
  std::vector<WireProperty> properties;
};

/// A registered kernel as its set describes it (bp_kernel_t).
struct WireKernel {
  std::string set, version; ///< of the set
  std::string text;
  /// Bindings that it brings into a form of its own before any call, which are
  /// weights then.
  std::vector<uint32_t> weights;
};

struct Hello {
  std::string version; ///< of the product
  std::string machine; ///< operating system, architecture and processor
  std::vector<WireDevice> devices; ///< all that the worker has
  std::string device;              ///< full URI
  std::string deviceName;
  std::string plugin;
  uint32_t deviceFlags = 0; ///< BP_DEVICE_
  uint32_t deviceKind = 0;  ///< BP_DEVICE_KIND_
  uint64_t bufferBytes = 0; ///< of the largest buffer; 0: it says nothing
  /// Of the target that compiling takes for the device; empty: there is none.
  std::string target;
  uint64_t storageDTypes = 0, computeDTypes = 0; ///< bp_dtype_set_t
  std::vector<WireNumerics> numerics;
  /// Those of the target, or all where there is none, of the sets that the
  /// process has.
  std::vector<WireKernel> kernels;
  /// Manifest and libraries of the plug-ins that drive and compile, and of the
  /// sets of kernels.
  std::vector<WireFile> files;
  /// Multiply-adds that one case may take; 0: they declare no limit.
  uint64_t budget = 0;
};

struct ArtifactMessage {
  std::string hash; ///< XXH3-128 of the bytes, 32 hexadecimal digits
  Payload bytes;
};

struct OfferMessage {
  std::string hash; ///< of an artifact
};

struct OpenMessage {
  /// Lets the worker take the best variant that loads.
  static constexpr uint32_t anyVariant = UINT32_MAX;

  std::string artifact;      ///< its hash
  uint64_t memoryBudget = 0; ///< bytes of device memory, 0: unlimited
  /// Index in the artifact: this variant or none.
  uint32_t variant = anyVariant;
};

struct OpenedMessage {
  uint64_t session = 0;
  uint64_t dispatches = 0; ///< of one call
  std::string choice;      ///< which variant, and why
};

/// Payload of RESET and CLOSE.
struct SessionMessage {
  uint64_t session = 0;
};

struct RunMessage {
  std::string artifact; ///< its hash
  std::vector<WireTensor> inputs;
  /// Bytes that outputs hold before the run: of floats (all-ones is a NaN in
  /// every format), and of all else.
  uint8_t floatFill = 0xFF, otherFill = 0xA5;
  /// Of OPENED; 0: one that the worker keeps for the artifact.
  uint64_t session = 0;
};

struct ResultMessage {
  std::vector<WireTensor> outputs;
  double milliseconds = 0;
  double cpuMilliseconds = 0; ///< that this process computed meanwhile
  /// What the run did to memory that was not its own; empty: nothing.
  std::string damage;
};

/// Calls that run many times, or at once.
struct BatchMessage {
  enum Mode : uint32_t {
    InTurn,  ///< one after another
    Overlap, ///< all are submitted before the first one is waited for
    Threads, ///< each on a thread of its own
  };
  std::vector<RunMessage> runs;
  uint32_t mode = InTurn;
  uint32_t rounds = 1; ///< how often all of them run
  /// Bytes of private memory that the process may take meanwhile beyond what it
  /// has; 0: as before.
  uint64_t spareMemory = 0;
};

struct BatchedMessage {
  std::vector<ResultMessage> results; ///< of the first round, one per run
  /// Of the first call that gave other bits than in the first round; empty:
  /// there was none.
  std::vector<ResultMessage> odd;
  uint64_t oddRun = 0, oddRound = 0; ///< which it was, from 0
};

/// What an application of the suite opens.
struct BeginMessage {
  std::string device; ///< URI
  uint32_t threads = 0;
  uint64_t memoryLimit = 0; ///< bytes of private memory, 0: none
  std::string cacheFolder;  ///< of the context; empty: the user's
};

/// What is around an application; it stays as it is where a member is empty.
struct SurroundMessage {
  std::vector<std::string> variables; ///< NAME=VALUE of the environment
  std::string directory, locale;
  uint32_t mask = 0;       ///< of file modes
  uint32_t files = 0;      ///< that are opened, and stay so
  uint32_t threads = 0;    ///< that are started, and do nothing
  uint32_t processors = 0; ///< that all threads share; 0: those of before
  uint64_t memory = 0; ///< bytes that are taken and written to, if there are
};

struct CompileMessage {
  Payload graph; ///< wire bytes
  std::vector<WireTensor> weights;
  std::string kernel; ///< as bp_compile_options_t has it
};

/// What bp_artifact_compile gets, or bp_artifact_compile_graph where there is a
/// graph, and the plug-ins and the cache of its context.
struct JobMessage {
  std::string model, output, dumpDir;
  std::vector<std::string> targets;
  std::vector<std::string> symbols; ///< with limits
  std::vector<int64_t> minimums, maximums;
  uint32_t flags = 0; ///< BP_COMPILE_
  std::string kernel; ///< as bp_compile_options_t has it
  CompileMessage graph;
  /// Of the context.
  std::string cacheDir; ///< "-": none
  std::vector<std::string> pluginFiles, addPluginFiles, select, disable,
      trustedDirs;
  uint32_t threads = 0; ///< 0: one per core
};

struct CompiledMessage {
  Payload artifact;
  double milliseconds = 0;
};

struct CheckMessage {
  std::string check; ///< id
  /// Hashes of the artifact that the check needs, sent before, and of what the
  /// same graph gave when it was compiled again; empty: none.
  std::string artifact, again;
};

struct CheckedMessage {
  uint32_t outcome = 0; ///< 0 pass, 1 fail, 2 not supported, 3 no resources
  std::string text;     ///< what was found, empty for a pass
  double milliseconds = 0;
};

/// What a bundle is for; the first frame of its results has the same.
struct BundleMessage {
  std::string kind;    ///< "model" or "cases"
  std::string version; ///< of the product that made it
  std::string target;  ///< that it is compiled for
  std::string device;  ///< URI, as the machine that runs it sees it
  /// Of a model: the names of its outputs. Of cases: how they were chosen.
  std::vector<std::string> facts;
  std::string bundle; ///< of results: SHA-256 of the bundle's file
};

struct AnswerMessage {
  std::string run;   ///< hash of the payload of its RUN or CHECK
  uint32_t type = 0; ///< FrameType: RESULT, CHECKED or ERROR
  Payload payload;
};

struct EndMessage {
  uint64_t frames = 0; ///< messages before this one
};

struct ErrorMessage {
  int32_t code = 0; ///< BP_STATUS_
  std::string text;
};

/// For each struct above whose name ends in Message, and Hello.
template <typename Message> Payload encode(const Message &message);
/// Fails with BP_STATUS_DATA_LOSS on anything that encode does not write.
template <typename Message>
Status decode(std::span<const uint8_t> payload, Message &message);

} // namespace backplane::worker

#endif // BACKPLANE_WORKER_MESSAGES_H
