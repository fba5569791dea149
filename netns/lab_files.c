/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab_files.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text_file.h"
#include "config.h"
#include "frr_config.h"
#include "lab_record.h"
#include "print_error.h"

/* Takes what f has written into *text, which is freed. rc: how writing went so far. */
static int put(const struct lab *lab, struct plan_host host, const char *file, FILE *f, char **text,
	       size_t *size, int rc)
{
	char path[LAB_PATH_MAX];

	lab_path(lab, host, file, path);
	if (fclose(f) && !rc)
		rc = -ENOMEM;
	if (!rc)
		rc = text_file_replace(path, 0644, *text, *size);
	free(*text);
	return rc;
}

int lab_files_bgpd(const struct lab *lab, struct plan_host host, const unsigned *announced_mbps)
{
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	return put(lab, host, "frr/bgpd.conf", f, &text, &size,
		   config_bgpd(f, &lab->topology, host, announced_mbps,
			       frr_release_of(lab->frr.version)));
}

static int write_zebra(const struct lab *lab, struct plan_host host)
{
	size_t size;
	char *text;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	frr_config_zebra(f, frr_release_of(lab->frr.version));
	return put(lab, host, "frr/zebra.conf", f, &text, &size, 0);
}

int lab_files_fared(const struct lab *lab, struct plan_host server, const unsigned *announced_mbps)
{
	char run_dir[LAB_PATH_MAX], zserv[LAB_PATH_MAX], key[LAB_PATH_MAX], *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	lab_path(lab, server, "fared", run_dir);
	lab_path(lab, server, "frr/zserv.api", zserv);
	lab_record_path(lab->name, LAB_FILES_KEY, key);
	config_fared(f, &lab->topology, server.index, announced_mbps, run_dir, zserv,
		     lab->frr.version, key);
	return put(lab, server, "fared.yaml", f, &text, &size, 0);
}

/* FRR wants to own what it writes. */
static int make_frr_dir(const char *path, mode_t mode)
{
	const struct passwd *user = getpwnam("frr");

	if (!user) {
		print_error("there is no user frr for FRR's daemons; FRR's package makes it, "
			    "`useradd --system frr` does as well");
		return -ENOENT;
	}
	return mkdir(path, mode) || chown(path, user->pw_uid, user->pw_gid) ? -errno : 0;
}

/*
 * mgmtd keeps its sockets below FRR's own run directory, in one that it makes itself (lab_paths.c),
 * and ends if there is none: FRR's package makes it at boot, which has not been where FRR was just
 * installed.
 */
static int make_run_dir(void)
{
	int rc = make_frr_dir(LAB_FRR_RUN_DIR, 0755);

	if (rc && rc != -EEXIST)
		print_error("cannot make %s for mgmtd: %s", LAB_FRR_RUN_DIR, strerror(-rc));
	return rc == -EEXIST ? 0 : rc;
}

int lab_files_make(const struct lab *lab, struct plan_host host, const unsigned *announced_mbps)
{
	char path[LAB_PATH_MAX];
	int rc = frr_install_needs_mgmtd(&lab->frr) ? make_run_dir() : 0;

	if (rc)
		return rc;
	lab_path(lab, host, "", path);
	if (mkdir(path, 0755))
		return -errno;
	lab_path(lab, host, "frr", path);
	if ((rc = make_frr_dir(path, 0750)) || (rc = write_zebra(lab, host)) ||
	    (rc = lab_files_bgpd(lab, host, announced_mbps)) || host.role != PLAN_SERVER)
		return rc;
	lab_path(lab, host, "fared", path);
	if (mkdir(path, 0755))
		return -errno;
	return lab_files_fared(lab, host, announced_mbps);
}
