/* SPDX-License-Identifier: BSD-2-Clause */
#include "links.h"

#include <errno.h>
#include <ev.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "base/clock.h"
#include "config.h"
#include "device_count.h"
#include "link_speed.h"

#define RECEIVE_BYTES (1 << 20)
#define ERRORS_MAX    1000 /* in one go: of a socket that gives nothing but errors */
#define RETRY_S	      0.5  /* after a dump that could not even be asked for */
/*
 * How often the counts of lost carriers are read, s. The kernel sends the first message at once,
 * and holds others back for up to a second after one (net/core/link_watch.c): so long they are read
 * closely. The rest is for a message that is late because the kernel's lock is held, or because a
 * link of another namespace changed.
 */
#define CARRIER_S	 0.02
#define CARRIER_CLOSE_S	 0.002
#define CARRIER_CLOSE_NS UINT64_C(1200000000)
#define OPER_UP		 6 /* RFC 2863 ifOperStatus */
#define OPER_UNKNOWN	 0

struct port {
	uint32_t gpu, plane, sub_port;
	const struct config_sub_port *config;
	int ifindex;		   /* 0: absent */
	bool seen;		   /* in the dump under way */
	struct device_count count; /* of carriers lost ... */
	uint32_t n_lost;	   /* ... and how many there were when it was last up */
	enum links_state state;
	uint64_t speed_bps;
	uint32_t mtu; /* 0: not known */
	/* what the driver said, of that device and of carrier since so many losses; 0: nothing */
	uint64_t driver_bps;
	int driver_ifindex;
	uint32_t driver_lost;
	bool speed_complained, silence_complained, vrf_complained;
};

struct links {
	struct ev_loop *loop;
	struct links_handlers handlers;
	void *arg;
	struct nl_sock *socket;
	int ethtool_fd;
	struct link_speed *speeds; /* NULL: not asked again */
	ev_io io;
	ev_timer retry;
	ev_timer carrier_timer;
	uint64_t close_until_ns;
	bool count_complained;
	bool dumping;
	bool dump_again; /* the dump under way is not to be trusted */
	bool refused;	 /* ... nor was one had */
	uint32_t n_ports;
	struct port ports[];
};

const char *links_state_name(enum links_state state)
{
	static const char *const names[] = {[LINKS_UP] = "up",
					    [LINKS_NO_CARRIER] = "no-carrier",
					    [LINKS_DOWN] = "admin-down",
					    [LINKS_ABSENT] = "absent"};

	return names[state];
}

/* ---- speed --------------------------------------------------------------- */

/*
 * Asked here once for each carrier, and by a thread from then on: the driver answers under the
 * kernel's lock of all devices, and another one that is being reset may hold that for seconds.
 */
static uint64_t driver_bps(struct links *l, struct port *port)
{
	if (port->state == LINKS_UP && port->driver_bps && port->driver_ifindex == port->ifindex &&
	    port->driver_lost == port->n_lost)
		return port->driver_bps;
	port->driver_bps = link_speed_ask(l->ethtool_fd, port->config->dev) * 1000000;
	port->driver_ifindex = port->ifindex;
	port->driver_lost = port->n_lost;
	return port->driver_bps;
}

static uint64_t speed_bps(struct links *l, struct port *port)
{
	uint64_t bps = port->config->speed_bps;
	char line[160];

	if (!bps)
		bps = driver_bps(l, port);
	if (!bps && !port->speed_complained) {
		port->speed_complained = true;
		snprintf(line, sizeof(line),
			 "dev=%s is up but its driver tells no speed; set speed_mbps",
			 port->config->dev);
		l->handlers.on_log(l->arg, LOG_WARNING, line);
	}
	return bps;
}

/* ---- state --------------------------------------------------------------- */

static void links_set_state(struct links *l, struct port *port, enum links_state state)
{
	uint64_t bps = state == LINKS_UP ? speed_bps(l, port) : 0;

	if (port->state == state && port->speed_bps == bps)
		return;
	l->handlers.on_link(l->arg, port->gpu, port->plane, port->sub_port, port->ifindex,
			    port->state, state, bps);
	port->state = state;
	port->speed_bps = bps;
}

/*
 * What the driver says while the port is up. Nothing, or an error, is no reason to change a weight:
 * the last good speed stays.
 */
