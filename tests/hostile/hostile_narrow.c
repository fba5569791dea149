/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_narrow.c - a sub-port whose device is set to a small MTU while a group is busy, and back;
 * a plane all of whose sub-ports are.
 *
 * Two hosts (tests/lab/bed.h), messages whose every byte is verified. With one plane of four
 * sub-ports, `ip link set p0s1 mtu 900` at the sender. Required: no operation fails and no lane
 * ends; within a second the other three carry as much as three can, and that sub-port nothing but
 * small packets; with its MTU given back it is in use again within two seconds. A new domain leaves
 * that device out; where most are too small, its error names one. With two planes, both sub-ports
 * of one: its lane says EMSGSIZE, the other plane carries on, and all is well after the MTU is
 * back. Exit 77: not root. One line of JSON a case.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "drill_hosts.h"

#define SECOND_NS UINT64_C(1000000000)

static int problem(const char *what)
{
	fprintf(stderr, "hostile_narrow: %s\n", what);
	return 1;
}

static double rate_over(struct drill_hosts *h, unsigned ms)
{
	uint64_t bytes = h->shared->bytes, since = clock_now_ns(),
		 end = since + ms * UINT64_C(1000000);

	while (clock_now_ns() < end && drill_hosts_alive(h))
		poll(NULL, 0, 10);
	return (double)(h->shared->bytes - bytes) * 1e3 / (double)(clock_now_ns() - since);
}

/* The best of some times half a second, for a machine whose cores are busy: until it is enough. */
static double rate_reaching(struct drill_hosts *h, double enough)
{
	double best = 0;

	for (unsigned i = 0; i < 6 && best < enough && drill_hosts_alive(h); i++) {
		double rate = rate_over(h, 500);

		best = rate > best ? rate : best;
	}
	return best;
}

static void set_mtu(const struct bed *bed, unsigned plane, unsigned sub_port, unsigned mtu)
{
	bed_run("ip -n %s link set p%us%u mtu %u", bed->ns[0], plane, sub_port, mtu);
}

/* What host 1 receives by a sub-port in 300 ms. */
static uint64_t bytes_by(struct drill_hosts *h, unsigned plane, unsigned sub_port)
{
	uint64_t before = bed_rx_bytes(&h->bed, 1, plane, sub_port);

	rate_over(h, 300);
	return bed_rx_bytes(&h->bed, 1, plane, sub_port) - before;
}

/* Until the sub-port carries data, or none; or limit_ns is over. */
static bool carries(struct drill_hosts *h, unsigned plane, unsigned sub_port, bool data,
		    uint64_t limit_ns)
{
	uint64_t end = clock_now_ns() + limit_ns;

	do
		if ((bytes_by(h, plane, sub_port) > 1000000) == data)
			return true;
	while (clock_now_ns() < end && drill_hosts_alive(h));
	return false;
}

/* A domain that asks for 4,096: the error, and the device that limits it. */
static int open_with_4096(struct drill_hosts *h, char dev[FARE_DEV_NAME_MAX])
{
	struct fare_domain_options options = {
		.key_file = h->bed.key, .path_mtu = 4096, .max_path_mtu_dev = dev};
	struct fare_domain *domain;
	struct fare *fare;
	int err;

	bed_enter_namespace(&h->bed, 0);
	err = fare_attach(&fare, h->bed.dir[0]);
	if (!err)
		err = fare_domain_open(&domain, fare, 0, &options);
	if (!err)
		fare_domain_close(domain);
	return err;
}

/* One device of four carries less: it is left out. */
static int ask_with_one_narrow(void *arg)
{
	char dev[FARE_DEV_NAME_MAX] = "";

	return open_with_4096(arg, dev) != 0;
}

/* Three of four do. */
static int ask_with_three_narrow(void *arg)
{
	char dev[FARE_DEV_NAME_MAX] = "";

	return open_with_4096(arg, dev) != -EMSGSIZE || strcmp(dev, "p0s1");
}

