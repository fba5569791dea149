/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of probes and their answers, on links of our own. */
#include "udp.h"

#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <linux/sock_diag.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/address.h"
#include "own_net.h"
#include "patience.h"
#include "roce_ports.h"
#include "udp_internal.h"

#define PACKETS	 2000u /* far more than the default send buffer holds */
#define STRANGER ((uid_t)65534)

static struct udp *u;
static bool is_root; /* and not of a user namespace alone */

/* The wall clock of this process, in place of libc's: the kernel's stamps do not know of it. */
static int64_t set_by_ns;

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, ts);
	int64_t ns = (int64_t)ts->tv_sec * 1000000000 + ts->tv_nsec + set_by_ns;

	if (clock == CLOCK_REALTIME)
		*ts = (struct timespec){ns / 1000000000, ns % 1000000000};
	return rc;
}

static struct in6_addr address(const char *text)
{
	struct in6_addr a;

	ck_assert_int_eq(inet_pton(AF_INET6, text, &a), 1);
	return a;
}

static void run(const char *command)
{
	if (system(command))
		ck_abort_msg("%s", command);
}

static void setup(void)
{
	ck_assert_int_eq(udp_create(&u, 26), 0);
}

static void teardown(void)
{
	udp_destroy(u);
}

static struct udp_packet *put(const char *from, const char *to, uint16_t port, const char *device)
{
	struct udp_packet *p = udp_next(u);

	memset(p->bytes, 0x5a, UDP_PACKET_BYTES);
	p->length = 64;
	p->from = address(from);
	p->from_port = 49200;
	p->to = address(to);
	p->to_port = port;
	p->ifindex = (int)if_nametoindex(device);
	return p;
}

static unsigned send_by(const char *from, const char *to, const char *device, unsigned n)
{
	unsigned taken = 0;

	for (unsigned i = 1; i <= n; i++) {
		put(from, to, 7784, device);
		if (i % UDP_BATCH == 0 || i == n)
			taken += udp_send(u);
	}
	return taken;
}

/* Two links; what is sent into the first one stays in its queue. */
static void make_links(void)
{
	run("ip link add stuck type veth peer name far0 && ip link set far0 up && ip link set "
	    "stuck up");
	run("ip link add free type veth peer name far1 && ip link set far1 up && ip link set free "
	    "up");
	run("ip addr add 198.18.9.1/24 dev stuck && ip addr add 198.18.10.1/24 dev free");
	run("ip addr add fd79::1/64 dev stuck nodad && ip addr add fd80::1/64 dev free nodad");
	for (unsigned i = 0; i < 4; i++) {
		static const char *const to[] = {"198.18.9.2", "fd79::2", "198.18.10.2", "fd80::2"};
		char line[100];

		snprintf(line, sizeof(line), "ip neigh add %s lladdr 02:00:00:00:00:02 dev %s",
			 to[i], i < 2 ? "stuck" : "free");
		run(line);
	}
	run("tc qdisc add dev stuck root tbf rate 8kbit burst 1600 limit 4mb");
}

START_TEST(what_one_device_keeps_does_not_stop_another)
{
	if (_i) {
		ck_assert_uint_eq(send_by("fd79::1", "fd79::2", "stuck", PACKETS), PACKETS);
		ck_assert_uint_eq(send_by("fd79::1", "fd80::2", "free", 10), 10);
		return;
	}
	ck_assert_uint_eq(send_by("::ffff:198.18.9.1", "::ffff:198.18.9.2", "stuck", PACKETS),
			  PACKETS);
	ck_assert_uint_eq(send_by("::ffff:198.18.9.1", "::ffff:198.18.10.2", "free", 10), 10);
}
END_TEST

/* What arrives at that device, as it is on the wire. */
static int listen_at(const char *device, uint16_t protocol)
{
	struct sockaddr_ll name = {.sll_family = AF_PACKET,
				   .sll_protocol = htons(protocol),
				   .sll_ifindex = (int)if_nametoindex(device)};
	int fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(protocol));

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	return fd;
}

