/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_reload.c - see faults.h: fared is given another configuration that means the same */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"
#include "print_error.h"
#include "base/text_file.h"

#define BYTES_MAX 1000000

/* How long stale routes are kept: it makes fared start its route sources anew, and no path may
 * move. */
static const char key[] = "\n  stale_s: ";

/* The last digit of that number becomes another one: even numbers odd, odd ones even. */
static int change_number(char *text)
{
	char *at = strstr(text, key);

	if (!at)
		return -ENODATA;
	at += strlen(key);
	at += strspn(at, "0123456789");
	if (at[-1] < '0' || at[-1] > '9')
		return -ENODATA;
	at[-1] ^= 1;
	return 0;
}

static int change_config(const char *path)
{
	size_t size;
	char *text;
	int rc = text_file_read(path, BYTES_MAX, &text, &size);

	if (rc)
		return rc;
	rc = change_number(text);
	if (!rc)
		rc = text_file_replace(path, 0644, text, size);
	free(text);
	return rc;
}

int faults_reload(struct lab *lab, struct plan_host host)
{
	char path[LAB_PATH_MAX];
	pid_t pid;
	int rc;

	if (host.role != PLAN_SERVER || !lab->fared[0]) {
		print_error("reload is for fared, on a server of a lab that was brought up with "
			    "--fared");
		return -EINVAL;
	}
	rc = lab_lock(lab);
	if (rc)
		return rc;
	lab_path(lab, host, "fared.yaml", path);
	rc = change_config(path);
	pid = lab_daemon_pid(lab, host, LAB_FARED);
	if (rc)
		print_error("%s: %s", path,
			    rc == -ENODATA ? "there is no stale_s to change; give it one"
					   : strerror(-rc));
	else if (pid && kill(pid, SIGHUP) && errno != ESRCH)
		rc = -errno;
	lab_unlock(lab);
	return rc;
}
