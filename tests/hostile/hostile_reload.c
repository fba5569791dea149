/* links: test_bed PkgConfig::LIBFABRIC dl */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_reload.c - an application that loads a shared object of ours, opens and closes what it
 * has, and unloads it, 200 times.
 *
 *   hostile_reload LIBFARE NCCL_PLUGIN LIBFABRIC_PROVIDER
 *
 * Required, for each object: after as many rounds as warm up, the process has no more threads,
 * descriptors and mappings than before, and its memory grows by less than a page a round. (ASan
 * keeps some of each object that was unloaded: memory has a looser bound there, mappings have
 * none.) Exit 77: not root. One line of JSON each.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_prov.h>

#include "bed.h"
#include "nccl/nccl_net.h"

#define WARM_UP 40
#define ROUNDS	200
#ifdef __SANITIZE_ADDRESS__
#define GROWTH_KB    (ROUNDS * 1024)
#define MAPPINGS_MAX LONG_MAX
#else
#define GROWTH_KB    (ROUNDS * 4)
#define MAPPINGS_MAX 0
#endif

static struct bed bed;
static const char *object;

static void ok(bool fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "hostile_reload: %s: %s\n", object, what);
	fflush(NULL);
	_exit(1);
}

/* ---- what there is of each ---- */

struct size {
	long threads, descriptors, mappings, kb;
};

static long count_entries(const char *path)
{
	DIR *dir = opendir(path);
	long n = 0;

	ok(dir, path);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static long count_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	long n = 0;

	ok(f, path);
	for (int c = fgetc(f); c != EOF; c = fgetc(f))
		n += c == '\n';
	fclose(f);
	return n;
}

static long resident_kb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long pages = 0, resident = 0;

	ok(f && fscanf(f, "%ld %ld", &pages, &resident) == 2, "/proc/self/statm");
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A thread that was joined may still be leaving. */
static struct size measure(void)
{
	struct size s = {.threads = count_entries("/proc/self/task")};

	malloc_trim(0);
	s.descriptors = count_entries("/proc/self/fd");
	s.mappings = count_lines("/proc/self/maps");
	s.kb = resident_kb();
	return s;
}

/* ---- one round of each ---- */

static void *load(void)
{
	void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);

	ok(library, dlerror());
	return library;
}

static void *symbol(void *library, const char *name)
{
	void *p = dlsym(library, name);

	ok(p, name);
	return p;
}

static void round_of_libfare(void)
{
	void *library = load();
	__typeof__(fare_attach) *attach = symbol(library, "fare_attach");
	__typeof__(fare_detach) *detach = symbol(library, "fare_detach");
	__typeof__(fare_domain_open_sized) *open = symbol(library, "fare_domain_open_sized");
	__typeof__(fare_domain_close) *close_domain = symbol(library, "fare_domain_close");
	const struct fare_domain_options options = {.key_file = bed.key, .accept = true};
	struct fare_domain *domain;
	struct fare *fare;

	ok(!attach(&fare, bed.dir[0]), "fare_attach");
	ok(!open(&domain, fare, 0, &options, sizeof(options)), "fare_domain_open");
	close_domain(domain);
	detach(fare);
	ok(!dlclose(library), "dlclose");
}

__attribute__((format(printf, 5, 6))) static void say(ncclDebugLogLevel level, unsigned long flags,
						      const char *file, int line,
						      const char *format, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)format;
}

static void listen_once(ncclResult_t (*listens)(int, void *, void **), ncclResult_t (*stop)(void *))
{
	uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
	void *listener;

	ok(listens(0, handle, &listener) == ncclSuccess && listener, "listen");
	ok(stop(listener) == ncclSuccess, "closeListen");
}

