// SPDX-License-Identifier: Apache-2.0
//
// Classes.cpp: a plug-in of classes (backplane/cpp/): a driver that copies and
// fills, a compiler whose kernels do nothing, a kernel. With the option
// "throw" = NAME the member of that name throws what "what" says.
#include <backplane/cpp/Compiler.h>
#include <backplane/cpp/Driver.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

using namespace backplane;
using namespace backplane::plugin;

namespace {

/// A short text that needs no constructor.
struct Text {
  char chars[32];
  void operator=(std::string_view text) {
    size_t size = std::min(text.size(), sizeof(chars) - 1);
    std::copy_n(text.data(), size, chars);
    chars[size] = 0;
  }
};
Text thrower, what; ///< of the latest context

/// Throws where the options say so.
void at(std::string_view member) {
#if defined(__cpp_exceptions)
  if (thrower.chars != member)
    return;
  const std::string_view what = ::what.chars;
  if (what == "memory")
    throw std::bad_alloc();
  if (what == "failure")
    throw Failure(notFound("it is not there"));
  if (what == "number")
    throw 7;
  throw std::runtime_error("thrown in " + std::string(member));
#else
  (void)member;
#endif
}

constexpr std::string_view format = "classes-1";

struct Queue;

struct Device {
  struct Buffer {
    std::byte *data = nullptr;
    bool owned = true;
    Host host;
    ~Buffer() {
      if (owned)
        host.release(data);
    }
  };
  struct Executable {
    int64_t number = 0;
  };
  /// Commands that outlive the call; their arrays too.
  struct CommandBuffer {
    std::vector<bp_command_copy_t> copies;
    std::vector<bp_command_fill_t> fills;
    std::vector<std::pair<char, size_t>> order;
  };
  using Queue = ::Queue;

  explicit Device(Host host) : host(host) {}

  Result<std::unique_ptr<Buffer>> allocate(uint32_t space, uint64_t size,
                                           uint64_t alignment) {
    at("allocate");
    if (space > BP_SPACE_STAGING)
      return unimplemented("there is no such memory space");
    void *data = host.allocate(size, std::max<uint64_t>(alignment, 64));
    if (!data)
      return outOfMemory();
    return std::unique_ptr<Buffer>(
        new Buffer{static_cast<std::byte *>(data), true, host});
  }
  Status write(Buffer &buffer, uint64_t offset,
               std::span<const std::byte> data) {
    at("write");
    std::ranges::copy(data, buffer.data + offset);
    return {};
  }
  Status read(Buffer &buffer, uint64_t offset, std::span<std::byte> data) {
    at("read");
    std::copy_n(buffer.data + offset, data.size(), data.begin());
    return {};
  }
  Result<void *> map(Buffer &buffer) {
    at("map");
    return static_cast<void *>(buffer.data);
  }
  Result<std::unique_ptr<Buffer>> import(void *pointer, uint64_t, bool) {
    at("import");
    return std::unique_ptr<Buffer>(
        new Buffer{static_cast<std::byte *>(pointer), false, host});
  }
  Result<std::unique_ptr<Executable>> load(const bp_executable_info_t &info) {
    at("load");
    if (view(info.format) != format || info.blob.size != sizeof(int64_t))
      return invalidArgument("the blob is of another format");
    auto made = std::make_unique<Executable>();
    std::memcpy(&made->number, info.blob.data, sizeof(made->number));
    return made;
  }
  Result<std::unique_ptr<Queue>> createQueue(uint32_t queueClass);
  Result<std::unique_ptr<CommandBuffer>> record(Commands commands);

  Host host;
};

void run(const bp_command_copy_t &copy, const std::byte *from, std::byte *to) {
  std::memcpy(to + copy.target.offset, from + copy.source.offset,
              copy.target.length);
}

void run(const bp_command_fill_t &fill, std::byte *to) {
  for (uint64_t i = 0; i < fill.target.length; ++i)
    to[fill.target.offset + i] =
        std::byte(fill.pattern >> (8 * (i % fill.pattern_size)));
}

struct Queue {
  Host host;

