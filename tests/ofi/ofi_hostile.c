/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ofi_hostile.c - a peer that keeps to the provider's format and not to its limits.
 *
 *   ofi_hostile ADDRESS_FILE window|answers|records
 *
 * Opens a group to the endpoint whose fi_getname() is in ADDRESS_FILE, greets as the provider does,
 * and sends: window: untagged eager messages that nobody receives, four windows of them; answers:
 * announcements of messages, more than there are cookies. Exit status 0: it was cut off, and not
 * before the window was used; and cannot come again. records: beginnings of messages whose rest
 * does not come, or another's; they break no limit. Exit status 0: it was not cut off.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fare.h"
#include "ofi/ofi_cookies.h"
#include "ofi/ofi_wire.h"

#define PATIENCE_S 60
#define WINDOW	   (1u << 20) /* the default of FI_FARE_WINDOW_BYTES */
#define PAYLOAD	   4000u
#define EVENTS	   32

struct hostile {
	struct fare_domain *domain;
	struct fare_group *group;
	struct ofi_address victim;
	uint8_t message[OFI_WIRE_RTS_BYTES + PAYLOAD];
	uint32_t bytes;
	unsigned sent, done, most;
	bool connected, closed;
};

static void die(const char *what, int err)
{
	fprintf(stderr, "ofi_hostile: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void check(int err, const char *what)
{
	if (err)
		die(what, err);
}

static void read_address(struct hostile *h, const char *path)
{
	uint8_t bytes[OFI_ADDRESS_BYTES];
	FILE *f = fopen(path, "r");

	if (!f || fread(bytes, 1, sizeof(bytes), f) != sizeof(bytes))
		die(path, -errno);
	fclose(f);
	check(ofi_address_decode(bytes, &h->victim), path);
}

static void make_message(struct hostile *h, bool answers)
{
	struct ofi_wire w = {.kind = OFI_EAGER, .dst_ep = h->victim.ep};

	if (answers) {
		w.kind = OFI_RTS;
		w.cookie = 1;
		w.length = 1;
	}
	ofi_wire_encode(&w, h->message);
	h->bytes = answers ? OFI_WIRE_RTS_BYTES : OFI_WIRE_BYTES + PAYLOAD;
	h->most = answers ? 2 * OFI_COOKIES_MAX : 4 * WINDOW / PAYLOAD;
}

static void open_group(struct hostile *h)
{
	struct ofi_greeting greeting = {.window_bytes = WINDOW};
	uint8_t said[OFI_GREETING_BYTES];
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .message_bytes = OFI_RECORD_BYTES,
						   .in_order = true,
						   .private_data = said,
						   .private_bytes = sizeof(said)};

	fare_domain_address(h->domain, &greeting.address);
	ofi_greeting_encode(&greeting, said);
	h->connected = h->closed = false;
	check(fare_group_open_to(&h->group, h->domain, &h->victim.process, &options),
	      "fare_group_open_to");
}

static void take_events(struct hostile *h)
{
	struct fare_event events[EVENTS];
	struct pollfd p = {.fd = fare_domain_fd(h->domain), .events = POLLIN};
	int n;

	poll(&p, 1, 10);
	n = fare_domain_poll(h->domain, events, EVENTS);
	if (n < 0)
		die("fare_domain_poll", n);
	for (int i = 0; i < n; i++) {
		h->connected |= events[i].kind == FARE_EVENT_CONNECTED;
		h->closed |= events[i].kind == FARE_EVENT_CLOSED;
		h->done += events[i].kind == FARE_EVENT_COMPLETED;
	}
}

/* Sends until the group is closed. */
static void flood(struct hostile *h)
{
	const struct fare_send send = {.data = h->message, .length = h->bytes};
	time_t end = time(NULL) + PATIENCE_S;

	open_group(h);
	while (!h->closed) {
		take_events(h);
		while (h->connected && !h->closed && h->sent < h->most &&
		       !fare_group_send(h->group, &send))
			h->sent++;
		if (time(NULL) > end)
			die("it is not cut off", -ETIMEDOUT);
	}
	fare_group_close(h->group);
}

/* The beginning of a message, a rest that is not its, a rest of nothing; again and again. */
static void send_nonsense(struct hostile *h)
{
	const struct fare_send send = {.data = h->message, .length = OFI_WIRE_BYTES + PAYLOAD};
	struct ofi_wire w = {.kind = h->sent % 3 ? OFI_MORE : OFI_EAGER,
			     .dst_ep = h->victim.ep,
			     .status = h->sent % 3 ? 1 : 2 * PAYLOAD};

	/* one buffer: what was sent before has to be there first */
	if (h->done < h->sent)
		return;
	ofi_wire_encode(&w, h->message);
	h->sent += !fare_group_send(h->group, &send);
}

static void nonsense(struct hostile *h)
{
	time_t end = time(NULL) + PATIENCE_S;

	h->most = 4 * WINDOW / PAYLOAD;
	open_group(h);
	while (h->done < h->most) {
		take_events(h);
		if (h->closed)
			die("it is cut off", -ECONNABORTED);
		if (h->connected)
			send_nonsense(h);
		if (time(NULL) > end)
			die("its records are not taken", -ETIMEDOUT);
	}
	printf("%u records without a message\n", h->sent);
	fare_group_close(h->group);
}

int main(int argc, char **argv)
{
	const struct fare_domain_options options = {.trusted_network = true};
	bool answers = argc == 3 && !strcmp(argv[2], "answers");
	struct hostile h = {.domain = NULL};
	struct fare *fare;
	unsigned least;

	if (argc != 3) {
		fputs("usage: ofi_hostile ADDRESS_FILE window|answers|records\n", stderr);
		return 2;
	}
	read_address(&h, argv[1]);
	make_message(&h, answers);
	check(fare_attach(&fare, getenv("FARE_RUN_DIR")), "fare_attach");
	check(fare_domain_open(&h.domain, fare, 0, &options), "fare_domain_open");
	if (!strcmp(argv[2], "records")) {
		nonsense(&h);
		fare_domain_close(h.domain);
		fare_detach(fare);
		return 0;
	}
	flood(&h);
	least = answers ? OFI_COOKIES_MAX : (unsigned)(WINDOW / ofi_eager_cost(PAYLOAD));
	if (h.sent <= least)
		die("it is cut off before the limit", -EBADE);
	printf("cut off after %u messages; the limit is %u\n", h.sent, least);
	h.sent = h.most; /* the second time it only waits to be closed */
	flood(&h);
	fare_domain_close(h.domain);
	fare_detach(fare);
	return 0;
}
