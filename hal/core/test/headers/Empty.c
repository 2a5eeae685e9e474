/* SPDX-License-Identifier: Apache-2.0 */
/* Empty.c: a translation unit that holds nothing but the header under test. */
typedef int bp_not_empty_t;