/* The next packet of UDP from that port; what else IPv6 sends is passed over. */
static struct ip6_hdr hear(int fd, uint16_t from_port)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t bytes[500];

	for (;;) {
		struct ip6_hdr head;
		uint16_t port;

		ck_assert_int_eq(poll(&p, 1, PATIENCE_S * 1000), 1);
		ck_assert_int_ge(recv(fd, bytes, sizeof(bytes), 0), (int)sizeof(head));
		memcpy(&head, bytes, sizeof(head));
		memcpy(&port, bytes + sizeof(head), sizeof(port));
		if (head.ip6_nxt == IPPROTO_UDP && ntohs(port) == from_port)
			return head;
	}
}

/* The next datagram over IPv4 from that port, its IP header. */
static struct ip hear4(int fd, uint16_t from_port)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t bytes[500];

	for (;;) {
		struct ip head;
		uint16_t port;

		ck_assert_int_eq(poll(&p, 1, PATIENCE_S * 1000), 1);
		ck_assert_int_ge(recv(fd, bytes, sizeof(bytes), 0), (int)sizeof(head));
		memcpy(&head, bytes, sizeof(head));
		memcpy(&port, bytes + sizeof(head), sizeof(port));
		if (head.ip_p == IPPROTO_UDP && ntohs(port) == from_port)
			return head;
	}
}

static void make_device(const char *name, unsigned metric)
{
	char line[400];

	snprintf(line, sizeof(line),
		 "ip link add %s type veth peer name far-%s && ip link set far-%s up && ip link "
		 "set %s up && ip addr add fe80::1/64 dev %s nodad && ip neigh add fd81::2 lladdr "
		 "02:00:00:00:00:02 dev %s && ip route add fd81::2 dev %s metric %u",
		 name, name, name, name, name, name, name, metric);
	run(line);
}

/* IPv6 would rather take the route of the lower metric. And a device may be made anew. */
START_TEST(a_packet_leaves_by_its_device)
{
	run("ip addr add fd81::1/128 dev lo");
	make_device("one", 10);
	make_device("two", 20);
	for (unsigned life = 0; life < 3; life++) {
		for (unsigned i = 0; i < 2; i++) {
			int fd = listen_at(i ? "far-two" : "far-one", ETH_P_IPV6);
			struct in6_addr from = address("fd81::1");
			struct ip6_hdr head;

			put("fd81::1", "fd81::2", 7784, i ? "two" : "one")->from_port =
				(uint16_t)(49300 + i);
			ck_assert_uint_eq(udp_send(u), 1);
			head = hear(fd, (uint16_t)(49300 + i));
			ck_assert_uint_eq(head.ip6_hlim, 255);
			ck_assert_uint_eq(ntohl(head.ip6_flow) >> 22 & 63, 26);
			ck_assert(IN6_ARE_ADDR_EQUAL(&head.ip6_src, &from));
			close(fd);
		}
		run("ip link del two");
		make_device("two", 20);
	}
}
END_TEST

START_TEST(a_packet_over_ipv4_leaves_by_its_device)
{
	run("ip addr add 198.18.11.1/32 dev lo");
	for (unsigned i = 0; i < 2; i++) {
		char line[300];

		snprintf(line, sizeof(line),
			 "ip link add four%u type veth peer name far-four%u && ip link set four%u "
			 "up && ip link set far-four%u up && ip neigh add 198.18.11.2 lladdr "
			 "02:00:00:00:00:02 dev four%u && ip route add 198.18.11.2 dev four%u "
			 "metric %u",
			 i, i, i, i, i, i, 10 + i);
		run(line);
	}
	for (unsigned i = 0; i < 2; i++) {
		int fd = listen_at(i ? "far-four1" : "far-four0", ETH_P_IP);
		struct ip head;

		put("::ffff:198.18.11.1", "::ffff:198.18.11.2", 7784, i ? "four1" : "four0")
			->from_port = (uint16_t)(49400 + i);
		ck_assert_uint_eq(udp_send(u), 1);
		head = hear4(fd, (uint16_t)(49400 + i));
		ck_assert_uint_eq(head.ip_ttl, 255);
		ck_assert_uint_eq(head.ip_tos, 26 << 2);
		ck_assert_uint_eq(ntohl(head.ip_src.s_addr), 0xc6120b01);
		close(fd);
	}
}
END_TEST

