# SPDX-License-Identifier: BSD-2-Clause
# All that is installed, by component; each component is a package (package.cmake).
include(GNUInstallDirs)
set(OPS ${CMAKE_CURRENT_SOURCE_DIR}/ops)

# install_man COMPONENT PAGE...: compressed, as packages have them
function(install_man component)
	foreach(page ${ARGN})
		string(REGEX MATCH "[0-9]$" section ${page})
		set(zipped ${CMAKE_CURRENT_BINARY_DIR}/${page}.gz)
		add_custom_command(OUTPUT ${zipped} DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/man/${page}
			COMMAND gzip -9nc ${CMAKE_CURRENT_SOURCE_DIR}/man/${page} > ${zipped})
		add_custom_target(man_${page} ALL DEPENDS ${zipped})
		install(FILES ${zipped} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${component})
	endforeach()
endfunction()

# install_completion COMPONENT COMMAND...
function(install_completion component)
	foreach(command ${ARGN})
		install(FILES ${OPS}/completion/fare.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
			RENAME ${command} COMPONENT ${component})
	endforeach()
	list(GET ARGN 0 first)
	install(FILES ${OPS}/completion/_fare.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
		RENAME _${first} COMPONENT ${component}-deb)
	install(FILES ${OPS}/completion/_fare.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
		RENAME _${first} COMPONENT ${component}-rpm EXCLUDE_FROM_ALL)
endfunction()

install(TARGETS fared RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT fared)
install(TARGETS farectl fared-exporter COMPONENT fared)
install_man(fared fared.8 farectl.8 fared-exporter.8 fared.yaml.5)
install_completion(fared farectl fared fared-exporter)
# where systemd and its companions look, whatever the prefix
install(FILES ${OPS}/fared.service ${OPS}/fared-exporter.service DESTINATION lib/systemd/system COMPONENT fared)
install(FILES ${OPS}/fared.sysusers DESTINATION lib/sysusers.d RENAME fared.conf COMPONENT fared)
install(FILES ${OPS}/fared.tmpfiles DESTINATION lib/tmpfiles.d RENAME fared.conf COMPONENT fared)
install(FILES ${OPS}/fared.yaml DESTINATION ${CMAKE_INSTALL_FULL_SYSCONFDIR}/fared COMPONENT fared)
install(FILES ${OPS}/doctor.md ${OPS}/key-rotation.md ${OPS}/frr-upgrade.md ${OPS}/plain-ip.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fared COMPONENT fared)
install(DIRECTORY ${OPS}/examples ${OPS}/container ${OPS}/prometheus ${OPS}/grafana DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/fared COMPONENT fared)

install(TARGETS fare LIBRARY COMPONENT libfare1 NAMELINK_COMPONENT libfare-dev)
install(FILES ${LIBFARE_HEADERS} TYPE INCLUDE COMPONENT libfare-dev)
install(FILES ${LIBFARE_PC} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libfare-dev)
install_man(libfare-dev fare.3)
install(FILES ${examples} examples/example.h examples/paths.py DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libfare-dev/examples
	COMPONENT libfare-dev)

install(TARGETS nccl-net-fare DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libnccl-net-fare)

if(TARGET fare-fi)
	# where libfabric looks for providers
	install(TARGETS fare-fi DESTINATION ${CMAKE_INSTALL_LIBDIR}/libfabric COMPONENT libfare-fi)
	install_man(libfare-fi fi_fare.7)
endif()

install(TARGETS farelab RUNTIME DESTINATION ${CMAKE_INSTALL_SBINDIR} COMPONENT farelab)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/netns/topologies ${CMAKE_SOURCE_DIR}/netns/drills
	DESTINATION ${CMAKE_INSTALL_DATADIR}/fare COMPONENT farelab FILES_MATCHING PATTERN "*.yaml")
install(PROGRAMS ${CMAKE_SOURCE_DIR}/netns/farelab_mpi.sh DESTINATION ${CMAKE_INSTALL_SBINDIR} RENAME farelab-mpi COMPONENT farelab)
install_man(farelab farelab.8 farelab-mpi.8)
install_completion(farelab farelab)

install(TARGETS farebench COMPONENT farebench)
if(TARGET fare-mpi-coll)
	if(TARGET fare-ofi-write)
		install(TARGETS fare-ofi-write RUNTIME COMPONENT farebench-mpi)
		install_man(farebench-mpi fare-ofi-write.1)
	endif()
	install(TARGETS fare-mpi-coll RUNTIME COMPONENT farebench-mpi)
	install_man(farebench-mpi fare-mpi-coll.1)
endif()
install_man(farebench farebench.1)
install_completion(farebench farebench)

include(package.cmake)
