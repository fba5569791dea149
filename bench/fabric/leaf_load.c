/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/leaf_load.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* CPU time and resident memory of a process; what has ended meanwhile has none. */
static void leaf_load_process(const char *pid, uint64_t *cpu_ns, uint64_t *rss_bytes)
{
	unsigned long user, system;
	char path[300], text[1024];
	const char *at;
	FILE *file;
	size_t n;
	long pages;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	at = strrchr(text, ')'); /* a name may hold anything */
	/* fields 14, 15 and 24 of proc_pid_stat(5) */
	if (!at || sscanf(at + 1,
			  " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d "
			  "%*d %*d %*u %*u %ld",
			  &user, &system, &pages) != 3)
		return;
	*cpu_ns += (user + system) * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
	*rss_bytes += (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int leaf_load_netns(const char *path, ino_t *inode)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	*inode = st.st_ino;
	return 0;
}

/* Adds each process to the leaf whose namespace it is in. */
static int leaf_load_scan(struct leaf_load *load, const ino_t *netns, unsigned n)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	char path[300];
	ino_t inode = 0;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/ns/net", entry->d_name);
		if (!isdigit((unsigned char)entry->d_name[0]) || leaf_load_netns(path, &inode))
			continue;
		for (unsigned i = 0; i < n; i++)
			if (netns[i] == inode)
				leaf_load_process(entry->d_name, &load->cpu_ns[i],
						  &load->rss_bytes[i]);
	}
	closedir(dir);
	return 0;
}

int leaf_load_read(struct leaf_load *load, const struct topo *topo)
{
	ino_t *netns = calloc(topo->n_leaves + 1, sizeof(*netns));
	int err = 0;

	*load = (struct leaf_load){.at_ns = clock_now_ns(),
				   .cpu_ns = calloc(topo->n_leaves + 1, sizeof(*load->cpu_ns)),
				   .rss_bytes =
					   calloc(topo->n_leaves + 1, sizeof(*load->rss_bytes))};
	if (!netns || !load->cpu_ns || !load->rss_bytes)
		err = -ENOMEM;
	for (unsigned i = 0; !err && i < topo->n_leaves; i++) {
		char path[TOPO_NAME_MAX + 16];

		snprintf(path, sizeof(path), "/run/netns/%s", topo->leaves[i].netns);
		err = leaf_load_netns(path, &netns[i]);
	}
	if (!err)
		err = leaf_load_scan(load, netns, topo->n_leaves);
	free(netns);
	if (err)
		leaf_load_fini(load);
	return err;
}

void leaf_load_fini(struct leaf_load *load)
{
	free(load->cpu_ns);
	free(load->rss_bytes);
	*load = (struct leaf_load){0};
}

double leaf_load_cpu_percent(const struct leaf_load *from, const struct leaf_load *to,
			     unsigned n_leaves)
{
	double most = 0, passed = (double)(to->at_ns - from->at_ns);

	for (unsigned i = 0; i < n_leaves; i++)
		/* a daemon that ended took its time along */
		if (to->cpu_ns[i] > from->cpu_ns[i])
			most = fmax(most, (double)(to->cpu_ns[i] - from->cpu_ns[i]) / passed * 100);
	return passed > 0 ? most : 0;
}

double leaf_load_rss_bytes(const struct leaf_load *load, unsigned n_leaves)
{
	double most = 0;

	for (unsigned i = 0; i < n_leaves; i++)
		most = fmax(most, (double)load->rss_bytes[i]);
	return most;
}