static bool in_child(int (*run)(void *), void *arg)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0)
		_exit(run(arg));
	waitpid(child, &status, 0);
	return !status;
}

static int one_sub_port(struct drill_hosts *h)
{
	struct drill_shared *sh = h->shared;
	double before = rate_over(h, 500), during, after;
	uint64_t deaths = sh->deaths;

	set_mtu(&h->bed, 0, 1, 900);
	if (!carries(h, 0, 1, false, SECOND_NS))
		problem("the sub-port is still in use");
	during = rate_reaching(h, before * 0.75 * 0.85);
	if (!in_child(ask_with_one_narrow, h))
		return problem("no domain opens because of one device");
	set_mtu(&h->bed, 0, 1, h->bed.options.mtu);
	if (!carries(h, 0, 1, true, 2 * SECOND_NS))
		return problem("the sub-port is not used again");
	after = rate_reaching(h, before * 0.85);
	printf("{\"narrow\":{\"before_mb_s\":%.1f,\"during_mb_s\":%.1f,\"after_mb_s\":%.1f,"
	       "\"lane_deaths\":%llu}}\n",
	       before, during, after, (unsigned long long)(sh->deaths - deaths));
	if (sh->deaths != deaths)
		return problem("lanes ended");
	if (during < before * 0.75 * 0.85)
		return problem("three sub-ports carry less than they could");
	return after < before * 0.85 ? problem("the rate did not come back") : 0;
}

static int one_plane(struct drill_hosts *h)
{
	uint64_t rebuilds = h->shared->rebuilds;
	double before = rate_over(h, 500), during, after;

	for (unsigned s = 0; s < 2; s++)
		set_mtu(&h->bed, 1, s, 900);
	if (!carries(h, 1, 0, false, SECOND_NS) || !carries(h, 1, 1, false, SECOND_NS))
		return problem("the plane is still in use");
	during = rate_reaching(h, before * 0.5 * 0.85);
	h->shared->dump[0] = 1; /* what an operator would see */
	set_mtu(&h->bed, 0, 1, 900);
	if (!in_child(ask_with_three_narrow, h))
		return problem("the error of a domain does not name the device");
	set_mtu(&h->bed, 0, 1, h->bed.options.mtu);
	for (unsigned s = 0; s < 2; s++)
		set_mtu(&h->bed, 1, s, h->bed.options.mtu);
	if (!carries(h, 1, 0, true, 2 * SECOND_NS))
		return problem("the plane is not used again");
	after = rate_reaching(h, before * 0.85);
	printf("{\"narrow_plane\":{\"before_mb_s\":%.1f,\"during_mb_s\":%.1f,\"after_mb_s\":%.1f,"
	       "\"rebuilds\":%llu}}\n",
	       before, during, after, (unsigned long long)(h->shared->rebuilds - rebuilds));
	if (during < before * 0.5 * 0.85)
		return problem("the other plane carries less than it could");
	return after < before * 0.85 ? problem("the rate did not come back") : 0;
}

static int with_bed(unsigned planes, unsigned sub_ports, int (*run)(struct drill_hosts *),
		    enum fare_mode mode)
{
	struct bed_options options = {.provider = "soft",
				      .planes = planes,
				      .sub_ports = sub_ports,
				      .rate_mbps = 200,
				      .mtu = 4200};
	struct drill_hosts h = {.mode = mode, .max_bytes = 256u << 10, .patience_s = 10};
	int failed = drill_hosts_start(&h, &options) || run(&h);

	failed |= !drill_hosts_end(&h);
	bed_destroy(&h.bed);
	return failed;
}

int main(void)
{
	int failed = with_bed(1, 4, one_sub_port, FARE_MODE_SPRAY);

	failed |= with_bed(1, 4, one_sub_port, FARE_MODE_PACKET);
	return with_bed(2, 2, one_plane, FARE_MODE_SPRAY) || failed;
}