/* The kernel may take its time, even over lo, to hand over what was sent. */
static void await(const struct udp_socket *s)
{
	struct pollfd p = {.fd = udp_fd(s), .events = POLLIN};

	ck_assert_int_eq(poll(&p, 1, PATIENCE_S * 1000), 1);
}

/* What a peer would see: ports, addresses, hop limit; and the kernel found the checksum right. */
START_TEST(a_packet_arrives_as_it_was_sent)
{
	const char *from = _i ? "fd77::1" : "::ffff:127.77.0.1",
		   *to = _i ? "fd77::2" : "::ffff:127.77.0.2";
	struct in6_addr there = address(to), here = address(from);
	struct udp_socket *s;

	ck_assert_int_eq(udp_open(&s, &there, 7784), 0);
	for (unsigned length = 61; length < 65; length++) {
		struct udp_packet *out = put(from, to, 7784, "lo");
		const struct udp_packet *in = udp_received(u, 0);

		out->length = length;
		out->bytes[length - 1] = (uint8_t)length;
		out->hop_limit = length == 64 ? 64 : 0;
		ck_assert_uint_eq(udp_send(u), 1);
		await(s);
		ck_assert_uint_eq(udp_receive(u, s), 1);
		ck_assert_uint_eq(in->length, length);
		ck_assert_uint_eq(in->bytes[length - 1], length);
		ck_assert_uint_eq(in->from_port, 49200);
		ck_assert(IN6_ARE_ADDR_EQUAL(&in->from, &here));
		ck_assert(IN6_ARE_ADDR_EQUAL(&in->to, &there));
		ck_assert_int_eq(in->ifindex, (int)if_nametoindex("lo"));
		ck_assert_int_eq(in->hop_limit, length == 64 ? 64 : 255);
	}
	ck_assert_uint_eq(udp_receive(u, s), 0);
	udp_close(s);
}
END_TEST

/* In one batch, also for the other family's socket; the receiver sees it. */
START_TEST(each_packet_has_its_class)
{
	const char *from = _i ? "fd77::1" : "::ffff:127.77.0.1",
		   *to = _i ? "fd77::2" : "::ffff:127.77.0.2";
	struct in6_addr there = address(to);
	struct udp_socket *s;

	udp_destroy(u);
	ck_assert_int_eq(udp_create(&u, 48), 0);
	ck_assert_int_eq(udp_open(&s, &there, 7784), 0);
	for (unsigned i = 0; i < 6; i++)
		put(from, to, 7784, "lo")->is_data = i % 3 == 1;
	ck_assert_uint_eq(udp_send(u), 6);
	await(s);
	ck_assert_uint_eq(udp_receive(u, s), 6);
	for (unsigned i = 0; i < 6; i++)
		ck_assert_int_eq(udp_received(u, i)->is_data, i % 3 == 1);
	udp_close(s);
}
END_TEST

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* As long as between the system call that sent it and the one that read it, at most. */
START_TEST(waiting_to_be_read_is_measured)
{
	struct in6_addr there = address("::ffff:127.77.0.2");
	const struct udp_packet *in = udp_received(u, 0);
	uint64_t sent, read;
	struct udp_socket *s;

	ck_assert_int_eq(udp_open(&s, &there, 7784), 0);
	/* the kernel begins to stamp some time after a program asks for it */
	for (int i = 0; i < 100 && !(i && in->waited_ns); i++) {
		put("::ffff:127.77.0.1", "::ffff:127.77.0.2", 7784, "lo");
		sent = now_ns();
		ck_assert_uint_eq(udp_send(u), 1);
		await(s);
		for (read = now_ns(); now_ns() < read + 20 * UINT64_C(1000000);)
			;
		ck_assert_uint_eq(udp_receive(u, s), 1);
		read = now_ns();
	}
	ck_assert_uint_ge(in->waited_ns, 20 * UINT64_C(1000000));
	ck_assert_uint_le(in->waited_ns, read - sent + UINT64_C(1000000));
	udp_close(s);
}
END_TEST