/* The versions without an end, and one that has it. */
static void round_of_nccl(void)
{
	void *library = load(), *context, *listener;
	const ncclNet_v10_t *v10 = symbol(library, "ncclNetPlugin_v10");
	const ncclNet_v12_t *v12 = symbol(library, "ncclNetPlugin_v12");
	uint8_t handle[NCCL_NET_HANDLE_MAXSIZE];
	static bool ends;
	int n = 0;

	ends = !ends;
	if (ends) {
		ok(v12->init(&context, 0, NULL, say, NULL) == ncclSuccess, "init");
		ok(v12->devices(&n) == ncclSuccess && n == 1, "devices");
		ok(v12->listen(context, 0, handle, &listener) == ncclSuccess, "listen");
		ok(v12->closeListen(listener) == ncclSuccess, "closeListen");
		ok(v12->finalize(context) == ncclSuccess, "finalize");
	} else {
		ok(v10->init(say, NULL) == ncclSuccess, "init");
		ok(v10->devices(&n) == ncclSuccess && n == 1, "devices");
		listen_once(v10->listen, v10->closeListen);
	}
	ok(!dlclose(library), "dlclose");
}

static void round_of_provider(void)
{
	void *library = load();
	struct fi_provider *(*start)(void) =
		(struct fi_provider * (*)(void)) symbol(library, "fi_prov_ini");
	struct fi_provider *provider = start();
	struct fid_domain *domain;
	struct fid_fabric *fabric;
	struct fi_info *info;

	ok(!provider->getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info), "getinfo");
	ok(!provider->fabric(info->fabric_attr, &fabric, NULL), "fabric");
	ok(!fi_domain(fabric, info, &domain, NULL), "fi_domain");
	ok(!fi_close(&domain->fid) && !fi_close(&fabric->fid), "fi_close");
	fi_freeinfo(info);
	provider->cleanup();
	ok(!dlclose(library), "dlclose");
}

/* ---- ---- */

static int run(void (*once)(void))
{
	struct size before, after;
	const char *name = strrchr(object, '/');

	bed_enter_namespace(&bed, 0);
	setenv("FARE_RUN_DIR", bed.dir[0], 1);
	setenv("FARE_KEY_FILE", bed.key, 1);
	for (int i = 0; i < WARM_UP; i++)
		once();
	before = measure();
	for (int i = 0; i < ROUNDS; i++)
		once();
	after = measure();
	printf("{\"object\":\"%s\",\"threads\":%ld,\"descriptors\":%ld,\"mappings\":%ld,\"kb\":%ld}"
	       "\n",
	       name ? name + 1 : object, after.threads - before.threads,
	       after.descriptors - before.descriptors, after.mappings - before.mappings,
	       after.kb - before.kb);
	fflush(stdout);
	return after.threads > before.threads || after.descriptors > before.descriptors ||
	       after.mappings - before.mappings > MAPPINGS_MAX || after.kb > before.kb + GROWTH_KB;
}

/* In a child, so that none starts with what another left. */
static bool passes(const char *path, void (*once)(void))
{
	int status = 0;
	pid_t pid = fork();

	object = path;
	if (!pid)
		_exit(run(once));
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* What ASan keeps of freed memory is no growth. */
static void start_anew(char **argv)
{
	static const char options[] = "quarantine_size_mb=0:thread_local_quarantine_size_kb=0:"
				      "detect_leaks=0";

	if (getenv("HOSTILE_RELOAD"))
		return;
	setenv("HOSTILE_RELOAD", "1", 1);
	setenv("ASAN_OPTIONS", options, 1);
	execv("/proc/self/exe", argv);
	ok(false, "exec");
}

int main(int argc, char **argv)
{
	const struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 1};
	bool all;

	if (argc != 4) {
		fputs("usage: hostile_reload LIBFARE NCCL_PLUGIN LIBFABRIC_PROVIDER\n", stderr);
		return 2;
	}
	start_anew(argv);
	if (bed_make(&bed, &options))
		return 1;
	bed_publish(&bed);
	all = passes(argv[1], round_of_libfare);
	all = passes(argv[2], round_of_nccl) && all;
	all = passes(argv[3], round_of_provider) && all;
	bed_destroy(&bed);
	return all ? 0 : 1;
}
