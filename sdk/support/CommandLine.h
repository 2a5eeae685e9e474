// SPDX-License-Identifier: Apache-2.0
//
// CommandLine.h: what the programs have in common around their work: standard
// streams that are there, numbers that are numbers, one line about what was
// asked wrongly, and a failure when the output was not written.
#ifndef BACKPLANE_SUPPORT_COMMANDLINE_H
#define BACKPLANE_SUPPORT_COMMANDLINE_H

#include "NearestName.h"
#include "ReadableText.h"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <new>
#include <optional>
#include <unistd.h>
#include <utility>

namespace backplane::command {

/// A stream that is closed would be taken by the next file that is opened.
/// Writing to the one that is put in its place fails. A file that grows beyond
/// the limit of the process is an error of the write, not the end.
inline void holdStandardStreams() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int fd = 0; fd < 3; ++fd)
    if (fcntl(fd, F_GETFD) < 0)
      (void)open("/dev/null", O_RDONLY);
}

/// The exit code of a program that is done: `code`, or 1 with a line when its
/// standard output could not be written.
inline int finish(const std::string &program, int code) {
  static bool told = false;
  errno = 0;
  bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || std::exchange(told, true))
    return code;
  std::fprintf(stderr, "%s: cannot write to standard output: %s\n",
               program.c_str(),
               errno ? std::strerror(errno) : "a write has failed");
  return code ? code : 1;
}

/// The exit code of `body`, as `finish` has it. What it throws, for want of
/// memory above all, is a line and the code `failure`.
template <typename Body>
int work(const std::string &program, Body body, int failure = 1) {
  auto fail = [&](const std::string &why) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(),
                 readableMessage(why).c_str());
    return failure;
  };
  int code = failure;
  try {
    code = body();
  } catch (const std::bad_alloc &) {
    fail("the host is out of memory");
  } catch (const std::exception &error) {
    fail(std::string("unexpected failure: ") + error.what());
  }
  return finish(program, code);
}

/// A whole decimal number.
template <typename T> std::optional<T> wholeNumber(std::string_view text) {
  T value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

/// Takes whole decimal numbers of a range only, which is not below 0.
inline CLI::Validator whole(int64_t low, int64_t high) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        std::optional<int64_t> value = wholeNumber<int64_t>(text);
        if (value && *value >= low && *value <= high)
          return "";
        return "'" + text + "' is no whole number from " + std::to_string(low) +
               " to " + std::to_string(high);
      },
      "UINT in [" + std::to_string(low) + " - " + std::to_string(high) + "]");
}

/// Takes any whole number that an unsigned number of 64 bits holds.
inline CLI::Validator seed() {
  return CLI::Validator(
      [](std::string &text) -> std::string {
        return wholeNumber<uint64_t>(text)
                   ? ""
                   : "'" + text + "' is no whole number from 0 to 2^64 - 1";
      },
      "");
}

/// Takes decimal numbers of a range only.
inline CLI::Validator real(double low, double high) {
  return CLI::Validator(
      [=](std::string &text) -> std::string {
        double value = 0;
        const char *last = text.data() + text.size();
        auto [end, error] = std::from_chars(text.data(), last, value);
        if (error == std::errc() && end == last && value >= low &&
            value <= high)
          return "";
        return "'" + text + "' is no number from " +
               CLI::detail::to_string(low) + " to " +
               CLI::detail::to_string(high);
      },
      "");
}

/// Names of the options of a command, and of the subcommand that was given.
inline std::vector<std::string> optionNames(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  for (const CLI::App *command : app.get_subcommands())
    for (std::string &name : optionNames(*command))
      names.push_back(std::move(name));
  return names;
}

/// " (did you mean '--device'?)" for the first argument that nobody expected.
inline std::string optionHint(const CLI::App &app) {
  for (const std::string &extra : app.remaining(/*recurse=*/true)) {
    std::string near =
        nearestName(extra.substr(0, extra.find('=')), optionNames(app));
    return near.empty() ? "" : " (did you mean '" + near + "'?)";
  }
  return "";
}

/// Parses, then calls `more`, which may throw CLI's errors too. Gives the exit
/// code when there is nothing left to do: 0 after --help, else `failure` after
/// a line on standard error.
inline std::optional<int> parse(
    CLI::App &app, int argc, char **argv,
    const std::function<void()> &more = [] {}, int failure = 1) {
  try {
    app.parse(argc, argv);
    more();
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    std::string name = app.get_name();
    name.erase(0, name.rfind('/') + 1); // of a program that gave none
    if (error.get_exit_code() == 0)
      return finish(name, app.exit(error));
    std::fprintf(stderr, "%s: %s%s; see %s --help\n", name.c_str(),
                 readableMessage(error.what()).c_str(), optionHint(app).c_str(),
                 name.c_str());
    return failure;
  }
}

} // namespace backplane::command

#endif // BACKPLANE_SUPPORT_COMMANDLINE_H
