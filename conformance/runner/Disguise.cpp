// SPDX-License-Identifier: Apache-2.0
#include "Disguise.h"

#include "conformance/cases/Data.h"

#include <cstdlib>
#include <filesystem>

namespace backplane::conformance {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

namespace {

// ---- the process ----

/// Names and arguments of programs that run models.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization)
const Words commands[] = {
    {"python3", "-m", "uvicorn", "service:app", "--port", "8000"},
    {"node", "server.js"},
    {"inference-server", "--config", "/etc/inference/config.yaml"},
    {"render", "scene.json", "--threads", "4"},
    {"transcribe", "--language", "en", "meeting.wav"},
    {"gst-launch-1.0", "filesrc", "location=clip.mp4"},
    {"photo-index", "--watch", "Pictures"},
    {"java", "-Xmx2g", "-jar", "service.jar"},
    {"api", "serve"},
    {"main"}};

/// A new folder with a name as other programs give it.
Result<std::string> makeFolder() {
  std::error_code code;
  std::string path = (fs::temp_directory_path(code) / "tmpXXXXXX").string();
  if (code || !mkdtemp(path.data()))
    return Status(BP_STATUS_UNAVAILABLE,
                  "cannot make a folder for the application in '" +
                      fs::path(path).parent_path().string() +
                      "'; set TMPDIR to one that can be written to");
  return path;
}

/// The program under another name, with the libraries where it looks for them.
Status copyProgram(const std::string &program, const std::string &folder,
                   const std::string &name) {
  std::error_code code;
  fs::create_directories(folder + "/bin", code);
  if (!code)
    fs::copy_file(program, folder + "/bin/" + name, code);
  fs::path libraries = fs::path(program).parent_path().parent_path() / "lib";
  std::error_code none;
  if (!code && fs::exists(libraries, none))
    fs::create_directory_symlink(fs::canonical(libraries, none),
                                 folder + "/lib", code);
  if (code)
    return Status(BP_STATUS_UNAVAILABLE,
                  "cannot copy '" + program + "': " + code.message());
  return {};
}

} // namespace

Result<std::unique_ptr<Application>>
Application::start(const ApplicationOptions &options) {
  auto folder = makeFolder();
  if (!folder)
    return folder.status();
  std::unique_ptr<Application> application(new Application);
  application->folder_ = *folder;
  Words command = commands[options.seed % std::size(commands)];
  if (Status s = copyProgram(options.program, *folder, command[0]); !s.ok())
    return s;
  command[0] = *folder + "/bin/" + command[0];
  Words whole = options.launcher;
  whole.insert(whole.end(), command.begin(), command.end());
  worker::BeginMessage begin = options.begin;
  begin.cacheFolder = *folder + "/cache";
  auto process =
      worker::Process::startApplication(whole, begin, options.timeout);
  if (!process)
    return process.status();
  application->process_ = std::move(*process);
  return application;
}

Application::~Application() {
  process_.reset();
  std::error_code code;
  fs::remove_all(folder_, code);
}

// ---- the graph ----

namespace {

/// Names that no two values of a graph share.
class Names {
public:
  explicit Names(uint64_t seed) : seed_(seed) {}

  std::string input() {
    static const Words words = {
        "input_ids",     "attention_mask", "pixel_values",
        "hidden_states", "images",         "query",
        "key",           "value",          "input"};
    return next(words, "");
  }
  std::string output() {
    static const Words words = {"logits", "last_hidden_state",
                                "output", "pooler_output",
                                "scores", "boxes"};
    return next(words, "");
  }
  std::string symbol() {
    static const Words words = {"batch_size", "sequence_length", "height",
                                "width",      "num_channels",    "num_heads",
                                "past_length"};
    return next(words, "dim");
  }
  std::string node(const std::string &op) {
    uint64_t number = count_++;
    return "/model/layers." + std::to_string(number / 7) + "/" + op + "_" +
           std::to_string(number);
  }

private:
  std::string next(const Words &words, const std::string &prefix) {
    uint64_t random = randomBits(seed_, count_++);
    return prefix + words[random % words.size()] + "_" + std::to_string(count_);
  }

  uint64_t seed_, count_ = 0;
};

using Symbols = std::map<std::string, Dim, std::less<>>;

void rename(Dims &dims, const Symbols &symbols) {
  for (Dim &dim : dims)
    dim = dim.substitute(symbols);
}

void rename(Graph &graph, const Symbols &symbols, Names &names) {
  graph.name = "main_graph";
  for (Symbol &symbol : graph.symbols)
    if (auto found = symbols.find(symbol.name); found != symbols.end())
      symbol.name = *found->second.symbolName();
  for (DimAssertion &assertion : graph.assertions) {
    assertion.lhs = assertion.lhs.substitute(symbols);
    assertion.rhs = assertion.rhs.substitute(symbols);
  }
  for (Value &value : graph.values)
    rename(value.type.dims, symbols);
  for (ValueId input : graph.inputs)
    graph.values[input].name = names.input();
  for (Op &op : graph.ops) {
    op.location = names.node(op.name);
    for (ValueId result : op.results)
      graph.values[result].name = op.location + "_output_0";
    for (auto &[name, attribute] : op.attributes)
      if (auto *dims = std::get_if<Dims>(&attribute))
        rename(*dims, symbols);
    if (op.name == "read")
      if (auto found = symbols.find(op.string("symbol"));
          found != symbols.end())
        op.attributes["symbol"] = *found->second.symbolName();
    for (Graph &region : op.regions)
      rename(region, symbols, names);
  }
  for (GraphOutput &output : graph.outputs)
    output.name = names.output();
}

} // namespace

Graph disguised(const Graph &graph, uint64_t seed) {
  Names names(seed);
  Symbols symbols;
  for (const Symbol &symbol : graph.symbols)
    symbols[symbol.name] = Dim::symbol(names.symbol());
  Graph renamed = graph;
  rename(renamed, symbols, names);
  return renamed;
}

} // namespace backplane::conformance
