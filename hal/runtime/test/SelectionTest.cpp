// SPDX-License-Identifier: Apache-2.0
//
// Which variant runs on which device, and the reasons, through the C API: the
// host driver and a second driver with two devices, without any compiler.
#include "Models.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <numeric>

using namespace backplane;
using namespace backplane::test;
using namespace backplane::sample;

namespace {

bp_status_t keepText(void *context, bp_string_t text) {
  *static_cast<std::string *>(context) += view(text);
  return BP_STATUS_OK;
}

/// Keeps the warnings of a context.
void keepWarning(void *text, uint32_t level, bp_string_t message) {
  if (level >= BP_LOG_WARNING)
    *static_cast<std::string *>(text) += view(message);
}

/// y = x in bytes by one copy, so that any device runs it.
void copyProgram(fb::ProgramT &p) {
  p.slots.push_back(slot(fb::SlotKind::Input, 0));
  p.slots.push_back(slot(fb::SlotKind::Output, 0));
  p.commands.push_back(copy(0, 1));
}

fb::VariantT &addCopy(Draft &draft, std::string target, std::string driver,
                      uint32_t rank) {
  fb::VariantT &variant = draft.addVariant(std::move(target), rank);
  variant.executables.clear();
  if (driver != "host")
    variant.format = driver;
  variant.driver = std::move(driver);
  copyProgram(*variant.program);
  return variant;
}

class Selection : public testing::Test {
protected:
  Selection() {
    namespace fs = std::filesystem;
    fs::copy_file(BP_MINI_PLUGIN, folder_ / "libmini.so");
    fs::permissions(folder_ / "libmini.so", fs::perms::owner_all);
    std::ofstream(mini_)
        << R"({"format": 1, "name": "mini", "version": "1.0.0",)"
        << R"( "abi": {"major": 0, "minor_low": 1}, "driver": "libmini.so"})";
    draft_.artifact.inputs.push_back(tensor("x", DType::U8, {"16"}));
    draft_.artifact.outputs.push_back(tensor("y", DType::U8, {"16"}));
    context_ = context("-");
  }

  Context context(const std::string &cache) {
    bp_context_options_t options = {BP_HEADER(bp_context_options_t)};
    bp_string_t files[] = {toC(mini_), toC(BP_HOST_MANIFEST)};
    options.plugin_files = files;
    options.plugin_file_count = 2;
    options.cache_dir = toC(cache);
    options.threads = 2;
    options.log = {keepWarning, nullptr, &warnings_};
    auto context = createContext(options);
    EXPECT_TRUE(context.ok()) << context.message();
    return std::move(*context);
  }

  Artifact open() {
    auto artifact = test::open(context_, draft_, folder_ / "model.bpx");
    EXPECT_TRUE(artifact.ok()) << artifact.message();
    return artifact ? std::move(*artifact) : nullptr;
  }

  static Result<Session> session(const Artifact &artifact,
                                 std::string_view device,
                                 const bp_chooser_t *chooser = nullptr) {
    bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
    options.device = toC(device);
    options.chooser = chooser;
    return createSession(artifact, options);
  }

  static std::string lines(const Session &session) {
    std::string text;
    bp_string_sink_t sink = {keepText, &text};
    EXPECT_EQ(bp_session_explain(session.get(), &sink, nullptr), BP_STATUS_OK);
    return text;
  }

  static void expectCopies(const Session &session) {
    Bytes x(16), y(16);
    std::iota(x.begin(), x.end(), uint8_t(1));
    int64_t n = 16;
    Status status = runSession(session, {{x.data(), &n, 16, BP_DTYPE_U8, 1}},
                               {{y.data(), &n, 16, BP_DTYPE_U8, 1}});
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(x, y);
  }