static void on_speed(void *arg, uint32_t i, uint64_t mbps)
{
	struct links *l = arg;
	struct port *port = &l->ports[i];
	uint64_t bps = mbps * 1000000;
	char line[200];

	if (port->state != LINKS_UP || port->config->speed_bps || (!bps && !port->driver_bps))
		return;
	if (bps ? bps == port->driver_bps : port->silence_complained) {
		port->silence_complained = !bps;
		return;
	}
	port->silence_complained = !bps;
	if (bps)
		snprintf(line, sizeof(line), "dev=%s speed_mbps=%llu was=%llu: the driver says so",
			 port->config->dev, (unsigned long long)mbps,
			 (unsigned long long)(port->driver_bps / 1000000));
	else
		snprintf(line, sizeof(line),
			 "dev=%s is up but its driver tells no speed any more; %llu Mb/s stays",
			 port->config->dev, (unsigned long long)(port->driver_bps / 1000000));
	l->handlers.on_log(l->arg, LOG_WARNING, line);
	if (!bps)
		return;
	port->driver_bps = bps;
	links_set_state(l, port, port->state);
}

int links_watch_speeds(struct links *l, uint64_t every_ns)
{
	const char **devices = calloc(l->n_ports + 1, sizeof(*devices));
	int rc;

	if (!devices)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->n_ports; i++)
		devices[i] = l->ports[i].config->dev;
	rc = link_speed_start(&l->speeds, l->loop, devices, l->n_ports, every_ns, on_speed, l);
	free(devices);
	return rc;
}

static void open_count(struct links *l, struct port *port)
{
	int rc = device_count_open(&port->count, port->config->dev, DEVICE_COUNT_CARRIER_DOWN);
	char line[200];

	if (!rc || l->count_complained || rc == -ENODEV)
		return;
	l->count_complained = true;
	snprintf(line, sizeof(line),
		 "dev=%s: %s; loss of carrier is learned from the kernel's messages alone, which "
		 "may be a second late",
		 port->config->dev,
		 rc == -EXDEV ? "/sys shows another network namespace"
			      : "/sys shows no carrier_down_count");
	l->handlers.on_log(l->arg, LOG_WARNING, line);
}

/*
 * The kernel counts a lost carrier at once, and sends its message when a worker of its own gets a
 * core and the kernel's lock, and not within a second of another. That a carrier is back is learned
 * from the message alone.
 */
static void links_read_carriers(struct links *l)
{
	for (uint32_t i = 0; i < l->n_ports; i++) {
		struct port *port = &l->ports[i];
		uint64_t n;

		if (port->state != LINKS_UP || device_count_read(&port->count, &n) ||
		    (uint32_t)n == port->n_lost)
			continue;
		port->n_lost = (uint32_t)n;
		links_set_state(l, port, LINKS_NO_CARRIER);
	}
}

static void links_read_every(struct links *l, ev_tstamp seconds)
{
	if (l->carrier_timer.repeat == seconds)
		return;
	l->carrier_timer.repeat = seconds;
	ev_timer_again(l->loop, &l->carrier_timer);
}

static void on_carrier_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct links *l = w->data;

	(void)loop;
	(void)revents;
	links_read_carriers(l);
	if (clock_now_ns() >= l->close_until_ns)
		links_read_every(l, CARRIER_S);
}

static void set_mtu(struct links *l, struct port *port, uint32_t mtu)
{
	uint32_t old = port->mtu;

	port->mtu = mtu;
	if (mtu != old && l->handlers.on_mtu)
		l->handlers.on_mtu(l->arg, port->gpu, port->plane, port->sub_port, old, mtu);
}

static void lose_device(struct links *l, struct port *port)
{
	port->ifindex = 0;
	set_mtu(l, port, 0);
	device_count_close(&port->count);
	links_set_state(l, port, LINKS_ABSENT);
}

/* Carrier is the flag that the kernel clears first; operstate adds what a bond or a supplicant
 * holds back. */
static enum links_state state_of(const struct ifinfomsg *info, struct nlattr **attrs)
{
	int oper = attrs[IFLA_OPERSTATE] ? nla_get_u8(attrs[IFLA_OPERSTATE]) : OPER_UNKNOWN;
	bool carrier = info->ifi_flags & IFF_LOWER_UP;

	if (!(info->ifi_flags & IFF_UP))
		return LINKS_DOWN;
	if (attrs[IFLA_CARRIER] && !nla_get_u8(attrs[IFLA_CARRIER]))
		carrier = false;
	return carrier && (oper == OPER_UP || oper == OPER_UNKNOWN) ? LINKS_UP : LINKS_NO_CARRIER;
}