/* Between a packet's arrival and its being read: how long it has waited is not known. */
START_TEST(a_clock_that_is_set_makes_nothing_wait)
{
	static const int64_t steps[] = {INT64_C(200000000), -INT64_C(200000000),
					INT64_C(3600000000000), -INT64_C(3600000000000)};
	struct in6_addr there = address("::ffff:127.77.0.2");
	struct udp_socket *s;

	ck_assert_int_eq(udp_open(&s, &there, 7784), 0);
	for (int i = 0; i < 2; i++) { /* the kernel stamps once somebody asks it to */
		put("::ffff:127.77.0.1", "::ffff:127.77.0.2", 7784, "lo");
		ck_assert_uint_eq(udp_send(u), 1);
		await(s);
		set_by_ns = i ? steps[_i] : 0;
		ck_assert_uint_eq(udp_receive(u, s), 1);
	}
	ck_assert_uint_eq(udp_received(u, 0)->waited_ns, 0);
	set_by_ns = 0;
	udp_close(s);
}
END_TEST

/* Two links that begin and end here: what is sent out of left0 comes in by right0. */
static void make_circles(void)
{
	run("ip addr add fd82::1/128 dev lo");
	for (unsigned i = 0; i < 2; i++) {
		char line[400];

		snprintf(line, sizeof(line),
			 "ip link add left%u type veth peer name right%u && ip link set right%u "
			 "address 02:00:00:00:01:0%u up && ip link set left%u up && ip addr add "
			 "fe80::1/64 dev left%u nodad && ip neigh add fd82::1 lladdr "
			 "02:00:00:00:01:0%u dev left%u && ip route add fd82::1 dev left%u metric "
			 "%u",
			 i, i, i, i, i, i, i, i, i, 10 + i);
		run(line);
	}
}

/* What has come in and is not read yet, as the kernel charges it. */
static uint32_t queued(const struct udp_socket *s)
{
	uint32_t info[SK_MEMINFO_VARS];
	socklen_t length = sizeof(info);

	ck_assert_int_eq(getsockopt(udp_fd(s), SOL_SOCKET, SO_MEMINFO, info, &length), 0);
	return info[SK_MEMINFO_RMEM_ALLOC];
}

START_TEST(one_read_takes_what_came_by_all_devices)
{
	struct in6_addr there = address("fd82::1");
	unsigned n[2] = {0}, got;
	uint32_t each = 0;
	struct udp_socket *s;

	make_circles();
	ck_assert_int_eq(udp_open(&s, &there, 7784), 0);
	for (unsigned i = 0; i < UDP_BATCH; i++) {
		put("fd82::2", "fd82::1", 7784, i % 2 ? "left1" : "left0");
		if (i)
			continue;
		ck_assert_uint_eq(udp_send(u), 1);
		do
			each = queued(s);
		while (!each);
	}
	ck_assert_uint_eq(udp_send(u), UDP_BATCH - 1);
	while (queued(s) < UDP_BATCH * each)
		continue;
	got = udp_receive(u, s);
	for (unsigned i = 0; i < got; i++)
		n[udp_received(u, i)->ifindex == (int)if_nametoindex("right1")]++;
	ck_assert_uint_eq(n[0], UDP_BATCH / 2);
	ck_assert_uint_eq(n[1], UDP_BATCH / 2);
	udp_close(s);
}
END_TEST

/* The errno of bind() (0: none), with all options that share a port. */
static int bind_result(const char *to, uint16_t port, bool one_device)
{
	struct sockaddr_in6 name = {
		.sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = address(to)};
	int fd = socket(AF_INET6, SOCK_DGRAM, 0), on = 1, lo = (int)if_nametoindex("lo"), rc;

	ck_assert(!setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
		  !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)));
	if (one_device)
		ck_assert(!setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &lo, sizeof(lo)));
	rc = bind(fd, (struct sockaddr *)&name, sizeof(name)) ? errno : 0;
	close(fd);
	return rc;
}

