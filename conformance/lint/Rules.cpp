// SPDX-License-Identifier: Apache-2.0
#include "Rules.h"
#include "sdk/support/Glob.h"

#include <cctype>
#include <stdexcept>

namespace backplane::lint {

namespace {

using enum Severity;

/// A rule about files, or about the plug-in at its first contact.
struct OwnRule {
  const char *number;
  Severity severity;
  const char *asks, *remedy, *why;
};

constexpr OwnRule ownRules[] = {
    {"BPL001", Error, "a manifest is a file of JSON, of at most 64 KiB",
     "mend it at the place that is named",
     "Nothing of the plug-in is found without it."},
    {"BPL002", Error,
     "a manifest has known members only, each of its kind, and all that are "
     "required",
     "mend the member that is named",
     "A member that is misspelt would be passed over in silence. Options of a "
     "library go into `options`."},
    {"BPL003", Error,
     "the libraries that a manifest names lie in its folder or below",
     "copy the library there, or name the one that is there",
     "A plug-in is moved and installed as a folder."},
    {"BPL004", Error,
     "nobody but the user and root may write the files of a plug-in or the "
     "folders on the way to them",
     "take the right away with chmod go-w, or give the file to the user",
     "Who can write them decides what code runs in every application "
     "([how](../howto/files-and-trust.md))."},
    {"BPL005", Error, "a library has the SHA-256 sum that its manifest says",
     "make the sum again after each build",
     "The host maps no library with another sum."},
    {"BPL006", Error, "`arch` is the architecture of the libraries",
     "name the architecture that the library was built for",
     "The host passes over plug-ins of other architectures by it, before it "
     "opens a library."},
    {"BPL007", Error, "manifest and library say the same name",
     "give both the same name",
     "Device URIs, messages and the cache use it; the host refuses a plug-in "
     "with two names."},
    {"BPL008", Error, "manifest and library say the same version",
     "build or install both together",
     "Two versions are most often two installations that were mixed."},
    {"BPL009", Warning, "manifest and library say the same vendor",
     "give both the same vendor",
     "A name belongs to the vendor of the manifest that has it first."},
    {"BPL010", Warning,
     "`minor_low` of the manifest is the minor version that the library "
     "requires",
     "set minor_low to required_minor",
     "With a lower one the host maps a library that then refuses it, with a "
     "higher one it passes over a plug-in that would work."},
    {"BPL011", Error, "a library has the tables that its manifest names it for",
     "fill the tables in, or leave the role out of the manifest",
     "A `driver` has the tables driver, memory, executable and queue, a "
     "`compiler` the compiler table, `kernels` the kernels table."},
    {"BPL012", Note, "a manifest names a library for each table that it has",
     "name the library for that role too, if it is meant to have it",
     "The host never asks for a table that the manifest is silent about."},
    {"BPL013", Warning, "this host takes the plug-in", "see the reason",
     "What runs the library is left out then, as this machine does not load "
     "it."},
    {"BPL101", Error, "a library is a whole ELF shared object for this machine",
     "build it for this machine, or copy it again",
     "The system's loader answers such a file with \"no such file\", or ends "
     "the process."},
    {"BPL102", Error, "a library exports bp_plugin_query_v0",
     "declare it with BP_PLUGIN_EXPORT, extern \"C\" in C++",
     "The host asks for it by this name."},
    {"BPL103", Error, "a library exports its query function alone",
     "hide the rest with -fvisibility=hidden and a version script, as "
     "bp_add_plugin does",
     "Every other symbol may be taken by, or take the place of, one of another "
     "library in the process."},
    {"BPL104", Error, "a library has no symbol that is unique in the process",
     "build it with -fno-gnu-unique, or hide the symbol",
     "A library with an STB_GNU_UNIQUE symbol is never unloaded, and shares "
     "its static data with other plug-ins."},
    {"BPL105", Error, "a library needs no symbol of the host",
     "ask bp_host_t for the service",
     "Services of the host come through its table, so that a plug-in runs in "
     "every host."},
    {"BPL106", Error, "a library needs no libbackplane, libMLIR or libLLVM",
     "link LLVM statically, with its symbols hidden",
     "Two copies of one of these in a process clash."},
    {"BPL107", Error,
     "every symbol that a library needs is in the libraries that it names",
     "link the library that has it; -Wl,-z,defs finds it at build time",
     "The host binds all symbols at once and refuses the library."},
    {"BPL108", Warning,
     "a library needs no newer C or C++ library than the oldest system that "
     "it serves",
     "build it on that system, or say with --glibc what the oldest one has",
     "Debian 12 has GLIBC_2.36 and GLIBCXX_3.4.30."},
    {"BPL109", Warning,
     "a library looks for others beside itself ($ORIGIN) or where the system "
     "has them",
     "link without -rpath, or with -rpath '$ORIGIN'",
     "A folder of the build machine is not there elsewhere, or belongs to "
     "somebody else."},
    {"BPL110", Error, "a library's stack is not executable",
     "add .note.GNU-stack to assembly files, or link with -z noexecstack",
     "Loading it would make the stacks of the whole process executable, or "
     "fail."},
    {"BPL111", Error, "a library has no relocations in its code",
     "build all of it with -fPIC", "Its code would have to be written to."},
    {"BPL112", Error, "no part of a library is writable and executable",
     "link without -N and without scripts that merge sections",
     "Such pages are where attacks begin; hardened systems refuse them."},
    {"BPL113", Error, "a library uses no static thread-local storage",
     "build it with -ftls-model=global-dynamic",
     "A process has little of it left when plug-ins are loaded, so that "
     "loading fails in some applications."},
    {"BPL114", Warning, "nothing runs when a library is loaded",
     "make the object constexpr or constinit, or build it in initialize",
     "Constructors run before the host knows the plug-in, in every process "
     "that lists devices, in no order, and cannot report a failure."},
    {"BPL115", Error, "a library's dynamic symbols and sections can be read",
     "strip it with strip --strip-unneeded, which keeps them",
     "Without them nobody can say what the library needs."},
    {"BPL201", Error, "the system's loader takes the library",
     "install or link what is missing", ""},
    {"BPL202", Error,
     "a plug-in never ends its process, and comes back from each call",
     "run the function that is named in a debugger",
     "Each library is tried in a process of its own, with a time limit."},
    {"BPL203", Error,
     "each struct starts with the type and the size that it had in a released "
     "version",
     "initialise it with BP_HEADER, of one set of headers",
     "A reader copies as many bytes as `size` says; a size that no version had "
     "is a struct that was never filled in, or another compiler's layout."},
    {"BPL204", Warning, "a library was built for a version that is known here",
     "use the bp lint of that version", "What is newer is not looked at."},
    {"BPL205", Note, "a library requires the least minor version that it needs",
     "set required_minor to a number, the least that works",
     "With BP_ABI_MINOR a mere rebuild refuses hosts that it ran on before."},
    {"BPL206", Error,
     "a plug-in takes the null pointers that the ABI allows: an error that is "
     "NULL, options and texts that are empty",
     "test the pointer, and use error_set, which takes NULL", ""},
    {"BPL207", Error,
     "the host takes what the plug-in says of itself: devices, targets, "
     "passes, kernels",
     "mend what is named", "The reason is that of `bp devices --why`."},
    {"BPL208", Error,
     "the texts of a set's kernels can be read, and costs use what they "
     "declare",
     "mend the text at the place that is named",
     "The compiler leaves out a kernel that it cannot read, and the suite has "
     "nothing to judge it by."},
};

/// The rules that checks of binaries ask.
struct CheckRule {
  const char *number, *checks;
};

constexpr CheckRule checkRules[] = {
    {"BPL301", "L0/query/size"},
    {"BPL302", "L0/query/host"},
    {"BPL303", "L0/query/pure"},
    {"BPL304", "L0/query/info"},
    {"BPL305", "L0/table"},
    {"BPL306", "L0/get-table"},
    {"BPL307", "L0/graph-passes"},
    {"BPL308", "L0/lifecycle"},
    {"BPL309", "L0/host"},
    {"BPL310", "L0/devices"},
    {"BPL311", "L0/open"},
    {"BPL312", "L0/process"},
    {"BPL313", "L0/file"},
    {"BPL314", "L0/partition"},
    {"BPL401", "L1/process"},
    {"BPL402", "L1/memory/allocate"},
    {"BPL403", "L1/memory/align"},
    {"BPL404", "L1/memory/far"},
    {"BPL405", "L1/memory/too-large"},
    {"BPL406", "L1/memory/range"},
    {"BPL407", "L1/memory/several"},
    {"BPL408", "L1/map"},
    {"BPL409", "L1/import"},
    {"BPL410", "L1/fill"},
    {"BPL411", "L1/copy"},
    {"BPL412", "L1/order"},
    {"BPL413", "L1/queue"},
    {"BPL414", "L1/unknown"},
    {"BPL415", "L1/fence"},
    {"BPL416", "L1/timeline"},
    {"BPL417", "L1/submit"},
    {"BPL418", "L1/record"},
    {"BPL501", "L2/*/load"},
    {"BPL502", "L2/*/damaged"},
    {"BPL503", "L2/*/run"},
    {"BPL504", "L2/*/memory"},
    {"BPL505", "L2/*/host"},
    {"BPL506", "L2/*/fence"},
    {"BPL507", "L2/*/error"},
    {"BPL601", "L7/out-of-memory"},
    {"BPL602", "L7/out-of-memory-model/*"},
    {"BPL603", "L7/leak"},
    {"BPL604", "L7/leak-model/*"},
    {"BPL605", "L7/concurrency"},
    {"BPL606", "L7/concurrency-model/*"},
    {"BPL607", "L7/often/*"},
};

/// The rule as its checks state it.
Rule ruleFrom(const CheckRule &row) {
  for (const checks::Check &check : checks::allChecks())
    if (matchesGlob(row.checks, check.group)) {
      std::string what = check.what;
      if (what.ends_with('.'))
        what.pop_back();
      what[0] = char(std::tolower(what[0]));
      return {row.number,
              Error,
              what,
              "run the check that is named in a debugger, with --check and "
              "--in-process",
              "",
              row.checks};
    }
  throw std::logic_error(std::string("no check asks the rule ") + row.number);
}

} // namespace

const char *nameOf(Severity severity) {
  constexpr const char *names[] = {"note", "warning", "error"};
  return names[size_t(severity)];
}

const std::vector<Rule> &allRules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> all;
    for (const OwnRule &row : ownRules)
      all.push_back(
          {row.number, row.severity, row.asks, row.remedy, row.why, ""});
    for (const CheckRule &row : checkRules)
      all.push_back(ruleFrom(row));
    return all;
  }();
  return rules;
}