/* A message that was made before a loss that we have seen is old news of a carrier. */
static enum links_state state_of_message(struct port *port, const struct ifinfomsg *info,
					 struct nlattr **attrs)
{
	enum links_state state = state_of(info, attrs);
	uint32_t n_lost;

	if (!attrs[IFLA_CARRIER_DOWN_COUNT])
		return state;
	n_lost = nla_get_u32(attrs[IFLA_CARRIER_DOWN_COUNT]);
	if ((int32_t)(n_lost - port->n_lost) < 0)
		return state == LINKS_UP ? LINKS_NO_CARRIER : state;
	port->n_lost = n_lost;
	return state;
}

/* What kind of device the sub-port's belongs to; "" if to none. */
static const char *master_kind(struct nlattr **attrs)
{
	static const struct nla_policy policy[IFLA_INFO_MAX + 1] = {
		[IFLA_INFO_SLAVE_KIND] = {.type = NLA_STRING},
	};
	struct nlattr *info[IFLA_INFO_MAX + 1];

	if (!attrs[IFLA_LINKINFO] ||
	    nla_parse_nested(info, IFLA_INFO_MAX, attrs[IFLA_LINKINFO], policy) < 0 ||
	    !info[IFLA_INFO_SLAVE_KIND])
		return "";
	return nla_get_string(info[IFLA_INFO_SLAVE_KIND]);
}

/* The sockets that probes come in by are bound to no VRF. */
static void warn_of_vrf(struct links *l, struct port *port, struct nlattr **attrs)
{
	char line[200];

	if (port->vrf_complained || strcmp(master_kind(attrs), "vrf"))
		return;
	port->vrf_complained = true;
	snprintf(line, sizeof(line),
		 "dev=%s belongs to a VRF: probes over it are received only if "
		 "net.ipv4.udp_l3mdev_accept is 1",
		 port->config->dev);
	l->handlers.on_log(l->arg, LOG_WARNING, line);
}

static void on_new_link(struct links *l, const struct ifinfomsg *info, struct nlattr **attrs)
{
	const char *name = nla_get_string(attrs[IFLA_IFNAME]);

	for (uint32_t i = 0; i < l->n_ports; i++) {
		struct port *port = &l->ports[i];

		if (!strcmp(port->config->dev, name)) {
			if (port->ifindex && port->ifindex != info->ifi_index)
				lose_device(l, port); /* made anew, and nobody said so */
			if (port->ifindex != info->ifi_index) {
				port->n_lost = 0;
				open_count(l, port);
			}
			port->ifindex = info->ifi_index;
			port->seen = true;
			warn_of_vrf(l, port, attrs);
			set_mtu(l, port, attrs[IFLA_MTU] ? nla_get_u32(attrs[IFLA_MTU]) : 0);
			links_set_state(l, port, state_of_message(port, info, attrs));
		} else if (port->ifindex == info->ifi_index) {
			lose_device(l, port); /* renamed */
		}
	}
}

static void on_del_link(struct links *l, const struct ifinfomsg *info)
{
	for (uint32_t i = 0; i < l->n_ports; i++)
		if (l->ports[i].ifindex == info->ifi_index)
			lose_device(l, &l->ports[i]);
}

static int links_on_message(struct nl_msg *msg, void *arg)
{
	static const struct nla_policy policy[IFLA_MAX + 1] = {
		[IFLA_IFNAME] = {.type = NLA_STRING, .minlen = 1, .maxlen = IFNAMSIZ},
		[IFLA_MTU] = {.type = NLA_U32},
		[IFLA_OPERSTATE] = {.type = NLA_U8},
		[IFLA_CARRIER] = {.type = NLA_U8},
		[IFLA_CARRIER_DOWN_COUNT] = {.type = NLA_U32},
	};
	struct nlmsghdr *header = nlmsg_hdr(msg);
	struct nlattr *attrs[IFLA_MAX + 1];
	const struct ifinfomsg *info;
	struct links *l = arg;

	if (header->nlmsg_type != RTM_NEWLINK && header->nlmsg_type != RTM_DELLINK)
		return NL_OK;
	if (nlmsg_parse(header, sizeof(*info), attrs, IFLA_MAX, policy) < 0 || !attrs[IFLA_IFNAME])
		return NL_SKIP;
	info = nlmsg_data(header);
	if (info->ifi_family != AF_UNSPEC)
		return NL_OK; /* a bridge's view of a port */
	if (header->nlmsg_type == RTM_NEWLINK)
		on_new_link(l, info, attrs);
	else
		on_del_link(l, info);
	return NL_OK;
}