  Folder folder_;
  std::string mini_ = folder_ / "mini.bp.json";
  std::string warnings_; // outlives the context
  Context context_;
  Draft draft_;
};

TEST_F(Selection, BreaksTiesByName) {
  addCopy(draft_, "b", "host", 3);
  addCopy(draft_, "a", "host", 3);
  addCopy(draft_, "c", "host", 1);
  auto s = session(open(), "host");
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(view(bp_session_choice(s->get())),
            "variant a on host://cpu: rank 3, the highest that fits; b has "
            "rank 3 too, its name comes later; c has rank 1, not the highest");
}

TEST_F(Selection, PassesOverWhatRequiresALaterRuntime) {
  addCopy(draft_, "later", "host", 9).requirements = {"launch.clusters"};
  addCopy(draft_, "plain", "host", 1);
  auto s = session(open(), "host");
  ASSERT_TRUE(s.ok()) << s.message();
  std::string choice(view(bp_session_choice(s->get())));
  EXPECT_TRUE(choice.starts_with("variant plain on host://cpu")) << choice;
  EXPECT_NE(choice.find("; later requires 'launch.clusters', which Backplane"),
            std::string::npos)
      << choice;
  expectCopies(*s);
}

/// The device has 4 tiles, 32768 bytes and a clock of 1.5.
TEST_F(Selection, ComparesNumbersOfTheDevice) {
  const std::pair<const char *, const char *> unmet[] = {
      {"shared_bytes>=49152", "the device has 32768"},
      {"subgroup_size==32", "the device does not report it"},
      {"sm!=80", "the device does not report it"},
      {"mini.clock>=1", "the device reports no integer"},
      {"mini.tiles>=0x4",
       "the condition 'mini.tiles>=0x4' does not end in a 64-bit integer"}};
  for (auto [condition, why] : unmet)
    addCopy(draft_, condition, "mini", 9).required_features = {condition};
  addCopy(draft_, "fits", "mini", 1).required_features = {
      "mini.tiles>=4", "shared_bytes<49152", "mini.tiles!=5"};
  auto s = session(open(), "mini://plain");
  ASSERT_TRUE(s.ok()) << s.message();
  std::string all = lines(*s);
  EXPECT_NE(all.find("chosen: variant fits on mini://plain"), std::string::npos)
      << all;
  for (auto [condition, why] : unmet)
    EXPECT_NE(all.find("passed over: " + std::string(condition) +
                       " on mini://plain needs '" + condition + "' (" + why +
                       ")\n"),
              std::string::npos)
        << all;
  expectCopies(*s);
}

TEST_F(Selection, FallsBackWhenTheBestDoesNotLoad) {
  fb::VariantT &best = addCopy(draft_, "best", "host", 9);
  best.executables.push_back(
      executable(best.format, Bytes(100, 7), "add", {1, 2}, 1));
  addCopy(draft_, "plain", "host", 1);
  auto s = session(open(), "host");
  ASSERT_TRUE(s.ok()) << s.message();
  std::string choice(view(bp_session_choice(s->get())));
  EXPECT_TRUE(choice.starts_with("variant plain on host://cpu: rank 1"))
      << choice;
  EXPECT_NE(choice.find("; best does not load: "), std::string::npos) << choice;
  EXPECT_TRUE(warnings_.starts_with("best on host://cpu does not load: "))
      << warnings_;
  expectCopies(*s);
}

TEST_F(Selection, TellsOfAllWhenNoneLoads) {
  for (const char *name : {"one", "two"}) {
    fb::VariantT &variant = addCopy(draft_, name, "host", 9);
    variant.executables.push_back(
        executable(variant.format, Bytes(100, 7), "add", {1, 2}, 1));
  }
  auto s = session(open(), "host");
  ASSERT_FALSE(s.ok());
  for (const char *part : {"one does not load", "two does not load"})
    EXPECT_NE(s.message().find(part), std::string::npos) << s.message();
  EXPECT_EQ(warnings_, "") << "the error says it";
}

TEST_F(Selection, FollowsAList) {
  addCopy(draft_, "h", "host", 9);
  addCopy(draft_, "m", "mini", 1);
  Artifact artifact = open();
  auto s = session(artifact, "vulkan,mini,host");
  ASSERT_TRUE(s.ok()) << s.message();
  std::string why = lines(*s);
  EXPECT_TRUE(why.starts_with("policy: vulkan,mini,host\nchosen: variant m on "
                              "mini://plain: rank 1, the first of "))
      << why;
  for (const char *part :
       {"passed over: vulkan: no driver \"vulkan\"",
        "passed over: h on mini://plain is for driver 'host'\n",
        "passed over: h on host://cpu comes after it\n",
        "passed over: m on host://cpu is for driver 'mini'\n"})
    EXPECT_NE(why.find(part), std::string::npos) << part << "\n" << why;
  expectCopies(*s);
  auto other = session(artifact, "mini://waiting,mini");
  ASSERT_TRUE(other.ok()) << other.message();
  EXPECT_NE(lines(*other).find("chosen: variant m on mini://waiting: rank 1"),
            std::string::npos);
}

TEST_F(Selection, RefusesWhatIsNoPolicy) {
  addCopy(draft_, "h", "host", 9);
  Artifact artifact = open();
  for (const char *text : {"auto", "auto:", "auto:latenzy", "host,", ",host",
                           "auto:latency,host,auto:power", "vulkan,cuda", "::"})
    EXPECT_FALSE(session(artifact, text).ok()) << text;
  EXPECT_NE(session(artifact, "auto:latenzy")
                .message()
                .find("did you mean auto:latency?"),
            std::string::npos);
}

TEST_F(Selection, TakesTheKindThatNeedsLeastPower) {
  addCopy(draft_, "m", "mini", 9);
  addCopy(draft_, "h", "host", 1);
  addCopy(draft_, "z", "host", 0);
  auto s = session(open(), "auto:power");
  ASSERT_TRUE(s.ok()) << s.message();
  std::string why = lines(*s);
  for (const char *part :
       {"chosen: variant h on host://cpu: rank 1, is a CPU, place 3 of 5",
        "passed over: m on mini://plain comes after it",
        "passed over: z on host://cpu has rank 0, not the highest"})
    EXPECT_NE(why.find(part), std::string::npos) << part << "\n" << why;
}

TEST_F(Selection, MeasuresOnceAndRemembers) {
  addCopy(draft_, "h", "host", 1);
  addCopy(draft_, "m", "mini", 1);
  context_ = context(folder_ / "cache");
  for (const char *aim : {"auto:latency", "auto:throughput"})
    for (const char *source : {"measured now", "measured earlier"}) {
      Artifact artifact = open();
      auto s = session(artifact, aim);
      ASSERT_TRUE(s.ok()) << s.message();
      std::string why = lines(*s);
      EXPECT_NE(why.find(std::string(" ms a call, ") + source),
                std::string::npos)
          << why;
      expectCopies(*s);
    }
}

/// What a chooser of the tests does, and what it saw.
struct Wish {
  std::vector<uint32_t> order;
  uint32_t given = 0;
  bp_status_t status = BP_STATUS_OK;
  std::vector<std::string> seen;

