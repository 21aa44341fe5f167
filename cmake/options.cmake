# SPDX-License-Identifier: Apache-2.0
# The options of the build, and the compile flags of all our targets.
option(MILLRACE_LLVM "build the LLVM code generator module" ON)
option(MILLRACE_TESTS "build the tests" ${PROJECT_IS_TOP_LEVEL})
option(MILLRACE_BENCH "build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(MILLRACE_FUZZ "build the fuzzers (clang)" OFF)
option(MILLRACE_TOOLS "build the examples and tools" ${PROJECT_IS_TOP_LEVEL})
option(MILLRACE_PRECOMPILE "precompile headers for the library too; hides a missing #include" OFF)
option(MILLRACE_UNITY "compile several sources at once, in half the time; hides a missing #include" OFF)
option(MILLRACE_INSTALL "install the library with this build" ${PROJECT_IS_TOP_LEVEL})
find_file(MILLRACE_PROTOZERO_HEADER protozero/varint.hpp)
option(MILLRACE_ONNX "import ONNX models; needs protozero (Debian: libprotozero-dev)" ON)
mark_as_advanced(MILLRACE_PROTOZERO_HEADER)
if(MILLRACE_ONNX AND NOT MILLRACE_PROTOZERO_HEADER)
  message(STATUS "ONNX: protozero is not installed; models cannot be imported")
endif()
find_file(MILLRACE_STB_HEADER stb/stb_image.h)  # one example reads pictures
mark_as_advanced(MILLRACE_STB_HEADER)
set(MILLRACE_SANITIZE "" CACHE STRING "comma-separated sanitizers, such as address,undefined")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(MILLRACE_CCACHE ccache)
if(MILLRACE_CCACHE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_CURRENT_LIST_DIR}/cached_compiler.sh)
endif()

add_library(millrace_flags INTERFACE)
target_compile_features(millrace_flags INTERFACE cxx_std_20)
target_compile_options(millrace_flags INTERFACE -Wall -Wextra -Wpedantic -Werror -fno-math-errno -ffp-contract=off)
# GCC 12 wrongly warns of an overlap in every `"literal" + std::string` (GCC bug 105651).
target_compile_options(millrace_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_compile_definitions(millrace_flags INTERFACE XXH_INLINE_ALL)
if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # The check "function" reads type information in front of each function that is called through a pointer, and
  # generated code has none. The other checks make compiling slow, and find only what AddressSanitizer finds too.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function,vptr,null,object-size>)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()

# Precompiles the headers that most sources of a target include, and those given after its name.
function(millrace_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstring> <functional>
                            <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view>
                            <utility> <variant> <vector> <fmt/format.h> ${ARGN})
  # GCC 12 forgets which code of a precompiled header comes from system headers, and then warns about that code.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")
  # So that objects in the compiler cache stay valid when the header is precompiled again.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# The same for targets that are installed, but only if MILLRACE_PRECOMPILE is on, because their release builds must
# reveal a missing #include.
function(millrace_precompile_library target)
  if(MILLRACE_PRECOMPILE)
    millrace_precompile(${target} ${ARGN})
  endif()
endfunction()