/* In a process of its own, which is that user. */
static void nobody_else_binds(const char *to, uint16_t port, uid_t uid)
{
	int status;
	pid_t child = fork();

	if (!child)
		_exit((uid != geteuid() && setresuid(uid, uid, uid)) ||
		      bind_result(to, port, false) != EADDRINUSE ||
		      bind_result(to, port, true) != EADDRINUSE ||
		      bind_result("::", port, true) != EADDRINUSE);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(status == 0, "user %u took port %u", (unsigned)uid, port);
}

START_TEST(a_port_is_shared_with_nobody)
{
	const char *to = _i ? "::1" : "::ffff:127.0.0.1";
	struct udp_socket *reflector, *initiator, *second;
	struct in6_addr there = address(to);

	ck_assert_int_eq(udp_open(&reflector, &there, 7784), 0);
	ck_assert_int_eq(udp_open(&initiator, &there, 0), 0);
	ck_assert_uint_ge(udp_port(initiator), 49168);
	ck_assert_int_eq(udp_open(&second, &there, 7784), 0);
	ck_assert_uint_eq(udp_port(second), 0);
	ck_assert_int_eq(udp_bind(second), -EADDRINUSE);
	nobody_else_binds(to, 7784, geteuid());
	nobody_else_binds(to, udp_port(initiator), geteuid());
	if (is_root)
		nobody_else_binds(to, 7784, STRANGER);
	udp_close(reflector);
	ck_assert_int_eq(udp_bind(second), 0);
	ck_assert_uint_eq(udp_port(second), 7784);
	nobody_else_binds(to, 7784, geteuid());
	udp_close(second);
	udp_close(initiator);
}
END_TEST

/* By rules of routing, and for the queues of this machine, as data of that class is. */
START_TEST(the_sending_sockets_have_the_class)
{
	int value = 0;
	socklen_t length = sizeof(value);

	ck_assert(!getsockopt(u->fds[0][0], IPPROTO_IP, IP_TOS, &value, &length));
	ck_assert_int_eq(value, 26 << 2);
	ck_assert(!getsockopt(u->fds[0][0], SOL_SOCKET, SO_PRIORITY, &value, &length));
	ck_assert_int_ne(value, 0);
	ck_assert(!getsockopt(u->fds[0][1], IPPROTO_IPV6, IPV6_TCLASS, &value, &length));
	ck_assert_int_eq(value, 26 << 2);
}
END_TEST

START_TEST(network_control_goes_first_on_this_machine)
{
	struct udp *mine;

	ck_assert_int_eq(udp_create(&mine, 48), 0);
	for (int i = 0; i < 2; i++) {
		int value = 0;
		socklen_t length = sizeof(value);

		ck_assert(!getsockopt(mine->fds[0][i], SOL_SOCKET, SO_PRIORITY, &value, &length));
		ck_assert_int_eq(value, 6);
		ck_assert(!getsockopt(mine->fds[1][i], SOL_SOCKET, SO_PRIORITY, &value, &length));
		ck_assert_int_ne(value, 6);
	}
	udp_destroy(mine);
}
END_TEST

START_TEST(what_the_kernel_refuses_is_counted)
{
	run("ip link add closed type veth peer name far-closed");
	ck_assert_uint_eq(udp_refused(u), 0);
	put("fd77::1", "fd83::1", 7784, "closed");
	put("::ffff:127.77.0.1", "::ffff:198.18.200.1", 7784, "closed");
	put("fd77::1", "fd77::2", 7784, "lo");
	ck_assert_uint_eq(udp_send(u), 1);
	ck_assert_uint_eq(udp_refused(u), 2);
}
END_TEST

