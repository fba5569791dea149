/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replays a fuzz corpus without libFuzzer: every file named, or every file of a directory named,
 * goes through LLVMFuzzerTestOneInput() once. A run that found no input fails: a test that cannot
 * fail is a defect.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		perror(path);
		exit(1);
	}
	/* exact size under ASan would want +0, but malloc(0) may be NULL */
	data = malloc((size_t)size + 1);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	if (size > 0)
		data = realloc(data, (size_t)size); /* exact, so that ASan sees an over-read */
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
	return 1;
}

static int replay(const char *path)
{
	struct stat st;
	struct dirent *e;
	char sub[4096];
	int n = 0;
	DIR *d;

	if (stat(path, &st)) {
		perror(path);
		exit(1);
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		n += replay_file(sub);
	}
	if (d)
		closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	int n = 0;

	for (int i = 1; i < argc; i++)
		n += replay(argv[i]);
	printf("%d inputs replayed\n", n);
	return n ? 0 : 1;
}