/* ---- dumps --------------------------------------------------------------- */

static int start_dump(struct links *l)
{
	struct ifinfomsg info = {.ifi_family = AF_UNSPEC};
	int rc;

	for (uint32_t i = 0; i < l->n_ports; i++)
		l->ports[i].seen = false;
	rc = nl_send_simple(l->socket, RTM_GETLINK, NLM_F_DUMP, &info, sizeof(info));
	l->dumping = rc >= 0;
	l->dump_again = false;
	return rc < 0 ? -EIO : 0;
}

static void retry_later(struct links *l)
{
	if (ev_is_active(&l->retry))
		return;
	ev_timer_set(&l->retry, RETRY_S, 0.);
	ev_timer_start(l->loop, &l->retry);
}

static void dump_or_retry(struct links *l)
{
	if (start_dump(l))
		retry_later(l);
}

static void on_retry(struct ev_loop *loop, ev_timer *w, int revents)
{
	(void)loop;
	(void)revents;
	dump_or_retry(w->data);
}

static int on_finish(struct nl_msg *msg, void *arg)
{
	struct links *l = arg;

	(void)msg;
	if (!l->dumping)
		return NL_STOP;
	l->dumping = false;
	for (uint32_t i = 0; !l->dump_again && i < l->n_ports; i++)
		if (!l->ports[i].seen && l->ports[i].ifindex)
			lose_device(l, &l->ports[i]);
	return NL_STOP;
}

/* The table changed while it was being dumped: ask again, once the rest is read. */
static int on_interrupted(struct nl_msg *msg, void *arg)
{
	struct links *l = arg;

	(void)msg;
	l->dump_again = true;
	return NL_OK;
}

/* The kernel refuses to dump: out of memory, or it is not done with the last one. */
static int on_refused(struct sockaddr_nl *who, struct nlmsgerr *error, void *arg)
{
	struct links *l = arg;

	(void)who;
	(void)error;
	l->dumping = false;
	l->refused = true;
	return NL_SKIP;
}

/*
 * Reads what is there. Anything but "no more" means that messages were lost. The kernel says so
 * once, and drops what follows in silence until nothing is left unread: a dump asked for earlier
 * would miss that, too.
 */
static void links_receive(struct links *l)
{
	unsigned n_errors = 0;
	int rc;

	do {
		rc = nl_recvmsgs_default(l->socket);
		n_errors += rc < 0 && rc != -NLE_AGAIN;
	} while (rc != -NLE_AGAIN && n_errors < ERRORS_MAX);
	if (n_errors) {
		l->handlers.on_log(
			l->arg, LOG_WARNING,
			"the kernel's link messages overran or were unreadable; asking for all");
		l->dump_again = true;
		l->dumping = false;
	}
	if (l->refused && !l->dumping)
		retry_later(l);
	else if (l->dump_again && !l->dumping)
		dump_or_retry(l);
	l->refused = false;
}

static void links_on_readable(struct ev_loop *loop, ev_io *w, int revents)
{
	struct links *l = w->data;

	(void)loop;
	(void)revents;
	links_read_carriers(l); /* carriers lost together are reported together */
	links_receive(l);
	l->close_until_ns = clock_now_ns() + CARRIER_CLOSE_NS;
	links_read_every(l, CARRIER_CLOSE_S);
}

/* ---- life ---------------------------------------------------------------- */

static int links_open_socket(struct links *l)
{
	l->socket = nl_socket_alloc();
	if (!l->socket)
		return -ENOMEM;
	nl_socket_disable_seq_check(l->socket); /* events come unasked */
	if (nl_connect(l->socket, NETLINK_ROUTE))
		return -EIO;
	nl_socket_set_buffer_size(l->socket, RECEIVE_BYTES, 0);
	nl_socket_set_msg_buf_size(l->socket, 65536);
	nl_socket_modify_cb(l->socket, NL_CB_VALID, NL_CB_CUSTOM, links_on_message, l);
	nl_socket_modify_cb(l->socket, NL_CB_FINISH, NL_CB_CUSTOM, on_finish, l);
	nl_socket_modify_cb(l->socket, NL_CB_DUMP_INTR, NL_CB_CUSTOM, on_interrupted, l);
	nl_socket_modify_err_cb(l->socket, NL_CB_CUSTOM, on_refused, l);
	if (nl_socket_add_memberships(l->socket, RTNLGRP_LINK, 0))
		return -EIO;
	l->ethtool_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return l->ethtool_fd < 0 ? -errno : 0;
}

