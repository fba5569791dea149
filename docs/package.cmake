# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages, one a component of install.cmake: `cpack` in a build tree of the preset `package`.
set(CPACK_GENERATOR DEB)
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

# Debian's form of the change log: one entry, for what it says is in CHANGELOG.md
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # SOURCE_DATE_EPOCH, where it is set
file(CONFIGURE OUTPUT changelog CONTENT "fare (@PROJECT_VERSION@) unstable; urgency=medium

  * Packages of fare @PROJECT_VERSION@; what changed is told in CHANGELOG.md.

 -- @CPACK_PACKAGE_CONTACT@  @date@
" @ONLY)
add_custom_command(OUTPUT changelog.gz DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/changelog
	COMMAND gzip -9nc changelog > changelog.gz)
add_custom_target(package_changelog ALL DEPENDS changelog.gz)

# package COMPONENT SECTION DEPENDS SUMMARY TEXT
function(package component section depends summary text)
	string(TOUPPER ${component} key)
	install(FILES ${CMAKE_CURRENT_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component}
		COMPONENT ${component})
	install(FILES ${OPS}/debian/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component})
	set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${component} PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section} PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
	set(CPACK_DEBIAN_${key}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
endfunction()

package(fared net "systemd | systemd-standalone-sysusers | systemd-sysusers"
	"path bandwidth of a GPU server over the planes of its fabric"
	"fared learns from BGP, over FRRouting's BMP, how much bandwidth leads to each
peer over each plane of a scale-up fabric, probes the planes end to end, and
publishes one weight for each path in shared memory. FARE of the IETF, for
endpoints. With farectl, which asks the daemon.")
set(CPACK_DEBIAN_FARED_PACKAGE_SUGGESTS "frr (>= 8.4)")
set(CPACK_DEBIAN_FARED_PACKAGE_CONTROL_EXTRA ${OPS}/debian/conffiles ${OPS}/debian/postinst ${OPS}/debian/prerm
	${OPS}/debian/postrm)
set(CPACK_DEBIAN_FARED_PACKAGE_CONTROL_STRICT_PERMISSION ON)
package(libfare1 libs ""
	"scheduling of RDMA over the planes of a scale-up fabric"
	"libfare picks a plane for each flow or packet by the weights that fared
publishes, and moves messages over queue pairs on all planes so that none is
lost when a plane dies: over RDMA devices, or its own RoCEv2 over UDP.")
set(CPACK_DEBIAN_LIBFARE1_PACKAGE_CONTROL_EXTRA ${OPS}/debian/triggers ${OPS}/debian/shlibs)
package(libfare-dev libdevel "libfare1 (= ${PROJECT_VERSION})"
	"scheduling of RDMA over the planes of a scale-up fabric - headers"
	"Headers, pkg-config file, manual page and examples of libfare.")
package(libnccl-net-fare libs ""
	"network plugin that runs NCCL over all planes of a scale-up fabric"
	"NCCL finds it with NCCL_NET_PLUGIN=fare. It takes its paths from the fared of
the same server.")
set(CPACK_DEBIAN_LIBNCCL-NET-FARE_PACKAGE_CONTROL_EXTRA ${OPS}/debian/triggers)
if(TARGET fare-fi)
	package(libfare-fi libs ""
		"libfabric provider over all planes of a scale-up fabric"
		"libfabric finds it by itself. MPI and other software on libfabric run over all
planes, in the proportions that the fared of the same server publishes.")
endif()
foreach(package libfare1 libnccl-net-fare)
	install(FILES ${OPS}/debian/${package}.lintian DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
		RENAME ${package} COMPONENT ${package})
endforeach()
package(farelab net "frr (>= 8.4), iproute2, ethtool, procps"
	"test beds of multi-plane fabrics in network namespaces"
	"farelab builds GPU servers and leaves as network namespaces, with real
FRRouting daemons, shaped links and faults on command.")
set(CPACK_DEBIAN_FARELAB_PACKAGE_RECOMMENDS fared)
package(farebench net "farelab (= ${PROJECT_VERSION})"
	"benchmark of AI fabrics with several planes"
	"farebench measures KV-cache transfer and expert-parallel traffic, failover and
convergence over the planes of a fabric, weighted by fared against ECMP.")
set(CPACK_DEBIAN_FAREBENCH_PACKAGE_RECOMMENDS "fared, gnuplot-nox")
if(TARGET fare-mpi-coll)
	package(farebench-mpi net "farebench (= ${PROJECT_VERSION}), openmpi-bin, jq"
		"benchmark of AI fabrics with several planes - collectives by MPI"
		"What farebench starts by mpirun to measure collectives.")
endif()

include(CPack)
