/* links: test_bed */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_icmp.c - ICMP messages that anybody can forge, against a running group and new ones:
 * every type that the kernel keeps or reports, for every source port of RoCEv2, IPv4 and IPv6.
 *
 * Two hosts (tests/lab/bed.h), two planes of two sub-ports, messages whose every byte is verified.
 * The forged messages arrive at the sender by the planes; in IPv4 they have 56 bytes.
 * Required: the kernel has taken the path MTU of 552 (1280), so the attack is one; no operation
 * fails, no lane ends; the rate is back within a second; a new group opens and carries as much.
 * Exit 77: not root. One line of JSON for each family.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "drill_hosts.h"
#include "roce_ports.h"

#define PLANES	  2
#define SUB_PORTS 2

static const struct {
	uint8_t type, code;
} forged4[] =
	{
		{ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED},
		{ICMP_DEST_UNREACH, ICMP_PORT_UNREACH},
		{ICMP_DEST_UNREACH, ICMP_HOST_UNREACH},
		{ICMP_DEST_UNREACH, ICMP_NET_UNREACH},
		{ICMP_DEST_UNREACH, ICMP_PROT_UNREACH},
		{ICMP_DEST_UNREACH, ICMP_PKT_FILTERED},
		{ICMP_SOURCE_QUENCH, 0},
		{ICMP_REDIRECT, ICMP_REDIRECT_HOST},
		{ICMP_TIME_EXCEEDED, 0},
		{ICMP_PARAMETERPROB, 0},
},
  forged6[] = {
	  {ICMP6_PACKET_TOO_BIG, 0},
	  {ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_NOPORT},
	  {ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADDR},
	  {ICMP6_DST_UNREACH, ICMP6_DST_UNREACH_ADMIN},
	  {ICMP6_TIME_EXCEEDED, 0},
	  {ICMP6_PARAM_PROB, 0},
};

static uint16_t sum_of(const void *data, size_t n)
{
	const uint8_t *at = data;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

/* ---- the attacker, in host 1's namespace ---- */

static int open_raw(bool ipv6, const char *dev)
{
	int fd = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_RAW, ipv6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, dev, (socklen_t)strlen(dev))) {
		perror("hostile_icmp: raw socket");
		exit(1);
	}
	return fd;
}

