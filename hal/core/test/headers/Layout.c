/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layout.c: where every member of every struct of the C ABI lies. Structs only
 * grow: a line may be added, and the size on the SIZE line of a growable struct
 * may rise with it; any other change breaks binaries that exist.
 */
#include <backplane/backplane.h>
#include <backplane/compiler.h>

#include <stddef.h>

#ifdef __cplusplus
#define CHECK(condition, text) static_assert(condition, text)
#else
#define CHECK(condition, text) _Static_assert(condition, text)
#endif
#define SIZE(type, bytes) CHECK(sizeof(type) == bytes, #type)
#define AT(type, member, offset)                                               \
  CHECK(offsetof(type, member) == offset, #type "." #member)

SIZE(bp_string_t, 16);
AT(bp_string_t, data, 0);
AT(bp_string_t, size, 8);

SIZE(bp_bytes_t, 16);
AT(bp_bytes_t, data, 0);
AT(bp_bytes_t, size, 8);

SIZE(bp_header_t, 16);
AT(bp_header_t, type, 0);
AT(bp_header_t, size, 4);
AT(bp_header_t, next, 8);

SIZE(bp_option_t, 32);
AT(bp_option_t, key, 0);
AT(bp_option_t, value, 16);

SIZE(bp_options_t, 16);
AT(bp_options_t, items, 0);
AT(bp_options_t, count, 8);

SIZE(bp_bytes_sink_t, 16);
AT(bp_bytes_sink_t, put, 0);
AT(bp_bytes_sink_t, context, 8);

SIZE(bp_string_sink_t, 16);
AT(bp_string_sink_t, put, 0);
AT(bp_string_sink_t, context, 8);

SIZE(bp_host_cpu_t, 96);
AT(bp_host_cpu_t, header, 0);
AT(bp_host_cpu_t, architecture, 16);
AT(bp_host_cpu_t, model, 32);
AT(bp_host_cpu_t, features, 48);
AT(bp_host_cpu_t, l1_bytes, 64);
AT(bp_host_cpu_t, l2_bytes, 72);
AT(bp_host_cpu_t, l3_bytes, 80);
AT(bp_host_cpu_t, core_count, 88);
AT(bp_host_cpu_t, reserved, 92);

SIZE(bp_host_t, 104);
AT(bp_host_t, header, 0);
AT(bp_host_t, self, 16);
AT(bp_host_t, minor, 24);
AT(bp_host_t, reserved, 28);
AT(bp_host_t, cpu, 32);
AT(bp_host_t, error_set, 40);
AT(bp_host_t, log, 48);
AT(bp_host_t, memory_allocate, 56);
AT(bp_host_t, memory_free, 64);
AT(bp_host_t, worker_count, 72);
AT(bp_host_t, parallel_for, 80);
AT(bp_host_t, get_extension, 88);
AT(bp_host_t, post, 96);

SIZE(bp_cache_table_t, 40);
AT(bp_cache_table_t, header, 0);
AT(bp_cache_table_t, self, 16);
AT(bp_cache_table_t, load, 24);
AT(bp_cache_table_t, store, 32);

SIZE(bp_host_info_t, 40);
AT(bp_host_info_t, header, 0);
AT(bp_host_info_t, minor_low, 16);
AT(bp_host_info_t, minor_high, 20);
AT(bp_host_info_t, version, 24);

SIZE(bp_plugin_table_t, 40);
AT(bp_plugin_table_t, header, 0);
AT(bp_plugin_table_t, initialize, 16);
AT(bp_plugin_table_t, shutdown, 24);
AT(bp_plugin_table_t, get_table, 32);

SIZE(bp_plugin_info_t, 128);
AT(bp_plugin_info_t, header, 0);
AT(bp_plugin_info_t, name, 16);
AT(bp_plugin_info_t, vendor, 32);
AT(bp_plugin_info_t, version, 48);
AT(bp_plugin_info_t, required_minor, 64);
AT(bp_plugin_info_t, built_minor, 68);
AT(bp_plugin_info_t, flags, 72);
AT(bp_plugin_info_t, plugin, 80);
AT(bp_plugin_info_t, driver, 88);
AT(bp_plugin_info_t, memory, 96);
AT(bp_plugin_info_t, executable, 104);
AT(bp_plugin_info_t, queue, 112);
AT(bp_plugin_info_t, compiler, 120);

SIZE(bp_device_info_t, 176);
AT(bp_device_info_t, header, 0);
AT(bp_device_info_t, id, 16);
AT(bp_device_info_t, name, 32);
AT(bp_device_info_t, kind, 48);
AT(bp_device_info_t, flags, 52);
AT(bp_device_info_t, formats, 56);
AT(bp_device_info_t, format_count, 64);
AT(bp_device_info_t, features, 72);
AT(bp_device_info_t, feature_count, 80);
AT(bp_device_info_t, max_buffer_size, 88);
AT(bp_device_info_t, max_binding_range, 96);
AT(bp_device_info_t, binding_alignment, 104);
AT(bp_device_info_t, memory_bytes, 112);
AT(bp_device_info_t, max_bindings, 120);
AT(bp_device_info_t, max_constants, 124);
AT(bp_device_info_t, max_grid, 128);
AT(bp_device_info_t, worker_count, 140);
AT(bp_device_info_t, identity, 144);
AT(bp_device_info_t, refusal, 160);

SIZE(bp_device_sink_t, 16);
AT(bp_device_sink_t, put, 0);
AT(bp_device_sink_t, context, 8);

SIZE(bp_driver_table_t, 40);
AT(bp_driver_table_t, header, 0);
AT(bp_driver_table_t, enumerate, 16);
AT(bp_driver_table_t, open, 24);
AT(bp_driver_table_t, close, 32);

SIZE(bp_memory_table_t, 48);
AT(bp_memory_table_t, header, 0);
AT(bp_memory_table_t, buffer_allocate, 16);
AT(bp_memory_table_t, buffer_free, 24);
AT(bp_memory_table_t, buffer_write, 32);
AT(bp_memory_table_t, buffer_read, 40);

SIZE(bp_memory2_table_t, 32);
AT(bp_memory2_table_t, header, 0);
AT(bp_memory2_table_t, buffer_map, 16);
AT(bp_memory2_table_t, buffer_import, 24);

SIZE(bp_entry_t, 72);
AT(bp_entry_t, header, 0);
AT(bp_entry_t, name, 16);
AT(bp_entry_t, binding_access, 32);
AT(bp_entry_t, binding_count, 40);
AT(bp_entry_t, constant_count, 44);
AT(bp_entry_t, workgroup_size, 48);
AT(bp_entry_t, reserved, 60);
AT(bp_entry_t, workspace_bytes, 64);

SIZE(bp_executable_info_t, 64);
AT(bp_executable_info_t, header, 0);
AT(bp_executable_info_t, format, 16);
AT(bp_executable_info_t, blob, 32);
AT(bp_executable_info_t, entries, 48);
AT(bp_executable_info_t, entry_count, 56);

SIZE(bp_executable_table_t, 32);
AT(bp_executable_table_t, header, 0);
AT(bp_executable_table_t, executable_load, 16);
AT(bp_executable_table_t, executable_unload, 24);

SIZE(bp_binding_t, 32);
AT(bp_binding_t, buffer, 0);
AT(bp_binding_t, offset, 8);
AT(bp_binding_t, length, 16);
AT(bp_binding_t, slot, 24);
AT(bp_binding_t, reserved, 28);

SIZE(bp_command_dispatch_t, 80);
AT(bp_command_dispatch_t, header, 0);
AT(bp_command_dispatch_t, executable, 16);
AT(bp_command_dispatch_t, entry, 24);
AT(bp_command_dispatch_t, op, 28);
AT(bp_command_dispatch_t, grid, 32);
AT(bp_command_dispatch_t, constant_count, 44);
AT(bp_command_dispatch_t, bindings, 48);
AT(bp_command_dispatch_t, binding_count, 56);
AT(bp_command_dispatch_t, constants, 64);
AT(bp_command_dispatch_t, workspace_bytes, 72);

SIZE(bp_command_copy_t, 80);
AT(bp_command_copy_t, header, 0);
AT(bp_command_copy_t, source, 16);
AT(bp_command_copy_t, target, 48);

SIZE(bp_command_fill_t, 56);
AT(bp_command_fill_t, header, 0);
AT(bp_command_fill_t, target, 16);
AT(bp_command_fill_t, pattern, 48);
AT(bp_command_fill_t, pattern_size, 52);

SIZE(bp_command_barrier_t, 16);
AT(bp_command_barrier_t, header, 0);

SIZE(bp_completion_t, 16);
AT(bp_completion_t, done, 0);
AT(bp_completion_t, context, 8);

SIZE(bp_queue_table_t, 40);
AT(bp_queue_table_t, header, 0);
AT(bp_queue_table_t, queue_create, 16);
AT(bp_queue_table_t, queue_destroy, 24);
AT(bp_queue_table_t, queue_execute, 32);

SIZE(bp_timepoint_t, 16);
AT(bp_timepoint_t, semaphore, 0);
AT(bp_timepoint_t, value, 8);

SIZE(bp_semaphore_table_t, 64);
AT(bp_semaphore_table_t, header, 0);
AT(bp_semaphore_table_t, semaphore_create, 16);
AT(bp_semaphore_table_t, semaphore_destroy, 24);
AT(bp_semaphore_table_t, semaphore_query, 32);
AT(bp_semaphore_table_t, semaphore_signal, 40);
AT(bp_semaphore_table_t, semaphore_wait, 48);
AT(bp_semaphore_table_t, queue_submit, 56);

SIZE(bp_command_buffer_table_t, 40);
AT(bp_command_buffer_table_t, header, 0);
AT(bp_command_buffer_table_t, command_buffer_create, 16);
AT(bp_command_buffer_table_t, command_buffer_destroy, 24);
AT(bp_command_buffer_table_t, command_buffer_execute, 32);

SIZE(bp_timestamp_t, 16);
AT(bp_timestamp_t, begin_ns, 0);
AT(bp_timestamp_t, end_ns, 8);

SIZE(bp_timestamps_table_t, 24);
AT(bp_timestamps_table_t, header, 0);
AT(bp_timestamps_table_t, queue_execute_timed, 16);

SIZE(bp_cpu_call_t, 48);
AT(bp_cpu_call_t, constants, 0);
AT(bp_cpu_call_t, bindings, 8);
AT(bp_cpu_call_t, workspace, 16);
AT(bp_cpu_call_t, error, 24);
AT(bp_cpu_call_t, grid, 32);
AT(bp_cpu_call_t, reserved, 44);

SIZE(bp_call_frame_t, 88);
AT(bp_call_frame_t, header, 0);
AT(bp_call_frame_t, queue, 16);
AT(bp_call_frame_t, bindings, 24);
AT(bp_call_frame_t, binding_count, 32);
AT(bp_call_frame_t, constants, 40);
AT(bp_call_frame_t, constant_count, 48);
AT(bp_call_frame_t, op, 52);
AT(bp_call_frame_t, workspace, 56);

SIZE(bp_kernel_t, 104);
AT(bp_kernel_t, header, 0);
AT(bp_kernel_t, name, 16);
AT(bp_kernel_t, version, 32);
AT(bp_kernel_t, traits, 36);
AT(bp_kernel_t, target, 40);
AT(bp_kernel_t, graph, 56);
AT(bp_kernel_t, self, 72);
AT(bp_kernel_t, launch, 80);
AT(bp_kernel_t, workspace, 88);
AT(bp_kernel_t, cost, 96);

SIZE(bp_kernel_sink_t, 16);
AT(bp_kernel_sink_t, put, 0);
AT(bp_kernel_sink_t, context, 8);

SIZE(bp_symbol_info_t, 40);
AT(bp_symbol_info_t, name, 0);
AT(bp_symbol_info_t, minimum, 16);
AT(bp_symbol_info_t, maximum, 24);
AT(bp_symbol_info_t, divisor, 32);

SIZE(bp_graph_info_t, 40);
AT(bp_graph_info_t, name, 0);
AT(bp_graph_info_t, op_count, 16);
AT(bp_graph_info_t, value_count, 20);
AT(bp_graph_info_t, input_count, 24);
AT(bp_graph_info_t, output_count, 28);
AT(bp_graph_info_t, symbol_count, 32);
AT(bp_graph_info_t, reserved, 36);

SIZE(bp_value_info_t, 32);
AT(bp_value_info_t, name, 0);
AT(bp_value_info_t, dtype, 16);
AT(bp_value_info_t, rank, 20);
AT(bp_value_info_t, producer, 24);
AT(bp_value_info_t, result, 28);

SIZE(bp_op_info_t, 48);
AT(bp_op_info_t, name, 0);
AT(bp_op_info_t, location, 16);
AT(bp_op_info_t, version, 32);
AT(bp_op_info_t, operand_count, 36);
AT(bp_op_info_t, result_count, 40);
AT(bp_op_info_t, region_count, 44);

SIZE(bp_attribute_t, 88);
AT(bp_attribute_t, name, 0);
AT(bp_attribute_t, kind, 16);
AT(bp_attribute_t, count, 20);
AT(bp_attribute_t, i64, 24);
AT(bp_attribute_t, f64, 32);
AT(bp_attribute_t, string, 40);
AT(bp_attribute_t, i64s, 56);
AT(bp_attribute_t, bytes, 64);
AT(bp_attribute_t, dims, 80);

SIZE(bp_graph_table_t, 216);
AT(bp_graph_table_t, header, 0);
AT(bp_graph_table_t, graph_open, 16);
AT(bp_graph_table_t, graph_close, 24);
AT(bp_graph_table_t, graph_write, 32);
AT(bp_graph_table_t, graph_info, 40);
AT(bp_graph_table_t, symbol_info, 48);
AT(bp_graph_table_t, input, 56);
AT(bp_graph_table_t, output, 64);
AT(bp_graph_table_t, output_name, 72);
AT(bp_graph_table_t, value_info, 80);
AT(bp_graph_table_t, value_dim, 88);
AT(bp_graph_table_t, value_dim_text, 96);
AT(bp_graph_table_t, value_shape, 104);
AT(bp_graph_table_t, op_info, 112);
AT(bp_graph_table_t, op_operand, 120);
AT(bp_graph_table_t, op_result, 128);
AT(bp_graph_table_t, op_region, 136);
AT(bp_graph_table_t, attribute, 144);
AT(bp_graph_table_t, attribute_dims, 152);
AT(bp_graph_table_t, builder_create, 160);
AT(bp_graph_table_t, builder_destroy, 168);
AT(bp_graph_table_t, builder_symbol, 176);
AT(bp_graph_table_t, builder_input, 184);
AT(bp_graph_table_t, builder_op, 192);
AT(bp_graph_table_t, builder_output, 200);
AT(bp_graph_table_t, builder_finish, 208);

SIZE(bp_numerics_t, 48);
AT(bp_numerics_t, header, 0);
AT(bp_numerics_t, op_class, 16);
AT(bp_numerics_t, dtype, 32);
AT(bp_numerics_t, accumulator_bits, 36);
AT(bp_numerics_t, rounding, 40);
AT(bp_numerics_t, flags, 44);

SIZE(bp_target_t, 248);
AT(bp_target_t, header, 0);
AT(bp_target_t, name, 16);
AT(bp_target_t, description, 32);
AT(bp_target_t, driver, 48);
AT(bp_target_t, format, 64);
AT(bp_target_t, required_features, 80);
AT(bp_target_t, required_feature_count, 88);
AT(bp_target_t, rank, 96);
AT(bp_target_t, reserved, 100);
AT(bp_target_t, emitter, 104);
AT(bp_target_t, triple, 120);
AT(bp_target_t, cpu, 136);
AT(bp_target_t, features, 152);
AT(bp_target_t, storage_dtypes, 168);
AT(bp_target_t, compute_dtypes, 176);
AT(bp_target_t, l1_bytes, 184);
AT(bp_target_t, l2_bytes, 192);
AT(bp_target_t, workspace_limit, 200);
AT(bp_target_t, vector_bits, 208);
AT(bp_target_t, max_bindings, 212);
AT(bp_target_t, max_constants, 216);
AT(bp_target_t, fusion, 220);
AT(bp_target_t, max_fused_ops, 224);
AT(bp_target_t, reserved2, 228);
AT(bp_target_t, numerics, 232);
AT(bp_target_t, numerics_count, 240);

SIZE(bp_target_sink_t, 16);
AT(bp_target_sink_t, put, 0);
AT(bp_target_sink_t, context, 8);

SIZE(bp_claim_t, 40);
AT(bp_claim_t, header, 0);
AT(bp_claim_t, supported, 16);
AT(bp_claim_t, reserved, 17);
AT(bp_claim_t, cost_ns, 24);
AT(bp_claim_t, reason, 32);

SIZE(bp_stage_sink_t, 16);
AT(bp_stage_sink_t, put, 0);
AT(bp_stage_sink_t, context, 8);

SIZE(bp_compile_request_t, 80);
AT(bp_compile_request_t, header, 0);
AT(bp_compile_request_t, target, 16);
AT(bp_compile_request_t, graph, 32);
AT(bp_compile_request_t, graph_table, 40);
AT(bp_compile_request_t, entry_name, 48);
AT(bp_compile_request_t, options, 64);

SIZE(bp_compiled_t, 96);
AT(bp_compiled_t, header, 0);
AT(bp_compiled_t, blob, 16);
AT(bp_compiled_t, entry, 32);
AT(bp_compiled_t, grid, 40);
AT(bp_compiled_t, in_place, 88);

SIZE(bp_compiled_sink_t, 16);
AT(bp_compiled_sink_t, put, 0);
AT(bp_compiled_sink_t, context, 8);

SIZE(bp_compiler_table_t, 56);
AT(bp_compiler_table_t, header, 0);
AT(bp_compiler_table_t, targets, 16);
AT(bp_compiler_table_t, claim, 24);
AT(bp_compiler_table_t, stages, 32);
AT(bp_compiler_table_t, compile, 40);
AT(bp_compiler_table_t, kernels, 48);

SIZE(bp_log_sink_t, 24);
AT(bp_log_sink_t, log, 0);
AT(bp_log_sink_t, progress, 8);
AT(bp_log_sink_t, context, 16);

SIZE(bp_context_options_t, 168);
AT(bp_context_options_t, header, 0);
AT(bp_context_options_t, plugin_files, 16);
AT(bp_context_options_t, plugin_file_count, 24);
AT(bp_context_options_t, add_plugin_files, 32);
AT(bp_context_options_t, add_plugin_file_count, 40);
AT(bp_context_options_t, select, 48);
AT(bp_context_options_t, select_count, 56);
AT(bp_context_options_t, disable, 64);
AT(bp_context_options_t, disable_count, 72);
AT(bp_context_options_t, cache_dir, 80);
AT(bp_context_options_t, threads, 96);
AT(bp_context_options_t, reserved, 100);
AT(bp_context_options_t, log, 104);
AT(bp_context_options_t, workers_file, 128);
AT(bp_context_options_t, trusted_dirs, 144);
AT(bp_context_options_t, trusted_dir_count, 152);
AT(bp_context_options_t, flags, 160);
AT(bp_context_options_t, reserved2, 164);

SIZE(bp_device_listing_t, 104);
AT(bp_device_listing_t, header, 0);
AT(bp_device_listing_t, uri, 16);
AT(bp_device_listing_t, plugin, 32);
AT(bp_device_listing_t, name, 48);
AT(bp_device_listing_t, manifest, 64);
AT(bp_device_listing_t, refusal, 80);
AT(bp_device_listing_t, info, 96);

SIZE(bp_target_listing_t, 64);
AT(bp_target_listing_t, header, 0);
AT(bp_target_listing_t, plugin, 16);
AT(bp_target_listing_t, misfit, 32);
AT(bp_target_listing_t, target, 48);
AT(bp_target_listing_t, chosen, 56);
AT(bp_target_listing_t, reserved, 57);

SIZE(bp_target_listing_sink_t, 16);
AT(bp_target_listing_sink_t, put, 0);
AT(bp_target_listing_sink_t, context, 8);

SIZE(bp_device_listing_sink_t, 16);
AT(bp_device_listing_sink_t, put, 0);
AT(bp_device_listing_sink_t, context, 8);

SIZE(bp_dim_range_t, 32);
AT(bp_dim_range_t, symbol, 0);
AT(bp_dim_range_t, minimum, 16);
AT(bp_dim_range_t, maximum, 24);

SIZE(bp_compile_options_t, 120);
AT(bp_compile_options_t, header, 0);
AT(bp_compile_options_t, targets, 16);
AT(bp_compile_options_t, target_count, 24);
AT(bp_compile_options_t, driver, 32);
AT(bp_compile_options_t, dump_dir, 48);
AT(bp_compile_options_t, output_path, 64);
AT(bp_compile_options_t, dims, 80);
AT(bp_compile_options_t, dim_count, 88);
AT(bp_compile_options_t, flags, 96);
AT(bp_compile_options_t, max_memory, 104);
AT(bp_compile_options_t, max_milliseconds, 112);
AT(bp_compile_options_t, reserved, 100);

SIZE(bp_tensor_info_t, 56);
AT(bp_tensor_info_t, header, 0);
AT(bp_tensor_info_t, name, 16);
AT(bp_tensor_info_t, dtype, 32);
AT(bp_tensor_info_t, rank, 36);
AT(bp_tensor_info_t, dims, 40);
AT(bp_tensor_info_t, dim_texts, 48);

SIZE(bp_candidate_t, 80);
AT(bp_candidate_t, header, 0);
AT(bp_candidate_t, uri, 16);
AT(bp_candidate_t, target, 32);
AT(bp_candidate_t, misfit, 48);
AT(bp_candidate_t, info, 64);
AT(bp_candidate_t, variant, 72);
AT(bp_candidate_t, rank, 76);

SIZE(bp_chooser_t, 16);
AT(bp_chooser_t, choose, 0);
AT(bp_chooser_t, context, 8);

SIZE(bp_session_options_t, 72);
AT(bp_session_options_t, header, 0);
AT(bp_session_options_t, device, 16);
AT(bp_session_options_t, memory_budget, 32);
AT(bp_session_options_t, chooser, 40);
AT(bp_session_options_t, flags, 48);
AT(bp_session_options_t, reserved, 52);
AT(bp_session_options_t, max_memory, 56);
AT(bp_session_options_t, max_milliseconds, 64);

SIZE(bp_tensor_t, 32);
AT(bp_tensor_t, data, 0);
AT(bp_tensor_t, dims, 8);
AT(bp_tensor_t, size, 16);
AT(bp_tensor_t, dtype, 24);
AT(bp_tensor_t, rank, 28);
