/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs_bond.c - control messages over a bond: the verbs endpoint's sub-ports are its members, or
 * the bond itself.
 *
 *   verbs_bond DEV...        (inside the VM; namespace `leaf` is at the other end)
 *
 * A process in the leaf returns each datagram to the address that it came from. Each must be
 * answered, and must arrive on plane 0.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verbs_pair.h"

static unsigned n_arrived, n_elsewhere;

static void on_control(void *arg, const struct qp_control *c)
{
	(void)arg;
	n_arrived++;
	n_elsewhere += c->plane != 0;
}

/* In a process of its own: returns what comes, to the control port. */
static void run_leaf(int ready)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(FARE_CONTROL_PORT)};
	int ns = open("/run/netns/leaf", O_RDONLY | O_CLOEXEC), fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ns < 0 || setns(ns, CLONE_NEWNET))
		pair_fail("no leaf");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	inet_pton(AF_INET, "198.18.0.1", &at.sin_addr);
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || write(ready, "", 1) != 1)
		pair_fail("the leaf's socket");
	for (;;) {
		struct sockaddr_in from;
		socklen_t length = sizeof(from);
		uint8_t buf[2048];
		ssize_t n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &length);

		from.sin_port = htons(FARE_CONTROL_PORT);
		sendto(fd, buf, (size_t)n, 0, (struct sockaddr *)&from, length);
	}
}

int main(int argc, char **argv)
{
	struct qp_endpoint_attr attr = {.n_planes = 1, .path_mtu = 1024, .on_control = on_control};
	struct qp_control c = {.data = "echo", .length = 4};
	static struct pair p = {.v = &qp_verbs_provider};
	int ready[2];
	char byte;

	if (argc < 2 || pipe(ready))
		return 2;
	if (!fork())
		run_leaf(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		pair_fail("the leaf");
	inet_pton(AF_INET6, "::ffff:198.19.0.1", &attr.address);
	inet_pton(AF_INET6, "::ffff:198.18.0.1", &c.remote);
	for (int i = 1; i < argc && i <= FARE_MAX_SUB_PORTS; i++) {
		snprintf(attr.dev[0][i - 1], sizeof(attr.dev[0][0]), "%s", argv[i]);
		attr.n_sub_ports[0]++;
	}
	pair_check(p.v->endpoint_create(&p.ep[0], &attr));
	for (unsigned turn = 0; turn < 2u * attr.n_sub_ports[0]; turn++) {
		unsigned before = n_arrived;

		c.sub_port = (uint16_t)(turn / 2);
		c.udp_source_port = turn % 2 ? (uint16_t)(50000 + turn) : 0;
		pair_check(p.v->control_send(p.ep[0], &c));
		pair_until((&p), n_arrived > before);
	}
	if (n_elsewhere)
		pair_fail("%u of %u arrived on no plane", n_elsewhere, n_arrived);
	printf("%s%s: %u sent, %u came back over plane 0\n", argv[1], argc > 2 ? "..." : "",
	       2u * attr.n_sub_ports[0], n_arrived);
	pair_close(&p);
	return 0;
}