static void forge4(int fd, unsigned k, uint16_t port)
{
	struct in6_addr victim = bed_address(0), peer = bed_address(1);
	struct {
		struct icmphdr icmp;
		struct iphdr ip;
		struct udphdr udp;
	} m;
	struct sockaddr_in to = {.sin_family = AF_INET};

	_Static_assert(sizeof(m) + sizeof(struct iphdr) == 56, "as short as can be");
	memset(&m, 0, sizeof(m));
	m.icmp.type = forged4[k].type;
	m.icmp.code = forged4[k].code;
	m.ip = (struct iphdr){.version = 4,
			      .ihl = 5,
			      .tot_len = htons(4096),
			      .frag_off = htons(IP_DF),
			      .ttl = 64,
			      .protocol = IPPROTO_UDP};
	m.udp.source = htons(port);
	m.udp.dest = htons(ROCE_UDP_PORT);
	m.udp.len = htons(4076);
	if (m.icmp.type == ICMP_DEST_UNREACH)
		m.icmp.un.frag.mtu = htons(552);
	memcpy(&to.sin_addr, victim.s6_addr + 12, 4);
	memcpy(&m.ip.saddr, victim.s6_addr + 12, 4);
	memcpy(&m.ip.daddr, peer.s6_addr + 12, 4);
	m.icmp.checksum = sum_of(&m, sizeof(m));
	while (sendto(fd, &m, sizeof(m), 0, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	       errno == ENOBUFS)
		poll(NULL, 0, 1);
}

/* The kernel fills in ICMPv6 checksums. */
static void forge6(int fd, const struct bed *bed, unsigned k, uint16_t port)
{
	struct {
		struct icmp6_hdr icmp;
		struct ip6_hdr ip;
		struct udphdr udp;
	} m;
	struct sockaddr_in6 to = {.sin6_family = AF_INET6, .sin6_addr = bed_address_in(bed, 0)};

	memset(&m, 0, sizeof(m));
	m.icmp.icmp6_type = forged6[k].type;
	m.icmp.icmp6_code = forged6[k].code;
	m.ip.ip6_src = bed_address_in(bed, 0);
	m.ip.ip6_dst = bed_address_in(bed, 1);
	m.udp.source = htons(port);
	m.udp.dest = htons(ROCE_UDP_PORT);
	m.udp.len = htons(4076);
	m.ip.ip6_flow = htonl(6u << 28);
	m.ip.ip6_plen = htons(4076);
	m.ip.ip6_nxt = IPPROTO_UDP;
	if (m.icmp.icmp6_type == ICMP6_PACKET_TOO_BIG)
		m.icmp.icmp6_mtu = htonl(1280);
	while (sendto(fd, &m, sizeof(m), 0, (struct sockaddr *)&to, sizeof(to)) < 0 &&
	       errno == ENOBUFS)
		poll(NULL, 0, 1);
}

static void attack_by(const struct bed *bed, unsigned plane, unsigned sub_port)
{
	unsigned n = bed->options.ipv6 ? sizeof(forged6) / sizeof(forged6[0])
				       : sizeof(forged4) / sizeof(forged4[0]);
	char dev[16];
	int fd = open_raw(bed->options.ipv6, bed_device(bed, 1, plane, sub_port, dev));

	/* the pool, often; all others, where control sockets are, once */
	for (unsigned i = 0; i < 24 * FARE_SOURCE_PORTS + 16384; i++) {
		uint16_t port =
			(uint16_t)(FARE_SOURCE_PORT_FIRST + (i < 24 * FARE_SOURCE_PORTS
								     ? i % FARE_SOURCE_PORTS
								     : i - 24 * FARE_SOURCE_PORTS));

		for (unsigned k = 0; k < (i < 24 * FARE_SOURCE_PORTS ? n : 1); k++) {
			if (bed->options.ipv6)
				forge6(fd, bed, k, port);
			else
				forge4(fd, k, port);
		}
	}
	close(fd);
}

static bool attack(const struct bed *bed)
{
	int status = 1;
	pid_t child = fork();

	if (child == 0) {
		bed_enter_namespace(bed, 1);
		for (unsigned p = 0; p < PLANES; p++)
			for (unsigned s = 0; s < SUB_PORTS; s++)
				attack_by(bed, p, s);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return !status;
}

/* A program that obeys what the kernel learned would now be told so. */
static bool is_poisoned(const struct bed *bed)
{
	return !bed_run("ip -n %s %s route get %s oif p0s0 | grep -q 'mtu %s'", bed->ns[0],
			bed->options.ipv6 ? "-6" : "",
			bed->options.ipv6 ? "2001:db8::2" : "198.19.0.2",
			bed->options.ipv6 ? "1280" : "552");
}

/* ---- the test ---- */

static double rate_over(struct drill_hosts *h, unsigned ms)
{
	uint64_t bytes = h->shared->bytes, since = clock_now_ns(),
		 end = since + ms * UINT64_C(1000000);

	while (clock_now_ns() < end && drill_hosts_alive(h))
		poll(NULL, 0, 10);
	return (double)(h->shared->bytes - bytes) * 1e3 / (double)(clock_now_ns() - since);
}

/* Within a second of the attack's end, the rate is at least half of what it was. */
static bool is_back(struct drill_hosts *h, double before, double *after)
{
	uint64_t end = clock_now_ns() + UINT64_C(1000000000);

	do
		*after = rate_over(h, 200);
	while (*after < before / 2 && clock_now_ns() < end && drill_hosts_alive(h));
	return *after >= before / 2;
}

static int problem(const char *what)
{
	fprintf(stderr, "hostile_icmp: %s\n", what);
	return 1;
}

/* A group that opens when the cache is poisoned already. */
static int open_another(void *arg)
{
	struct drill_hosts *h = arg;
	struct fare_group_options options = {.mode = FARE_MODE_SPRAY};
	struct in6_addr peer = bed_address_in(&h->bed, 1);
	struct fare *fare;
	struct fare_domain *domain = bed_enter(&h->bed, 0, &fare);
	uint64_t end = clock_now_ns() + UINT64_C(8000000000);
	struct fare_group *group;
	struct fare_event e;

	if (fare_group_open(&group, domain, &peer, &options))
		return 1;
	while (clock_now_ns() < end) {
		if (bed_events(domain, &e, 1, 20) < 1)
			continue;
		return e.kind != FARE_EVENT_CONNECTED;
	}
	return 1;
}

static int run(struct drill_hosts *h)
{
	struct drill_shared *sh = h->shared;
	double before = rate_over(h, 500), during, after = 0;
	uint64_t deaths = sh->deaths, bytes, since = clock_now_ns();
	pid_t child;
	int status = 1;

	bytes = sh->bytes;
	if (!attack(&h->bed))
		return problem("the attacker could not send");
	during = (double)(sh->bytes - bytes) * 1e3 / (double)(clock_now_ns() - since);
	if (!is_poisoned(&h->bed))
		return problem("the kernel did not take the path MTU: nothing was tested");
	if (!is_back(h, before, &after))
		problem("the rate is not back after a second");
	child = fork();
	if (child == 0)
		_exit(open_another(h));
	waitpid(child, &status, 0);
	printf("{\"icmp\":{\"family\":%d,\"before_mb_s\":%.1f,\"during_mb_s\":%.1f,"
	       "\"after_mb_s\":%.1f,\"lane_deaths\":%llu,\"new_group\":%s}}\n",
	       h->bed.options.ipv6 ? 6 : 4, before, during, after,
	       (unsigned long long)(sh->deaths - deaths), status ? "false" : "true");
	if (status)
		return problem("no group opens any more");
	if (sh->deaths != deaths)
		return problem("lanes ended");
	return after < before / 2;
}

static int one_family(bool ipv6)
{
	struct bed_options options = {.provider = "soft",
				      .planes = PLANES,
				      .sub_ports = SUB_PORTS,
				      .rate_mbps = 200,
				      .ipv6 = ipv6};
	struct drill_hosts h = {.mode = FARE_MODE_SPRAY, .max_bytes = 256u << 10, .patience_s = 10};
	int failed = drill_hosts_start(&h, &options) || run(&h);

	failed |= !drill_hosts_end(&h);
	bed_destroy(&h.bed);
	return failed;
}

int main(void)
{
	int failed = one_family(false);

	return one_family(true) || failed;
}