  static bp_status_t choose(void *context, const bp_candidate_t *const *all,
                            uint32_t count, uint32_t *order, uint32_t *given,
                            const bp_string_sink_t *reason) {
    Wish &wish = *static_cast<Wish *>(context);
    wish.seen.clear();
    for (uint32_t i = 0; i < count; ++i)
      wish.seen.push_back(std::string(view(all[i]->target)) + " on " +
                          std::string(view(all[i]->uri)) +
                          (all[i]->misfit.size ? " misfit" : ""));
    std::copy_n(wish.order.begin(), std::min<size_t>(wish.order.size(), count),
                order);
    *given = wish.given;
    (void)reason->put(reason->context, toC("because"));
    return wish.status;
  }
};

TEST_F(Selection, LetsTheApplicationChoose) {
  addCopy(draft_, "h", "host", 1);
  addCopy(draft_, "m", "mini", 1);
  Artifact artifact = open();
  Wish wish{{4}, 1, BP_STATUS_OK, {}};
  bp_chooser_t chooser = {&Wish::choose, &wish};
  auto s = session(artifact, "", &chooser);
  ASSERT_TRUE(s.ok()) << s.message();
  EXPECT_EQ(wish.seen, (std::vector<std::string>{
                           "m on mini://plain", "h on mini://plain misfit",
                           "m on mini://waiting", "h on mini://waiting misfit",
                           "h on host://cpu", "m on host://cpu misfit"}));
  std::string why = lines(*s);
  for (const char *part : {"chosen: variant h on host://cpu",
                           "m on mini://plain was left out by the chooser",
                           "remark: the application chose: because"})
    EXPECT_NE(why.find(part), std::string::npos) << part << "\n" << why;
  for (const Wish &wrong :
       {Wish{{1}, 1, BP_STATUS_OK, {}}, Wish{{0, 0}, 2, BP_STATUS_OK, {}},
        Wish{{9}, 1, BP_STATUS_OK, {}}, Wish{{0}, 99, BP_STATUS_OK, {}},
        Wish{{0}, 1, BP_STATUS_CANCELLED, {}}, Wish{{}, 0, BP_STATUS_OK, {}}}) {
    wish = wrong;
    EXPECT_FALSE(session(artifact, "", &chooser).ok());
  }
}

TEST_F(Selection, SaysWhatItWouldTakeWithoutLoading) {
  fb::VariantT &best = addCopy(draft_, "best", "host", 9);
  best.executables.push_back(
      executable(best.format, Bytes(100, 7), "add", {1, 2}, 1));
  Artifact artifact = open();
  std::string text;
  bp_string_sink_t sink = {keepText, &text};
  bp_session_options_t options = {BP_HEADER(bp_session_options_t)};
  options.device = toC("cuda,host");
  ASSERT_EQ(bp_artifact_select(artifact.get(), &options, &sink, nullptr),
            BP_STATUS_OK);
  EXPECT_NE(text.find("chosen: variant best on host://cpu"), std::string::npos)
      << text;
  options.flags = 1u << 31;
  EXPECT_EQ(bp_artifact_select(artifact.get(), &options, &sink, nullptr),
            BP_STATUS_UNIMPLEMENTED);
}

TEST_F(Selection, RefusesCallsAfterTheDeviceIsLost) {
  fb::VariantT &variant = addCopy(draft_, "m", "mini", 1);
  variant.executables.push_back(executable("mini", {1}, "lose", {1, 2}, 0));
  fb::ProgramT &program = *variant.program;
  program.commands.push_back(barrier());
  program.commands.push_back(dispatch(0, {"1", "1", "1"}, {}, {0, 1}));
  Artifact artifact = open();
  auto first = session(artifact, "mini"), second = session(artifact, "mini");
  ASSERT_TRUE(first.ok() && second.ok());
  Bytes x(16), y(16);
  int64_t n = 16;
  bp_tensor_t in = {x.data(), &n, 16, BP_DTYPE_U8, 1};
  bp_tensor_t out = {y.data(), &n, 16, BP_DTYPE_U8, 1};
  Status lost = runSession(*first, {in}, {out});
  EXPECT_EQ(lost.code(), BP_STATUS_UNAVAILABLE);
  EXPECT_NE(lost.message().find("pulled the plug"), std::string::npos);
  for (const Session *each : {&*first, &*second}) {
    Status later = runSession(*each, {in}, {out});
    EXPECT_EQ(later.code(), BP_STATUS_UNAVAILABLE);
    EXPECT_NE(later.message().find("mini://plain was lost: "),
              std::string::npos)
        << later.message();
    EXPECT_NE(later.message().find("pulled the plug"), std::string::npos)
        << later.message();
  }
  auto fresh = session(artifact, "mini");
  ASSERT_TRUE(fresh.ok()) << "the device is opened anew: " << fresh.message();
  EXPECT_NE(runSession(*fresh, {in}, {out}).message().find("pulled the plug"),
            std::string::npos);
}

} // namespace
