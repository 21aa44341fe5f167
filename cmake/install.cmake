# SPDX-License-Identifier: Apache-2.0
# Installs the libraries, the LLVM module next to them, the headers, the files that find_package(millrace) reads, and
# the documents.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/millrace)

install(TARGETS millrace millrace_runtime millrace_isa EXPORT millraceTargets)
if(TARGET millrace_llvm)
  install(TARGETS millrace_llvm EXPORT millraceTargets DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/millrace DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT millraceTargets NAMESPACE millrace:: DESTINATION ${package_dir})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/millraceConfig.cmake.in
  ${PROJECT_BINARY_DIR}/millraceConfig.cmake INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/millraceConfig.cmake ${PROJECT_BINARY_DIR}/millraceConfigVersion.cmake
  ${CMAKE_CURRENT_LIST_DIR}/millraceApplication.cmake DESTINATION ${package_dir})

# The documents link to headers and examples by their paths in the source tree. In an install the headers are elsewhere,
# so the links to them are rewritten.
install(CODE "
  foreach(document README.md docs)
    file(COPY \"${PROJECT_SOURCE_DIR}/\${document}\" DESTINATION \"${PROJECT_BINARY_DIR}/installed\")
  endforeach()
  file(GLOB documents \"${PROJECT_BINARY_DIR}/installed/README.md\" \"${PROJECT_BINARY_DIR}/installed/docs/*.md\")
  file(RELATIVE_PATH to_headers \"${CMAKE_INSTALL_FULL_DOCDIR}\" \"${CMAKE_INSTALL_FULL_INCLUDEDIR}\")
  foreach(document \${documents})
    file(READ \"\${document}\" text)
    string(REPLACE \"](include/\" \"](\${to_headers}/\" text \"\${text}\")
    string(REPLACE \"](../include/\" \"](../\${to_headers}/\" text \"\${text}\")
    file(WRITE \"\${document}\" \"\${text}\")
  endforeach()")
install(FILES LICENSE CHANGELOG.md CONTRIBUTING.md ${PROJECT_BINARY_DIR}/installed/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${PROJECT_BINARY_DIR}/installed/docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN CMakeLists.txt EXCLUDE PATTERN *.sh EXCLUDE)  # these files belong to the build and its tests
