# SPDX-License-Identifier: BSD-2-Clause
# The packages, one for each component of install.cmake: `cpack` in a build tree of the preset `release` makes those of Debian
# where there is dpkg-deb, and those of RHEL where there is rpmbuild. A package is a group of components: COMPONENT itself, and
# COMPONENT-deb or COMPONENT-rpm for what only one of the formats has (package_format.cmake takes one of the two).
find_program(DPKG_DEB dpkg-deb)
find_program(RPMBUILD rpmbuild)
set(CPACK_GENERATOR "")
if(DPKG_DEB)
	list(APPEND CPACK_GENERATOR DEB)
endif()
if(RPMBUILD)
	list(APPEND CPACK_GENERATOR RPM)
endif()
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_SOURCE_DIR}/package_format.cmake)
set(CPACK_PACKAGE_NAME fare)
set(CPACK_PACKAGE_VENDOR "the fared authors")
set(CPACK_PACKAGE_CONTACT "the fared authors <fared@fared.invalid>")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
	WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE BSD-2-Clause)
set(CPACK_RPM_PACKAGE_RELEASE_DIST ON)
set(CPACK_RPM_PACKAGE_GROUP Unspecified)
set(CPACK_PACKAGE_RELOCATABLE OFF)
# what is installed is packed as it is; and no links to a debugger's files, which are in no package
set(CPACK_RPM_SPEC_MORE_DEFINE "%define __os_install_post %{nil}\n%define _build_id_links none")
# directories of the system
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/sbin /usr/lib/systemd /usr/lib/systemd/system /usr/lib/sysusers.d
	/usr/lib/tmpfiles.d /usr/share/man /usr/share/man/man1 /usr/share/man/man3 /usr/share/man/man5 /usr/share/man/man7
	/usr/share/man/man8 /usr/share/bash-completion /usr/share/bash-completion/completions /usr/share/zsh
	/usr/share/zsh/site-functions /usr/share/licenses /usr/${CMAKE_INSTALL_LIBDIR} /usr/${CMAKE_INSTALL_LIBDIR}/pkgconfig
	/usr/${CMAKE_INSTALL_LIBDIR}/libfabric)

# Debian's form of the change log: one entry, for what it says is in CHANGELOG.md
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
file(CONFIGURE OUTPUT changelog CONTENT "fare (@PROJECT_VERSION@) unstable; urgency=medium

  * Packages of fare @PROJECT_VERSION@; what changed is in CHANGELOG.md.

 -- @CPACK_PACKAGE_CONTACT@  @date@
" @ONLY)
add_custom_command(OUTPUT changelog.gz DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/changelog
	COMMAND gzip -9nc changelog > changelog.gz)
add_custom_target(package_changelog ALL DEPENDS changelog.gz)

# package COMPONENT SECTION DEPENDS RPM-NAME RPM-REQUIRES SUMMARY TEXT
function(package component section depends rpm requires summary text)
	string(TOUPPER ${component} key)
	string(SUBSTRING ${summary} 0 1 first)
	string(TOUPPER ${first} first)
	string(REGEX REPLACE "^." ${first} capitalized ${summary})
	install(FILES ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz ${OPS}/debian/copyright
		DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component}-deb)
	install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/${rpm} COMPONENT ${component}-rpm
		EXCLUDE_FROM_ALL)
	set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} ${component}-deb ${component}-rpm PARENT_SCOPE)
	foreach(part "" -DEB -RPM)
		set(CPACK_COMPONENT_${key}${part}_GROUP ${component} PARENT_SCOPE)
	endforeach()
	set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${component} PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
	set(CPACK_RPM_${key}_PACKAGE_NAME ${rpm} PARENT_SCOPE)
	set(CPACK_RPM_${key}_PACKAGE_REQUIRES "${requires}" PARENT_SCOPE)
	set(CPACK_RPM_${key}_PACKAGE_SUMMARY "${capitalized}" PARENT_SCOPE)
	set(CPACK_RPM_${key}_PACKAGE_DESCRIPTION "${text}" PARENT_SCOPE)
	set(CPACK_RPM_${key}_USER_FILELIST "%license ${CMAKE_INSTALL_FULL_DATADIR}/licenses/${rpm}/LICENSE" PARENT_SCOPE)
endfunction()

