# SPDX-License-Identifier: Apache-2.0
# What can be switched, and the compile flags that every target of ours gets.
option(MILLRACE_LLVM "build the LLVM code generator module" ON)
option(MILLRACE_TESTS "build the tests" ${PROJECT_IS_TOP_LEVEL})
option(MILLRACE_BENCH "build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(MILLRACE_FUZZ "build the fuzzers (clang)" OFF)
option(MILLRACE_TOOLS "build the examples and tools" ${PROJECT_IS_TOP_LEVEL})
option(MILLRACE_PRECOMPILE "precompile headers for the library too; hides a missing #include" OFF)
option(MILLRACE_UNITY "compile several sources at once, in half the time; hides a missing #include" OFF)
option(MILLRACE_INSTALL "install the library with this build" ${PROJECT_IS_TOP_LEVEL})
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
# GCC 12 sees an overlap in every `"literal" + std::string` (GCC bug 105651).
target_compile_options(millrace_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
target_compile_definitions(millrace_flags INTERFACE XXH_INLINE_ALL)
if(MILLRACE_SANITIZE)
  add_compile_options(-fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # Clang looks for a type before each function that is called through a pointer; before generated code there is none.
  # The other checks take the compiler long, and find what AddressSanitizer finds.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function,vptr,null,object-size>)
  add_link_options(-fsanitize=${MILLRACE_SANITIZE})
endif()

# Precompiles what most sources of a target include, and the headers that follow its name.
function(millrace_precompile target)
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstring> <functional>
                            <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view>
                            <utility> <variant> <vector> <fmt/format.h> ${ARGN})
  # GCC 12 forgets which code of a precompiled header is the system's, and warns of it (see -Wno-restrict above).
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow;-Wno-array-bounds>")
  # So that an object of the compiler cache fits a header that was compiled again.
  target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# The same for what is installed, whose release builds must show an #include that is missing.
function(millrace_precompile_library target)
  if(MILLRACE_PRECOMPILE)
    millrace_precompile(${target} ${ARGN})
  endif()
endfunction()
