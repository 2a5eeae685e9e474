// SPDX-License-Identifier: Apache-2.0
// RUN: bp-opt %s -bp-gpu-contract -split-input-file -verify-diagnostics

// expected-error@+1 {{the target's group_threads has 100; code for GPUs takes a power of two from 32 to 256}}
module attributes {bp.target = {group_threads = 100 : i64}} {}

// -----

// expected-error@+1 {{the target's shared_bytes has 1024; code for GPUs takes from 16384 to 1048576}}
module attributes {bp.target = {shared_bytes = 1024 : i64}} {}

// -----

// expected-error@+1 {{the target's subgroup_sizes has 12; code for GPUs takes a power of two from 2 to 32}}
module attributes {bp.target = {subgroup_sizes = array<i64: 64, 12>}} {}

// -----

// expected-error@+1 {{the target's tile_sizes has 4 numbers; code for GPUs takes rows and columns}}
module attributes {bp.target = {tile_sizes = array<i64: 8, 4, 8, 4>}} {}

// -----

// expected-error@+1 {{the target's shared_bytes is "much", which is no i64}}
module attributes {bp.target = {shared_bytes = "much"}} {}

// -----

// expected-error@+1 {{the target's subgroup_sizes is 32 : i64, which is no i64s}}
module attributes {bp.target = {subgroup_sizes = 32 : i64}} {}