  Status run(Commands commands) {
    at("run");
    return visitCommands<Device>(
        commands,
        Overloaded{
            [](const Dispatch<Device> &dispatch) -> Status {
              if (dispatch.executable().number == 3)
                return dispatch.badData(BP_KERNEL_ERROR(1, 0));
              return dispatch.groups() ? Status() : internalError("no groups");
            },
            [](const Copy<Device> &copy) -> Status {
              std::memcpy(copy.target.buffer->data + copy.target.offset,
                          copy.source.buffer->data + copy.source.offset,
                          copy.target.length);
              return {};
            },
            [](const Fill<Device> &fill) -> Status {
              std::byte *to = fill.target.buffer->data + fill.target.offset;
              for (uint64_t i = 0; i < fill.target.length; ++i)
                to[i] = std::byte(fill.pattern >> (8 * (i % fill.patternSize)));
              return {};
            },
            [](Barrier) { return Status(); }});
  }

  Status executeTimed(Commands commands, std::span<bp_timestamp_t> times,
                      Completion completion) {
    at("executeTimed");
    for (bp_timestamp_t &time : times)
      time = {1, 2};
    completion.done(run(commands));
    return {};
  }

  Status execute(Device::CommandBuffer &commands,
                 std::span<const bp_binding_t> table, Completion completion) {
    at("execute");
    auto dataOf = [&](const bp_binding_t &binding) {
      const bp_binding_t &is = binding.buffer ? binding : table[binding.slot];
      uint64_t more = binding.buffer ? 0 : is.offset;
      return reinterpret_cast<Device::Buffer *>(is.buffer)->data + more;
    };
    for (auto [kind, index] : commands.order)
      if (kind == 'c')
        ::run(commands.copies[index], dataOf(commands.copies[index].source),
              dataOf(commands.copies[index].target));
      else
        ::run(commands.fills[index], dataOf(commands.fills[index].target));
    completion.done();
    return {};
  }
};

Result<std::unique_ptr<Queue>> Device::createQueue(uint32_t queueClass) {
  at("createQueue");
  if (queueClass > BP_QUEUE_TRANSFER)
    return unimplemented("there is no such class of queues");
  return std::make_unique<Queue>(Queue{host});
}

Result<std::unique_ptr<Device::CommandBuffer>>
Device::record(Commands commands) {
  at("record");
  auto made = std::make_unique<CommandBuffer>();
  for (const bp_header_t *command : commands)
    if (command->type == bp_command_copy_t_TYPE) {
      made->order.emplace_back('c', made->copies.size());
      made->copies.push_back(
          *reinterpret_cast<const bp_command_copy_t *>(command));
    } else if (command->type == bp_command_fill_t_TYPE) {
      made->order.emplace_back('f', made->fills.size());
      made->fills.push_back(
          *reinterpret_cast<const bp_command_fill_t *>(command));
    } else if (command->type != bp_command_barrier_t_TYPE) {
      return unimplemented("only copies and fills are recorded");
    }
  return made;
}

class Classes {
public:
  using Device = ::Device;
  static constexpr Description description = {.name = "classes",
                                              .vendor = "test",
                                              .version = "1.0.0",
                                              .requiredMinor = 1};

  explicit Classes(Host host) : host_(host) {}

  static Result<std::unique_ptr<Classes>> initialize(Host host,
                                                     Options options) {
    constexpr std::string_view known[] = {"throw", "what"};
    if (Status status = options.refuseOthers("classes", known); !status.ok())
      return status;
    thrower = options.get("throw");
    what = options.get("what", "exception");
    at("initialize");
    return std::make_unique<Classes>(host);
  }

