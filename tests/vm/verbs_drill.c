/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_drill.c - a QP group over the verbs provider, between two GPUs of fabric.sh, under faults
 * of every kind in turn.
 *
 *   verbs_drill PLANES SUB_PORTS MODE        (MODE: flow or spray; inside the VM, after fabric_up)
 *
 * What is sent and how it is checked: tests/lab/drill_hosts.h. Each step ends when what it is for
 * has been seen, or fails after a limit. One line of JSON at the end.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "drill_hosts.h"

#define STEP_SECONDS 180

/* Until *counter exceeds what it was, or time is up, or something failed. */
static bool wait_beyond(struct drill_hosts *d, _Atomic uint64_t *counter, uint64_t was,
			const char *what)
{
	uint64_t end = clock_now_ns() + STEP_SECONDS * UINT64_C(1000000000);

	while (*counter <= was && !d->shared->failed && clock_now_ns() < end)
		poll(NULL, 0, 10);
	if (*counter > was)
		return true;
	fprintf(stderr, "verbs_drill: waited in vain: %s\n", what);
	return false;
}

static bool wait_traffic(struct drill_hosts *d, unsigned messages, const char *when)
{
	return wait_beyond(d, &d->shared->received, d->shared->received + messages, when);
}

/* The leaf drops everything and nobody says so: the QPs' own time-outs must. */
static bool step_gray(struct drill_hosts *d, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds, bytes;

	bed_gray(&d->bed, plane, true);
	if (!wait_beyond(d, &d->shared->deaths, deaths, "death of a gray plane's QPs") ||
	    !wait_traffic(d, 20, "traffic without the gray plane"))
		return false;
	rebuilds = d->shared->rebuilds;
	bytes = d->shared->plane_bytes[plane];
	bed_gray(&d->bed, plane, false);
	return wait_beyond(d, &d->shared->rebuilds, rebuilds,
			   "rebuilding after the gray plane cleared") &&
	       wait_beyond(d, &d->shared->plane_bytes[plane], bytes,
			   "traffic on the cleared plane");
}

/* The daemon says first that the plane is gone; its links follow. */
static bool step_told(struct drill_hosts *d, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds = d->shared->rebuilds, bytes;

	d->bed.plane_down[plane] = true;
	bed_publish(&d->bed);
	bed_gray(&d->bed, plane, true);
	if (!wait_beyond(d, &d->shared->deaths, deaths,
			 "death of a plane that was told to be gone") ||
	    !wait_traffic(d, 20, "traffic without it"))
		return false;
	bytes = d->shared->plane_bytes[plane];
	bed_gray(&d->bed, plane, false);
	d->bed.plane_down[plane] = false;
	bed_publish(&d->bed);
	return wait_beyond(d, &d->shared->rebuilds, rebuilds,
			   "rebuilding of the plane told to be back") &&
	       wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "traffic on it");
}

/* A sub-port's carrier goes: its device says so before anybody else does. Then the daemon does,
 * too. */
static bool step_link(struct drill_hosts *d, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds, bytes;
	bool half = d->bed.options.sub_ports > 1;

	bed_link(&d->bed, plane, 0, false);
	if (!wait_beyond(d, &d->shared->deaths, deaths, "death by a port event"))
		return false;
	d->bed.sub_port_down[0][plane][0] = true;
	d->bed.plane_down[plane] = !half;
	bed_publish(&d->bed);
	bytes = d->shared->plane_bytes[plane];
	if (!wait_traffic(d, 20, "traffic without the link") ||
	    (half &&
	     !wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "the plane's other sub-port")))
		return false;
	rebuilds = d->shared->rebuilds;
	bytes = d->shared->plane_bytes[plane];
	bed_link(&d->bed, plane, 0, true);
	d->bed.sub_port_down[0][plane][0] = false;
	d->bed.plane_down[plane] = false;
	bed_publish(&d->bed);
	return wait_beyond(d, &d->shared->rebuilds, rebuilds,
			   "rebuilding after the link came back") &&
	       wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "traffic on it");
}

/* A sub-port's address changes: its GID goes and another comes. */
static bool step_gid(struct drill_hosts *d, int host, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds = d->shared->rebuilds, bytes;

	if (bed_run("bash -c '. tests/vm/fabric.sh; fabric_readdress %d %u 0 %u'", host, plane,
		    d->bed.options.sub_ports))
		return false;
	if (!wait_beyond(d, &d->shared->deaths, deaths, "death by a GID event") ||
	    !wait_beyond(d, &d->shared->rebuilds, rebuilds, "rebuilding on the new GID"))
		return false;
	bytes = d->shared->plane_bytes[plane];
	return wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "traffic on the new GID");
}

/* A device is deleted, which waits for its users to let it go, and made again. */
static bool step_device(struct drill_hosts *d, int host, unsigned plane)
{
	uint64_t deaths = d->shared->deaths, rebuilds, bytes;

	if (bed_run("timeout 30 rdma link delete r%dp%us0", host, plane) ||
	    !wait_beyond(d, &d->shared->deaths, deaths, "death by a device that went"))
		return false;
	bytes = d->shared->plane_bytes[plane];
	if (d->bed.options.sub_ports == 1 && !wait_traffic(d, 20, "traffic without the device"))
		return false;
	rebuilds = d->shared->rebuilds;
	if (bed_run("rdma link add r%dp%us0 type rxe netdev h%dp%us0", host, plane, host, plane))
		return false;
	/* with a second sub-port the lane may have been rebuilt on that alone */
	return (d->bed.options.sub_ports > 1 ||
		wait_beyond(d, &d->shared->rebuilds, rebuilds, "rebuilding on the device")) &&
	       wait_beyond(d, &d->shared->plane_bytes[plane], bytes, "traffic on it");
}

static bool run(struct drill_hosts *d)
{
	unsigned planes = d->bed.options.planes;
	bool ok;

	ok = wait_traffic(d, 30, "the first messages") && step_gray(d, 1 % planes) &&
	     step_told(d, 2 % planes) && step_link(d, 3 % planes) && step_gid(d, 0, 0) &&
	     step_gid(d, 1, 0) && step_device(d, 0, 1 % planes) && step_device(d, 1, 2 % planes) &&
	     wait_traffic(d, 20, "the last messages");
	for (unsigned p = 0; p < planes; p++)
		ok &= d->shared->plane_bytes[p] > 0;
	if (!ok)
		drill_hosts_fail(d, "a step", d->shared->received);
	return drill_hosts_end(d) && ok;
}

int main(int argc, char **argv)
{
	static struct drill_hosts d = {
		.max_bytes = 256u << 10, .patience_s = STEP_SECONDS, .seed = 1};
	struct bed_options options = {.provider = "verbs"};
	bool ok;

	if (argc != 4) {
		fprintf(stderr, "usage: verbs_drill PLANES SUB_PORTS flow|spray\n");
		return 2;
	}
	options.planes = (unsigned)atoi(argv[1]);
	options.sub_ports = (unsigned)atoi(argv[2]);
	d.mode = strcmp(argv[3], "flow") ? FARE_MODE_SPRAY : FARE_MODE_FLOW;
	if (!options.planes || options.planes > FARE_MAX_PLANES || !options.sub_ports ||
	    options.sub_ports > FARE_MAX_SUB_PORTS)
		return 2;
	ok = !drill_hosts_start(&d, &options) && run(&d);
	bed_destroy(&d.bed);
	printf("{\"drill\":{");
	drill_hosts_report(&d, stdout);
	printf(",\"ok\":%s}}\n", ok ? "true" : "false");
	return !ok;
}