/* In a process of its own, which may open raw sockets and nothing else. */
static uint32_t short_bytes_without_net_admin(void)
{
	struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct caps[2] = {
		{.effective = 1u << CAP_NET_RAW, .permitted = 1u << CAP_NET_RAW}};
	int fds[2], status;
	uint32_t bytes = 0;
	pid_t child;

	ck_assert_int_eq(pipe(fds), 0);
	child = fork();
	if (!child) {
		struct udp *mine;

		if (syscall(SYS_capset, &head, caps) || udp_create(&mine, 26))
			_exit(1);
		bytes = udp_short_bytes(mine);
		_exit(write(fds[1], &bytes, sizeof(bytes)) != sizeof(bytes));
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(read(fds[0], &bytes, sizeof(bytes)), sizeof(bytes));
	close(fds[0]);
	close(fds[1]);
	return bytes;
}

START_TEST(a_small_send_buffer_is_told_of)
{
	uint32_t bytes = short_bytes_without_net_admin();

	ck_assert_uint_gt(bytes, 0);
	ck_assert_uint_lt(bytes, 1u << 25);
	if (is_root)
		ck_assert_uint_eq(udp_short_bytes(u), 0);
}
END_TEST

/* Anybody's packets of protocol 255: none waits in the sending sockets for ever. */
START_TEST(the_sending_sockets_receive_nothing)
{
	int fd = socket(_i % 2 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	struct sockaddr_storage to;
	struct in6_addr here = address(_i % 2 ? "fd77::1" : "::ffff:127.77.0.1"),
			far = address("fd77::2");
	uint32_t info[SK_MEMINFO_VARS];
	socklen_t length = address_to_socket(&here, 0, &to), room = sizeof(info);
	uint8_t bytes[60] = {0x45, [3] = 60, [8] = 64, [9] = 255, [12] = 127, 77,
			     0,	   2,	     127,      77,	  0,	      1};
	struct ip6_hdr six = {.ip6_src = far, .ip6_dst = here};

	six.ip6_flow = htonl(6u << 28);
	six.ip6_plen = htons(20);
	six.ip6_nxt = 255;
	six.ip6_hlim = 64;
	if (_i % 2)
		memcpy(bytes, &six, sizeof(six));
	ck_assert_int_eq(sendto(fd, bytes, sizeof(bytes), 0, (struct sockaddr *)&to, length),
			 sizeof(bytes));
	/* it is in every socket that takes it at once, as the one that sent it shows */
	ck_assert_int_eq(recv(fd, bytes, sizeof(bytes), 0), _i % 2 ? 20 : 60);
	close(fd);
	ck_assert_int_eq(getsockopt(u->fds[_i / 2][_i % 2], SOL_SOCKET, SO_MEMINFO, info, &room),
			 0);
	ck_assert_uint_eq(info[SK_MEMINFO_RMEM_ALLOC], 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("udp");
	TCase *t = tcase_create("core");
	SRunner *runner;
	int failed, skip;

	is_root = geteuid() == 0;
	skip = own_net();
	if (skip)
		return skip;
	if (!is_root)
		puts("skipped: another user's bind(): it takes root to become somebody else");
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, what_one_device_keeps_does_not_stop_another, 0, 2);
	tcase_add_test(t, a_packet_leaves_by_its_device);
	tcase_add_test(t, a_packet_over_ipv4_leaves_by_its_device);
	tcase_add_loop_test(t, a_packet_arrives_as_it_was_sent, 0, 2);
	tcase_add_loop_test(t, each_packet_has_its_class, 0, 2);
	tcase_add_test(t, waiting_to_be_read_is_measured);
	tcase_add_loop_test(t, a_clock_that_is_set_makes_nothing_wait, 0, 4);
	tcase_add_test(t, one_read_takes_what_came_by_all_devices);
	tcase_add_loop_test(t, a_port_is_shared_with_nobody, 0, 2);
	tcase_add_test(t, the_sending_sockets_have_the_class);
	tcase_add_test(t, network_control_goes_first_on_this_machine);
	tcase_add_test(t, what_the_kernel_refuses_is_counted);
	tcase_add_test(t, a_small_send_buffer_is_told_of);
	tcase_add_loop_test(t, the_sending_sockets_receive_nothing, 0, 4);
	suite_add_tcase(suite, t);
	run("ip addr add fd77::1/128 dev lo && ip addr add fd77::2/128 dev lo");
	make_links();
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
