# SPDX-License-Identifier: Apache-2.0
# What an application links: millrace, or millrace_runtime, the part of it that runs compiled programs. It has neither
# graphs nor code generators. Link one of the two.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)  # compiled, not header-only: that costs every file seconds
function(millrace_library name)
  add_library(${name})
  foreach(layer IN LISTS ARGN)
    if(TARGET millrace_${layer}_objects)
      target_sources(${name} PRIVATE $<TARGET_OBJECTS:millrace_${layer}_objects>)
    endif()
  endforeach()
  add_library(millrace::${name} ALIAS ${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PUBLIC Threads::Threads PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
endfunction()
millrace_library(millrace base hal graph_run jit ops graph)
millrace_library(millrace_runtime base hal graph_run)

# Executes a GPU's machine code: for tests, tools and whoever asks. Not part of millrace, which it needs: most of it is a
# table of what instructions do.
millrace_library(millrace_isa isa)
target_link_libraries(millrace_isa PUBLIC millrace)
