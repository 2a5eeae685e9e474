// SPDX-License-Identifier: Apache-2.0
//
// What `bp passes` and docs/reference/passes.md say of a pass that pipelines of
// plug-ins may name, beside its summary and options. Passes without it are the
// compiler's own.
#ifndef BACKPLANE_COMPILER_PUBLISHED
#define BACKPLANE_COMPILER_PUBLISHED

class Published<string at, string from, string to, string promised> {
  string stage = at;       // the stage of docs/reference/stages.md that it is for
  string needs = from;     // what it takes
  string gives = to;       // what it leaves
  string promise = promised;
}

// Name, options and contract stay: a new host runs an old pipeline.
class Stable<string at, string from, string to>
    : Published<at, from, to, "stable">;

// They may change from one release to the next: a pipeline that names it needs
// an alternative without.
class MayChange<string at, string from, string to>
    : Published<at, from, to, "may change">;

#endif // BACKPLANE_COMPILER_PUBLISHED
