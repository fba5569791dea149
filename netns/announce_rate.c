/* SPDX-License-Identifier: BSD-2-Clause */
#include "announce_rate.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "lab_files.h"
#include "print_error.h"
#include "vty.h"

/* Line by line, as if typed. */
static int ask_lines(struct vty *vty, char *lines)
{
	char *save = NULL;
	int rc = 0;

	for (char *line = strtok_r(lines, "\n", &save); !rc && line;
	     line = strtok_r(NULL, "\n", &save)) {
		rc = vty_ask(vty, line);
		if (rc)
			print_error("bgpd refuses '%s': %s", line,
				    vty->text ? vty->text : strerror(-rc));
	}
	return rc;
}

/* The sub-links of a server, or only the one of that number, to its bgpd. */
static int announce_to_bgpd(const struct lab *lab, struct plan_host server, unsigned only,
			    const unsigned *announced_mbps)
{
	const struct topology *t = &lab->topology;
	char path[LAB_PATH_MAX], *text = NULL;
	struct vty vty;
	size_t size;
	FILE *f;
	int rc;

	if (!lab_daemon_pid(lab, server, LAB_BGPD))
		return 0; /* it will read its file */
	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	fputs("enable\nconfigure terminal\n", f);
	PLAN_EACH_LINK(t, server, k)
	if (only == k || only == plan_links(t))
		config_link_rate(f, t, k, announced_mbps[k]);
	lab_path(lab, server, "frr/bgpd.vty", path);
	rc = fclose(f) ? -ENOMEM : vty_open(&vty, path);
	if (!rc) {
		rc = ask_lines(&vty, text);
		vty_close(&vty);
	}
	free(text);
	return rc;
}

static int announce_to_server(const struct lab *lab, unsigned server, unsigned only,
			      const unsigned *announced_mbps)
{
	const struct plan_host host = {PLAN_SERVER, server};
	pid_t pid = lab_daemon_pid(lab, host, LAB_FARED);
	int rc = 0;

	if (lab->topology.announce_rates && !(rc = lab_files_bgpd(lab, host, announced_mbps)))
		rc = announce_to_bgpd(lab, host, only, announced_mbps);
	if (!rc)
		rc = lab_files_fared(lab, host, announced_mbps);
	return !rc && pid && kill(pid, SIGHUP) ? -errno : rc;
}

int announce_rate_of(const struct lab *lab, unsigned number, const unsigned *announced_mbps)
{
	struct plan_link link;

	plan_link_ends(&lab->topology, number, &link);
	return announce_to_server(lab, link.gpu.server, number, announced_mbps);
}

int announce_rate_all(const struct lab *lab, const unsigned *announced_mbps)
{
	int rc = 0;

	for (unsigned k = 0; !rc && k < lab->topology.servers; k++)
		rc = announce_to_server(lab, k, plan_links(&lab->topology), announced_mbps);
	return rc;
}
