# `cmake --install` and CPack: the program with its scenarios, completion and manual page (component Runtime), and the
# libraries and headers for find_package(Rehearse) (component Development). `cpack` makes a .deb of the first.
set(share ${CMAKE_INSTALL_DATADIR})
install(TARGETS rehearse RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT Runtime)
install(DIRECTORY scenarios/ DESTINATION ${share}/rehearse/scenarios COMPONENT Runtime)
install(FILES README.md LICENSE DESTINATION ${share}/doc/rehearse COMPONENT Runtime)

# What the program says of itself, said by itself.
set(said ${PROJECT_BINARY_DIR}/installed)
install(CODE "
  file(MAKE_DIRECTORY \"${said}\")
  foreach(words \"man>rehearse.1\" \"completion;bash>rehearse\" \"completion;zsh>_rehearse\")
    string(REPLACE \">\" \";\" words \"\${words}\")
    list(POP_BACK words file)
    execute_process(COMMAND \"$<TARGET_FILE:rehearse>\" \${words} OUTPUT_FILE \"${said}/\${file}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()" COMPONENT Runtime)
install(FILES ${said}/rehearse.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT Runtime)
install(FILES ${said}/rehearse DESTINATION ${share}/bash-completion/completions COMPONENT Runtime)
install(FILES ${said}/_rehearse DESTINATION ${share}/zsh/vendor-completions COMPONENT Runtime)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Rehearse)
install(EXPORT RehearseTargets NAMESPACE Rehearse:: DESTINATION ${package} COMPONENT Development)
install(DIRECTORY core sim DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rehearse COMPONENT Development
        FILES_MATCHING PATTERN "*.h")
include(CMakePackageConfigHelpers)
configure_package_config_file(tools/RehearseConfig.cmake.in ${PROJECT_BINARY_DIR}/RehearseConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RehearseConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RehearseConfig.cmake ${PROJECT_BINARY_DIR}/RehearseConfigVersion.cmake
        DESTINATION ${package} COMPONENT Development)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rehearse)
set(CPACK_PACKAGE_VENDOR Rehearse)
set(CPACK_PACKAGE_CONTACT "the authors of Rehearse")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "deterministic discrete-event cluster simulator for distributed training")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Runtime)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME rehearse)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the authors of Rehearse <rehearse@example.invalid>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
include(CPack)
