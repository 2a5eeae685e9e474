/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BACKPLANE_GRAPH_TEST_GRAPH_C99_H
#define BACKPLANE_GRAPH_TEST_GRAPH_C99_H

#include "backplane/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NULL, or the condition that failed. */
const char *use_graph_table(const bp_graph_table_t *graph_table);

#ifdef __cplusplus
}
#endif

#endif