const Rule *findRule(std::string_view number) {
  for (const Rule &rule : allRules())
    if (rule.number == number)
      return &rule;
  return nullptr;
}

const Rule &ruleOf(const checks::Check &check) {
  for (const Rule &rule : allRules())
    if (!rule.checks.empty() && matchesGlob(rule.checks, check.group))
      return rule;
  throw std::logic_error("no rule has the check " + check.id);
}

std::string rulesPage() {
  std::string page = R"(# Rules of `bp lint`

<!-- Generated by bp-lint --rules-page; do not edit. -->

`bp lint PLUGIN` looks at a plug-in, given by its manifest, its library or a
device URI, and names the rule of each thing that it finds
([how](../howto/lint-a-plugin.md)). A number keeps its meaning for ever. Errors
make the exit code 1; with `--strict` warnings do too.

What maps or calls the plug-in runs in a process of its own with a time limit,
so that a crash or a hang is a finding like others.

| numbers | what they are about |
|---|---|
| BPL001 to BPL099 | the manifest and who may write the files |
| BPL101 to BPL199 | the library as a file, without running it |
| BPL201 to BPL299 | loading it, and what it says of itself |
| BPL301 to BPL699 | [checks of plug-in binaries](hal-checks.md), by their layer |

)";
  for (const Rule &rule : allRules()) {
    page += "## " + rule.number + "\n\n*" + nameOf(rule.severity) + "*. ";
    std::string asks = rule.asks;
    if (!asks.empty() && asks[0] >= 'a' && asks[0] <= 'z' &&
        !asks.starts_with("bp_"))
      asks[0] = char(asks[0] - 'a' + 'A');
    page += asks + ".";
    page += rule.why.empty() ? "" : " " + rule.why;
    if (rule.checks.empty())
      page += " To do: " + rule.remedy + ".\n\n";
    else
      page += " Checks `" + rule.checks + "/*`.\n\n";
  }
  page.pop_back();
  return page;
}

} // namespace backplane::lint
