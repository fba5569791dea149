# SPDX-License-Identifier: BSD-2-Clause
# cpack reads this once for each format: what is for the other one is left out.
if(CPACK_GENERATOR STREQUAL "DEB")
	list(FILTER CPACK_COMPONENTS_ALL EXCLUDE REGEX "-rpm$")
else()
	list(FILTER CPACK_COMPONENTS_ALL EXCLUDE REGEX "-deb$")
endif()
