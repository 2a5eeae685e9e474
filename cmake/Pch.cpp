// SPDX-License-Identifier: Apache-2.0
// The translation unit that carries the precompiled header.