package(fared net "systemd | systemd-standalone-sysusers | systemd-sysusers" fared systemd
	"path bandwidth of a GPU server over the planes of its fabric"
	"fared learns from BGP, over FRRouting's BMP, how much bandwidth leads to each
peer over each plane of a scale-up fabric, probes the planes end to end, and
publishes one weight for each path in shared memory. FARE of the IETF, for
endpoints. With farectl, which asks the daemon.")
set(CPACK_DEBIAN_FARED_PACKAGE_SUGGESTS "frr (>= 8.4)")
set(CPACK_DEBIAN_FARED_PACKAGE_CONTROL_EXTRA ${OPS}/debian/conffiles ${OPS}/debian/postinst ${OPS}/debian/prerm
	${OPS}/debian/postrm)
set(CPACK_DEBIAN_FARED_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_RPM_FARED_PACKAGE_SUGGESTS "frr >= 8.4")
set(CPACK_RPM_FARED_POST_INSTALL_SCRIPT_FILE ${OPS}/rpm/post)
set(CPACK_RPM_FARED_PRE_UNINSTALL_SCRIPT_FILE ${OPS}/rpm/preun)
set(CPACK_RPM_FARED_POST_UNINSTALL_SCRIPT_FILE ${OPS}/rpm/postun)
list(APPEND CPACK_RPM_FARED_USER_FILELIST "%config(noreplace) ${CMAKE_INSTALL_FULL_SYSCONFDIR}/fared/fared.yaml")
package(libfare1 libs "" libfare ""
	"scheduling of RDMA over the planes of a scale-up fabric"
	"libfare picks a plane for each flow or packet by the weights that fared
publishes, and moves messages over queue pairs on all planes so that none is
lost when a plane dies: over RDMA devices, or its own RoCEv2 over UDP.")
set(CPACK_DEBIAN_LIBFARE1_PACKAGE_CONTROL_EXTRA ${OPS}/debian/triggers ${OPS}/debian/shlibs)
package(libfare-dev libdevel "libfare1 (= ${PROJECT_VERSION})" libfare-devel "libfare = ${PROJECT_VERSION}"
	"scheduling of RDMA over the planes of a scale-up fabric - headers"
	"Headers, pkg-config file, manual page and examples of libfare.")
package(libnccl-net-fare libs "" libnccl-net-fare ""
	"network plugin that runs NCCL over all planes of a scale-up fabric"
	"NCCL finds it with NCCL_NET_PLUGIN=fare. It takes its paths from the fared of
the same server.")
set(CPACK_DEBIAN_LIBNCCL-NET-FARE_PACKAGE_CONTROL_EXTRA ${OPS}/debian/triggers)
if(TARGET fare-fi)
	package(libfare-fi libs "" libfare-fi ""
		"libfabric provider over all planes of a scale-up fabric"
		"libfabric finds it by itself. MPI and other software on libfabric run over all
planes, in the proportions that the fared of the same server publishes.")
endif()
foreach(package libfare1 libnccl-net-fare)
	install(FILES ${OPS}/debian/${package}.lintian DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
		RENAME ${package} COMPONENT ${package}-deb)
endforeach()
package(farelab net "frr (>= 8.4), iproute2, ethtool, procps" farelab "frr >= 8.4, iproute, iproute-tc, ethtool, procps-ng"
	"test beds of multi-plane fabrics in network namespaces"
	"farelab builds GPU servers and leaves as network namespaces, with real
FRRouting daemons, shaped links and faults on command.")
set(CPACK_DEBIAN_FARELAB_PACKAGE_RECOMMENDS fared)
set(CPACK_RPM_FARELAB_PACKAGE_SUGGESTS fared)
package(farebench net "farelab (= ${PROJECT_VERSION})" farebench "farelab = ${PROJECT_VERSION}"
	"benchmark of AI fabrics with several planes"
	"farebench measures KV-cache transfer and expert-parallel traffic, failover and
convergence over the planes of a fabric, weighted by fared against ECMP.")
set(CPACK_DEBIAN_FAREBENCH_PACKAGE_RECOMMENDS "fared, gnuplot-nox")
set(CPACK_RPM_FAREBENCH_PACKAGE_SUGGESTS "fared, gnuplot")
if(TARGET fare-mpi-coll)
	package(farebench-mpi net "farebench (= ${PROJECT_VERSION}), openmpi-bin, jq"
		farebench-mpi "farebench = ${PROJECT_VERSION}, openmpi, jq"
		"benchmark of AI fabrics with several planes - collectives by MPI"
		"What farebench starts to measure collectives by mpirun, and libfabric.")
endif()

include(CPack)
