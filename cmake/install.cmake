# SPDX-License-Identifier: Apache-2.0
# The install tree: the libraries, the LLVM module beside it, the headers, what find_package(millrace) reads, and what
# people read.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)

install(TARGETS millrace millrace_runtime millrace_isa EXPORT millraceTargets)
if(TARGET millrace_llvm)
  install(TARGETS millrace_llvm EXPORT millraceTargets DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/millrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT millraceTargets NAMESPACE millrace:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/millraceConfig.cmake.in
  ${PROJECT_BINARY_DIR}/millraceConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/millraceConfig.cmake ${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/millraceApplication.cmake DESTINATION ${package_dir})

# The README points into the headers, which say what each function needs and leaves, and at the examples.
install(FILES LICENSE README.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES examples/first_program.cpp examples/dynamic_sizes.cpp examples/own_kernel.cpp
  DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
