# SPDX-License-Identifier: Apache-2.0
# A layer is a folder of src/: an object library, millrace_<folder>. Some folders stand apart from their layers: LLVM and
# LLD are confined to src/jit/llvm/, which is not part of the library but of a module opened on demand; src/graph/run/
# is what runs programs, and also goes into millrace_runtime, which has nothing else of graph; src/hal/isa/ and
# src/jit/isa/ execute a GPU's machine code and are a library of their own, millrace_isa.
function(millrace_layer folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/src/jit/llvm/[^/]*\\.cpp$")
  if(folder STREQUAL hal OR folder STREQUAL jit)
    list(FILTER sources EXCLUDE REGEX "/src/${folder}/isa/[^/]*\\.cpp$")
  elseif(folder STREQUAL graph)
    list(FILTER sources EXCLUDE REGEX "/src/graph/run/[^/]*\\.cpp$")
  endif()
  if(NOT sources)
    return()  # headers only
  endif()
  string(REPLACE / _ name millrace_${folder})
  add_library(${name} OBJECT ${sources})
  target_link_libraries(${name} PRIVATE millrace_flags)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  millrace_precompile_library(${name})
  if(NOT folder STREQUAL hal/isa)  # whose files are tables of one form, with the same names
    millrace_unity(${name}
      src/graph/import/safetensors.cpp src/graph/run/session.cpp src/graph/stream/written_bytes.cpp
      src/jit/algorithms/scan/gpu_scan.cpp src/jit/algorithms/scan/lines.cpp src/jit/algorithms/topk/gpu_parts.cpp
      src/jit/algorithms/topk/heap.cpp src/jit/ir/verify_machine_kernel.cpp src/jit/map/choose_tiling.cpp
      src/jit/xbyak/avx512_lanes.cpp src/jit/xbyak/row_load.cpp src/jit/xbyak/sort_kernel.cpp src/ops/sequence.cpp)
  endif()
endfunction()
