# SPDX-License-Identifier: Apache-2.0
# Tests that run code which only LLVM generates. A build without it leaves them out and reports that; any other failure
# there is a mistake, of the library or of this list.
set(needs_llvm
  "jit/llvm/.*"
  "hal/isa_device_test.cpp"
  "hal/hip/(conformance_rows|scenario).cpp"
  "hal/hip/(calls|device_memory|every_call|failures|left_out|library|out_of_memory|pinned_memory|runtime|stop|transfers|two_devices)_test.cpp"
  "jit/(plan/listing|map/facts|map/random_rows_code|map/transposed_loads|map/woven_stores|algorithms/padded_cast)_test.cpp"
  "ops/(cumulative_sums|gather_error|gpu_code|gpu_witness|harness|hip_op_cases|isa_op_cases|op_cases|order_cases|thread_counts)_test.cpp"
  "graph/([a-z]+/)?(binding|composite_(models|moves|pieces|values)|composites|coverage|dynamic|dynamic_errors|gpu_graph|gpu_witness|limits)_test.cpp"
  "graph/([a-z]+/)?(centring|cliff|compile_threads|constants|extreme_sizes|far_positions|gpu_bound_sizes|gpu_long_sums|gpu_rows|long_bodies|long_input)_test.cpp"
  "graph/([a-z]+/)?(long_sums|longest_sums|many_nodes|out_of_memory)_test.cpp"
  "graph/([a-z]+/)?(hip_session|lower_graph|measure|networks|order_failures|own_kernels|program_text|run_bool|run_session|run|shipped_kernels|targets)_test.cpp"
  "graph/([a-z]+/)?(isa_(arguments|division|mutation|removed_memory)|mutate_schedule|packing_bars|place_parts|schedule_order)_test.cpp"
  "graph/([a-z]+/)?(composite_search|computed_order|long_rows|random_state|session_slab|shared_kernel_memory|stop|variable_session|weights_memory)_test.cpp"
  "graph/kernels/(own_nest|random_nest|testing)_test.cpp"
  "graph/run/far_programs.cpp"
  "graph/([a-z]+/)?(far_programs|far_session|runs_in_flight|threads|topk_indices|topk_subsets|value_names|variable_devices|verification|wrong_index)_test.cpp")

function(leave_out_what_needs_llvm variable)
  set(kept ${${variable}})
  foreach(pattern IN LISTS needs_llvm)  # one by one: CMake has few parentheses in a regular expression
    list(FILTER kept EXCLUDE REGEX "^${pattern}$")
  endforeach()
  list(LENGTH ${variable} all)
  list(LENGTH kept left)
  math(EXPR out "${all} - ${left}")
  message(STATUS "without LLVM: ${out} of ${all} files of tests are left out (tests/needs_llvm.cmake)")
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()