  Status enumerate(Options options, DeviceSink sink) {
    at("enumerate");
    if (Status status = options.refuseAll("classes"); !status.ok())
      return status;
    bp_device_info_t info = {};
    const bp_string_t formats[] = {toC(format)};
    info.header = BP_HEADER(bp_device_info_t);
    info.id = toC("one");
    info.name = toC("a device of classes");
    info.kind = BP_DEVICE_KIND_OTHER;
    info.flags = BP_DEVICE_SYNCHRONOUS | BP_DEVICE_UNIFIED_MEMORY;
    info.formats = formats;
    info.format_count = 1;
    info.binding_alignment = 64;
    info.max_bindings = 16;
    info.max_constants = BP_MAX_CONSTANTS;
    return sink.put(info);
  }

  Result<std::unique_ptr<Device>> open(std::string_view id, Options options) {
    at("open");
    if (Status status = options.refuseAll("classes"); !status.ok())
      return status;
    if (id != "one")
      return notFound("there is only 'one'");
    return std::make_unique<Device>(host_);
  }

  Status targets(TargetSink sink) {
    at("targets");
    bp_target_t target = {};
    target.header = BP_HEADER(bp_target_t);
    target.name = toC("classes-target");
    target.driver = toC("classes");
    target.format = toC(format);
    return sink.put(target);
  }

  Claim claim(std::string_view, GraphView graph) {
    at("claim");
    auto op = graph.output().producer();
    if (op && op->name() == "matmul")
      return Claim::refuse("no products, found " + std::string(op->name()));
    return {.costNs = double(graph.ops())};
  }

  Result<Compiled> compile(const CompileRequest &request) {
    at("compile");
    if (request.isWeight(0))
      return unimplemented("no weights");
    std::string size(request.graph().output().sizeText(0));
    const int64_t number = request.graph().ops();
    return Compiled{.blob = bytesOf(number),
                    .launches = {{.name = std::string(request.entryName()),
                                  .access = {BP_ACCESS_READ, BP_ACCESS_WRITE},
                                  .grid = {size, "1", "1"},
                                  .parameters = {size}}}};
  }

  Status graphPasses(std::string_view, GraphPassSink sink) {
    at("graphPasses");
    return sink.put("classes-pass", "gives the graph back", "partition");
  }

  Result<std::optional<Graph>> runGraphPass(std::string_view target,
                                            std::string_view pass,
                                            GraphView graph) {
    at("runGraphPass");
    if (target != "classes-target" || pass != "classes-pass")
      return notFound("there is only 'classes-pass' of 'classes-target'");
    if (graph.ops() == 0)
      return std::optional<Graph>();
    Result<std::vector<std::byte>> wire = graph.write();
    if (!wire)
      return wire.status();
    Result<Graph> again = Graph::open(graph.table(), *wire);
    if (!again)
      return again.status();
    return std::optional<Graph>(std::move(*again));
  }

  Status describe(KernelSink sink) {
    at("describe");
    const int64_t number = 1;
    if (Status status =
            sink.putIr("kernel same version 1\n{\n  symbol n\n  %x = input "
                       "f32[n]\n  %y = abs(%x)\n  output %y\n}\n",
                       "classes-*", "func.func @same", "n");
        !status.ok())
      return status;
    return sink.put("kernel neg version 1\n{\n  symbol n\n  %x = input f32[n]\n"
                    "  %y = neg(%x)\n  output %y\n}\n",
                    "classes-*",
                    {.blob = bytesOf(number),
                     .launches = {{.name = "neg",
                                   .access = {BP_ACCESS_READ, BP_ACCESS_WRITE},
                                   .grid = {"n", "1", "1"}}}});
  }

private:
  Host host_;
};

} // namespace

extern "C" BP_PLUGIN_EXPORT int32_t
bp_plugin_query_v0(const bp_host_info_t *host, bp_plugin_info_t *out) {
  return Library<Classes>::query(host, out);
}