/* The one blocking moment: nothing may be published before our own links are known. */
static int learn_first_state(struct links *l)
{
	int rc;

	for (int attempt = 0; attempt < 10; attempt++) {
		rc = start_dump(l);
		if (rc)
			return rc;
		l->refused = false;
		while (l->dumping)
			if (nl_recvmsgs_default(l->socket) < 0)
				return -EIO;
		if (!l->dump_again && !l->refused)
			return nl_socket_set_nonblocking(l->socket) ? -EIO : 0;
	}
	return -EAGAIN;
}

static void fill_ports(struct links *l, const struct config *config)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < config->n_gpus; g++)
		for (uint32_t p = 0; p < config->gpus[g].n_planes; p++)
			for (uint32_t s = 0; s < config->gpus[g].planes[p].n_sub_ports; s++) {
				struct port *port = &l->ports[n++];

				port->gpu = g;
				port->plane = p;
				port->sub_port = s;
				port->config = &config->gpus[g].planes[p].sub_ports[s];
			}
	l->n_ports = n;
}

static uint32_t count_ports(const struct config *config)
{
	uint32_t n = 0;

	for (uint32_t g = 0; g < config->n_gpus; g++)
		for (uint32_t p = 0; p < config->gpus[g].n_planes; p++)
			n += config->gpus[g].planes[p].n_sub_ports;
	return n;
}

int links_create(struct links **out, struct ev_loop *loop, const struct config *config,
		 const struct links_handlers *handlers, void *arg)
{
	struct links *l = calloc(1, sizeof(*l) + count_ports(config) * sizeof(l->ports[0]));
	int rc;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	l->loop = loop;
	l->handlers = *handlers;
	l->arg = arg;
	l->ethtool_fd = -1;
	fill_ports(l, config);
	ev_init(&l->io, links_on_readable);
	ev_init(&l->retry, on_retry);
	ev_timer_init(&l->carrier_timer, on_carrier_timer, CARRIER_CLOSE_S, CARRIER_CLOSE_S);
	l->close_until_ns = clock_now_ns() + CARRIER_CLOSE_NS;
	l->io.data = l->retry.data = l->carrier_timer.data = l;
	rc = links_open_socket(l);
	if (!rc)
		rc = learn_first_state(l);
	if (rc) {
		links_destroy(l);
		return rc;
	}
	for (uint32_t i = 0; i < l->n_ports;
	     i++) /* the others were reported while they were learned */
		if (l->ports[i].state == LINKS_ABSENT)
			handlers->on_link(arg, l->ports[i].gpu, l->ports[i].plane,
					  l->ports[i].sub_port, 0, LINKS_ABSENT, LINKS_ABSENT, 0);
	ev_io_set(&l->io, nl_socket_get_fd(l->socket), EV_READ);
	ev_io_start(loop, &l->io);
	ev_timer_start(loop, &l->carrier_timer);
	*out = l;
	return 0;
}

void links_destroy(struct links *l)
{
	if (!l)
		return;
	link_speed_stop(l->speeds);
	ev_io_stop(l->loop, &l->io);
	ev_timer_stop(l->loop, &l->retry);
	ev_timer_stop(l->loop, &l->carrier_timer);
	nl_socket_free(l->socket);
	for (uint32_t i = 0; i < l->n_ports; i++)
		device_count_close(&l->ports[i].count);
	if (l->ethtool_fd >= 0)
		close(l->ethtool_fd);
	free(l);
}

void links_set_config(struct links *l, const struct config *config)
{
	fill_ports(l, config);
	for (uint32_t i = 0; i < l->n_ports; i++)
		links_set_state(l, &l->ports[i], l->ports[i].state);
}

bool links_view(const struct links *l, uint32_t gpu, uint32_t plane, uint32_t sub_port,
		enum links_state *state, uint64_t *speed)
{
	for (uint32_t i = 0; i < l->n_ports; i++) {
		const struct port *port = &l->ports[i];

		if (port->gpu != gpu || port->plane != plane || port->sub_port != sub_port)
			continue;
		*state = port->state;
		*speed = port->speed_bps;
		return true;
	}
	return false;
}
