/* SPDX-License-Identifier: BSD-2-Clause */
#include "frr_install.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frr_release.h"

extern char **environ;

/* Debian's, RPMs', and what `make install` and other distributions take. */
static const char *const usual_dirs[] = {
	"/usr/lib/frr",	   "/usr/libexec/frr", "/usr/local/lib/frr", "/usr/local/libexec/frr",
	"/usr/local/sbin", "/usr/sbin",	       "/opt/frr/sbin"};

bool frr_install_path(const struct frr_install *frr, const char *program, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s", frr->dir, program);
	struct stat st;

	return n > 0 && n < PATH_MAX && !stat(path, &st) && S_ISREG(st.st_mode) &&
	       !access(path, X_OK);
}

bool frr_install_needs_mgmtd(const struct frr_install *frr)
{
	char path[PATH_MAX];

	return frr_release_of(frr->version)->wants_mgmtd && frr_install_path(frr, "mgmtd", path);
}

/* The daemon that is missing there; NULL: none. */
static const char *missing(const struct frr_install *frr)
{
	char path[PATH_MAX];

	if (!frr_install_path(frr, "zebra", path))
		return "zebra";
	return frr_install_path(frr, "bgpd", path) ? NULL : "bgpd";
}

/* Reads to its end what a program prints. -errno; the program's failure is seen by its text. */
static int output_of(const char *program, const char *option, char *text, size_t size)
{
	char *const argv[] = {(char *)(size_t)program, (char *)(size_t)option, NULL};
	posix_spawn_file_actions_t actions;
	size_t used = 0;
	int fds[2], rc;
	ssize_t n = 1;
	char rest[256];
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return -errno;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	rc = posix_spawn(&pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	while (!rc && n > 0) { /* what does not fit is read all the same: nobody is to block */
		bool fits = used + 1 < size;

		n = read(fds[0], fits ? text + used : rest, fits ? size - 1 - used : sizeof(rest));
		used += fits && n > 0 ? (size_t)n : 0;
	}
	close(fds[0]);
	text[used] = '\0';
	while (!rc && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return -rc;
}

/* "bgpd version 8.4.4 ... configured with: ... '--enable-multipath=256'" */
static int ask_version(struct frr_install *out)
{
	static const char multipath[] = "--enable-multipath=";
	char path[PATH_MAX], text[8192] = "";
	const char *at;
	int rc;

	if (!frr_install_path(out, "bgpd", path))
		return -ENOENT;
	rc = output_of(path, "--version", text, sizeof(text));
	at = strstr(text, "version ");
	if (rc || !at || sscanf(at, "version %31[0-9A-Za-z.-]", out->version) != 1)
		return -EIO;
	at = strstr(text, multipath);
	out->multipath = at ? (unsigned)strtoul(at + strlen(multipath), NULL, 10) : 0;
	return 0;
}

static int find_in(const char *dir, struct frr_install *out, char error[FRR_INSTALL_ERROR_MAX])
{
	const char *lacks;

	if (!realpath(dir, out->dir)) {
		snprintf(error, FRR_INSTALL_ERROR_MAX,
			 "%.256s: %s; give the directory of FRR's zebra and bgpd", dir,
			 strerror(errno));
		return -ENOENT;
	}
	lacks = missing(out);
	if (lacks) {
		snprintf(error, FRR_INSTALL_ERROR_MAX,
			 "there is no program %s in %.256s; give the directory of FRR's zebra and "
			 "bgpd (find / -name bgpd -type f)",
			 lacks, out->dir);
		return -ENOENT;
	}
	if (ask_version(out)) {
		snprintf(error, FRR_INSTALL_ERROR_MAX,
			 "%.256s/bgpd --version names no version of FRR; does it run? (ldd shows "
			 "the libraries that it misses)",
			 out->dir);
		return -EIO;
	}
	return 0;
}

int frr_install_find(const char *dir, struct frr_install *out, char error[FRR_INSTALL_ERROR_MAX])
{
	size_t used;

	*out = (struct frr_install){0};
	if (dir)
		return find_in(dir, out, error);
	for (size_t i = 0; i < sizeof(usual_dirs) / sizeof(*usual_dirs); i++) {
		snprintf(out->dir, sizeof(out->dir), "%s", usual_dirs[i]);
		if (!missing(out))
			return find_in(usual_dirs[i], out, error);
	}
	used = (size_t)snprintf(error, FRR_INSTALL_ERROR_MAX, "FRR's zebra and bgpd are not in");
	for (size_t i = 0; i < sizeof(usual_dirs) / sizeof(*usual_dirs); i++)
		used += (size_t)snprintf(error + used, FRR_INSTALL_ERROR_MAX - used, " %s",
					 usual_dirs[i]);
	snprintf(error + used, FRR_INSTALL_ERROR_MAX - used,
		 "; install FRR (apt-get install frr), or give their directory");
	return -ENOENT;
}
