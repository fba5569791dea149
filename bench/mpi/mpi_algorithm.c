/* SPDX-License-Identifier: BSD-2-Clause */
#include "mpi_algorithm.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

/* The name of a value of an enumeration. */
static bool name_value(MPI_T_enum type, int value, char *out, int size)
{
	int n, known, length = size;
	char text[64];

	length = sizeof(text);
	if (MPI_T_enum_get_info(type, &n, text, &length) != MPI_SUCCESS)
		return false;
	for (int i = 0; i < n; i++) {
		length = size;
		if (MPI_T_enum_get_item(type, i, &known, out, &length) == MPI_SUCCESS &&
		    known == value)
			return true;
	}
	return false;
}

static void read_back(const char *name, char *out, size_t size)
{
	char text[256];
	int index, count, value = 0, verbosity, bind, scope, length = sizeof(text);
	int name_length = 0;
	MPI_T_cvar_handle handle;
	MPI_Datatype type;
	MPI_T_enum names = MPI_T_ENUM_NULL;

	if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
	    MPI_T_cvar_get_info(index, NULL, &name_length, &verbosity, &type, &names, text, &length,
				&bind, &scope) != MPI_SUCCESS ||
	    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
		return;
	if (MPI_T_cvar_read(handle, &value) == MPI_SUCCESS) {
		if (value == 0)
			snprintf(out, size, "not forced");
		else if (names == MPI_T_ENUM_NULL || !name_value(names, value, out, (int)size))
			snprintf(out, size, "%d", value);
	}
	MPI_T_cvar_handle_free(&handle);
}

void mpi_algorithm(const char *variable, char *out, size_t size)
{
	int provided;

	snprintf(out, size, "unknown");
	if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
		return;
	read_back(variable, out, size);
	MPI_T_finalize();
}
