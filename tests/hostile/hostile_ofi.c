/* links: test_bed ofi_core */
/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hostile_ofi.c - peers that have the key, speak libfare, and attack an application of the
 * libfabric provider (ofi_victim), while that exchanges messages with another one whose bytes are
 * checked.
 *
 *   names-victim     greets in the victim's own name and announces a message at an invalid address
 *   names-third      greets in a third process's name, sends in it, waits for what that is to get
 *   window           messages that nobody receives
 *   announcements    messages to be read that nobody receives
 *   cq-data          remote CQ data that nobody reads
 *   several          messages without a byte into a buffer for several
 *   atomics          operations beyond a region, without a right, not aligned, malformed; each is
 *                    answered, and nothing is changed
 *   incarnations     one process after the other leaves messages behind
 *   unfinished       beginnings of messages whose rest does not come: that breaks no limit
 *   records          records at random, and such as differ from good ones in some bytes
 *
 *   hostile_ofi [ATTACK [RECORDS]]     of records: so many, or for two seconds (20,000)
 *
 * Of each attack it prints what became of it. Exit status 0: the three applications lived, no byte
 * was wrong, memory stayed within bounds, floods were cut off, and the honest ones were back at
 * their rate within a second.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <errno.h>

#include "base/clock.h"
#include "bed.h"
#include "ofi/ofi_atomic_op.h"
#include "ofi/ofi_wire.h"
#include "ofi_victim.h"

#define S	    UINT64_C(1000000000)
#define PATIENCE    (20 * S)
#define WINDOW	    (1u << 20) /* the default of FI_FARE_WINDOW_BYTES */
#define PAYLOAD	    4000u
#define EVENTS	    32
#define FLOOD_NS    PATIENCE /* it ends when it is cut off */
#define STUCK_NS    (S / 10)
#define CLIENTS	    100u
#define GROWTH_KB   (80u << 10) /* of the victim, over all attacks; ASan's own included */
#define BACK_NS	    S
#define BACK_SHARE  4 /* of the rate before */
#define RATE_NS	    (S / 4)
#define ADDRESS_BAD UINT64_C(0x414141414000)

static uint64_t n_records = 20000; /* at least */
static struct bed bed;
static struct victim_stage *stage;
static char stage_path[64];
static pid_t apps[VICTIM_ROLES];

struct attacker {
	struct fare *fare;
	struct fare_domain *domain;
	struct fare_group *group;
	struct ofi_address victim;
	uint64_t sent, done, random;
	bool connected, closed;
	int status;
	uint8_t record[OFI_RECORD_BYTES];
	char got[VICTIM_TEXT_BYTES * 4];
	uint8_t answer[OFI_RECORD_BYTES]; /* the last OFI_RESULT */
	size_t answer_bytes;
};

static int fail(const char *attack, const char *what)
{
	printf("%s: FAIL: %s\n", attack, what);
	return 1;
}

/* ---- the attacker's end ---- */

static void open_domain(struct attacker *a)
{
	const struct fare_domain_options options = {.key_file = bed.key, .accept = true};

	if (fare_attach(&a->fare, bed.dir[1]) ||
	    fare_domain_open(&a->domain, a->fare, 0, &options)) {
		fprintf(stderr, "hostile_ofi: no domain\n");
		_exit(1);
	}
}

static void close_domain(struct attacker *a)
{
	fare_domain_close(a->domain);
	fare_detach(a->fare);
}

static void take_events(struct attacker *a, int ms)
{
	struct fare_event e[EVENTS];
	struct pollfd p = {.fd = fare_domain_fd(a->domain), .events = POLLIN};
	int n;

	if (ms)
		poll(&p, 1, ms);
	n = fare_domain_poll(a->domain, e, EVENTS);
	for (int i = 0; i < n; i++) {
		if (e[i].group != a->group)
			continue;
		a->connected |= e[i].kind == FARE_EVENT_CONNECTED;
		a->done += e[i].kind == FARE_EVENT_COMPLETED;
		if (e[i].kind == FARE_EVENT_MESSAGE && e[i].bytes > OFI_WIRE_BYTES &&
		    e[i].bytes <= sizeof(a->got))
			memcpy(a->got, e[i].data, e[i].bytes);
		if (e[i].kind == FARE_EVENT_MESSAGE && e[i].bytes <= sizeof(a->answer) &&
		    ofi_wire_kind(e[i].data) == OFI_RESULT) {
			memcpy(a->answer, e[i].data, e[i].bytes);
			a->answer_bytes = e[i].bytes;
		}
		if (e[i].kind == FARE_EVENT_CLOSED) {
			a->closed = true;
			a->status = e[i].status;
		}
	}
}

static void greet(struct attacker *a, const uint8_t *greeting, uint32_t bytes)
{
	const struct fare_group_options options = {.mode = FARE_MODE_SPRAY,
						   .message_bytes = OFI_RECORD_BYTES,
						   .max_messages = 128,
						   .in_order = true,
						   .private_data = greeting,
						   .private_bytes = bytes};
	uint64_t end = clock_now_ns() + PATIENCE;

	a->connected = a->closed = false;
	a->sent = a->done = 0;
	if (fare_group_open_to(&a->group, a->domain, &a->victim.process, &options)) {
		a->closed = true;
		return;
	}
	while (!a->connected && !a->closed && clock_now_ns() < end)
		take_events(a, 10);
}

/*
 * In the name of that process, as version 4 of the greeting had it, or in no name, as the one in
 * force has it. False: refused, and a->status says why.
 */
static bool connect_as(struct attacker *a, const struct fare_address *name)
{
	const struct ofi_greeting g = {.version = OFI_WIRE_VERSION, .window_bytes = WINDOW};
	uint8_t old[12 + FARE_ADDRESS_BYTES] = "fareofi4\0\x10\0\0", now[OFI_GREETING_BYTES];
	struct fare_address own;

	fare_domain_address(a->domain, &own);
	memcpy(old + 12, name ? name->bytes : own.bytes, FARE_ADDRESS_BYTES);
	greet(a, old, sizeof(old));
	if (a->connected)
		return true;
	fare_group_close(a->group);
	ofi_greeting_encode(&g, now);
	greet(a, now, sizeof(now));
	return a->connected;
}

static bool send_record(struct attacker *a, uint32_t bytes)
{
	const struct fare_send send = {.data = a->record, .length = bytes};
	bool done = a->connected && !a->closed && !fare_group_send(a->group, &send);

	a->sent += done;
	return done;
}

static void send_until_taken(struct attacker *a, uint32_t bytes)
{
	uint64_t end = clock_now_ns() + PATIENCE;

	while (!send_record(a, bytes) && !a->closed && clock_now_ns() < end)
		take_events(a, 5);
	while (a->done < a->sent && !a->closed && clock_now_ns() < end)
		take_events(a, 5);
}

static void aim(struct attacker *a, const uint8_t *address)
{
	ofi_address_decode(address, &a->victim);
}

/* ---- attacks: what is printed, and 0 or 1 ---- */

static int names_victim(struct attacker *a)
{
	struct ofi_wire w = {.kind = OFI_RTS,
			     .dst_ep = a->victim.ep,
			     .cookie = 77,
			     .length = 64,
			     .address = ADDRESS_BAD,
			     .rkey = 1};

	if (!connect_as(a, &a->victim.process))
		return fail("names-victim", "refused altogether");
	ofi_wire_encode(&w, a->record);
	for (int i = 0; i < 8; i++)
		send_until_taken(a, OFI_WIRE_RTS_BYTES);
	for (uint64_t end = clock_now_ns() + S / 2; clock_now_ns() < end;)
		take_events(a, 20);
	puts("names-victim: 8 messages announced at an invalid address");
	return 0;
}

static int names_third(struct attacker *a)
{
	uint64_t end = clock_now_ns() + PATIENCE;
	struct ofi_address third;
	struct ofi_wire w = {.kind = OFI_EAGER,
			     .flags = OFI_WIRE_TAGGED,
			     .dst_ep = a->victim.ep,
			     .tag = VICTIM_TAG_DIRECTED};

	ofi_address_decode(stage->address[THIRD], &third);
	w.src_ep = third.ep;
	if (!connect_as(a, &third.process))
		return fail("names-third", "refused altogether");
	stage->step = STEP_ASKED;
	while (stage->step != STEP_POSTED && clock_now_ns() < end)
		take_events(a, 5);
	ofi_wire_encode(&w, a->record);
	strcpy((char *)a->record + OFI_WIRE_BYTES, "from an impostor");
	send_until_taken(a, OFI_WIRE_BYTES + 17);
	stage->step = STEP_ATTACKED;
	while (stage->step != STEP_RECEIVED && clock_now_ns() < end)
		take_events(a, 5);
	if (memmem(a->got, sizeof(a->got), VICTIM_PRIVATE_TEXT, sizeof(VICTIM_PRIVATE_TEXT)))
		return fail("names-third", "it gets what was sent to the third process");
	if (stage->step != STEP_RECEIVED)
		return fail("names-third", "a message of the third process, or to it, is lost");
	puts("names-third: each message went to, and came from, who it should");
	return 0;
}

/* Sends that record until it is cut off. */
static int flood(struct attacker *a, const char *name, const struct ofi_wire *w, uint32_t payload)
{
	uint64_t end = clock_now_ns() + FLOOD_NS;

	if (!connect_as(a, NULL))
		return fail(name, "refused before it began");
	ofi_wire_encode(w, a->record);
	while (!a->closed && clock_now_ns() < end) {
		take_events(a, 0);
		while (send_record(a, (uint32_t)ofi_wire_bytes(w->kind) + payload))
			;
	}
	if (!a->closed)
		return fail(name, "it is not cut off");
	printf("%s: cut off after %lu records\n", name, a->sent);
	if (a->sent * (payload + 160) < WINDOW)
		return fail(name, "cut off before the limit");
	fare_group_close(a->group);
	return 0;
}

static int window(struct attacker *a)
{
	const struct ofi_wire w = {
		.kind = OFI_EAGER, .flags = OFI_WIRE_TAGGED, .dst_ep = a->victim.ep, .tag = 1};

	return flood(a, "window", &w, PAYLOAD);
}

static int announcements(struct attacker *a)
{
	const struct ofi_wire w = {.kind = OFI_RTS,
				   .flags = OFI_WIRE_TAGGED,
				   .dst_ep = a->victim.ep,
				   .tag = 1,
				   .length = 1,
				   .cookie = 1};

	return flood(a, "announcements", &w, 0);
}

static int cq_data(struct attacker *a)
{
	struct ofi_wire w = {.kind = OFI_WRITTEN, .flags = OFI_WIRE_DATA};

	aim(a, stage->idle);
	w.dst_ep = a->victim.ep;
	return flood(a, "cq-data", &w, 0);
}

static int several(struct attacker *a)
{
	struct ofi_wire w = {.kind = OFI_EAGER};

	aim(a, stage->idle);
	w.dst_ep = a->victim.ep;
	return flood(a, "several", &w, 0);
}

/* Each leaves a window of messages, and ends. */
static int incarnations(struct attacker *a)
{
	const struct ofi_wire w = {
		.kind = OFI_EAGER, .flags = OFI_WIRE_TAGGED, .dst_ep = a->victim.ep, .tag = 2};
	unsigned n = 0;

	for (; n < CLIENTS && connect_as(a, NULL); n++) {
		ofi_wire_encode(&w, a->record);
		while (a->sent < WINDOW / (PAYLOAD + 160) && !a->closed)
			if (!send_record(a, OFI_WIRE_BYTES + PAYLOAD))
				take_events(a, 5);
		while (a->done < a->sent && !a->closed)
			take_events(a, 5);
		close_domain(a);
		open_domain(a);
	}
	if (n == CLIENTS)
		return fail("incarnations", "any number of them may leave messages");
	printf("incarnations: number %u is refused: %s\n", n + 1, strerror(-a->status));
	return a->status == -EUSERS ? 0 : fail("incarnations", "for another reason");
}

/* The beginning of a message, a rest that is not its, a rest of nothing; again and again. */
static int unfinished(struct attacker *a)
{
	if (!connect_as(a, NULL))
		return fail("unfinished", "refused before it began");
	while (a->sent < 4 * WINDOW / PAYLOAD && !a->closed) {
		struct ofi_wire w = {.kind = a->sent % 3 ? OFI_MORE : OFI_EAGER,
				     .dst_ep = a->victim.ep,
				     .status = a->sent % 3 ? 1 : 2 * PAYLOAD};

		ofi_wire_encode(&w, a->record);
		send_until_taken(a, OFI_WIRE_BYTES + PAYLOAD);
	}
	printf("unfinished: %lu records without a message\n", a->sent);
	return a->closed ? fail("unfinished", "cut off") : 0;
}

/* What the victim answers: 0 or an errno; -1: nothing. */
static int ask_atomic(struct attacker *a, const struct ofi_atomic *op, uint32_t values,
		      uint32_t result_bytes)
{
	const struct ofi_wire w = {.kind = OFI_ATOMIC, .cookie = 99, .status = result_bytes};
	uint64_t end = clock_now_ns() + PATIENCE;
	struct ofi_wire answer;
	size_t payload;

	ofi_wire_encode(&w, a->record);
	ofi_atomic_encode(op, a->record + OFI_WIRE_BYTES);
	memset(a->record + OFI_WIRE_BYTES + OFI_ATOMIC_BYTES, 0xee, values);
	a->answer_bytes = 0;
	send_until_taken(a, OFI_WIRE_BYTES + OFI_ATOMIC_BYTES + values);
	while (!a->answer_bytes && !a->closed && clock_now_ns() < end)
		take_events(a, 5);
	if (ofi_wire_decode(a->answer, a->answer_bytes, &answer, &payload) ||
	    answer.kind != OFI_RESULT || answer.cookie != 99 ||
	    a->answer_bytes != payload + (answer.status ? 0 : result_bytes))
		return -1;
	return (int)answer.status;
}

/* The victim's region lets peers write VICTIM_NUMBERS numbers, and read nothing. */
static int atomics(struct attacker *a)
{
	const uint64_t first = stage->region_address, last = first + 8 * VICTIM_NUMBERS;
	const uint32_t most = ofi_atomic_most(OFI_ATOMIC_BASE, FI_UINT64);
	const struct {
		struct ofi_atomic op;
		uint32_t values, result_bytes;
		int answer;
	} rows[] = {
		/* the one that is good */
		{{first, stage->region_key, 1, 0, FI_UINT64, FI_BOR, NULL, NULL}, 8, 0, 0},
		{{first, stage->region_key, 1, 1, FI_UINT64, FI_BOR, NULL, NULL}, 8, 8, EACCES},
		{{first, stage->region_key, 1, 1, FI_UINT64, FI_ATOMIC_READ, NULL, NULL},
		 0,
		 8,
		 EACCES},
		{{first - 8, stage->region_key, 1, 0, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EACCES},
		{{last, stage->region_key, 1, 0, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EACCES},
		{{last - 8, stage->region_key, 2, 0, FI_UINT64, FI_SUM, NULL, NULL}, 16, 0, EACCES},
		{{first, stage->region_key, most, 0, FI_UINT64, FI_SUM, NULL, NULL},
		 8 * most,
		 0,
		 EACCES},
		{{0, stage->region_key, 1, 0, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EACCES},
		{{UINT64_MAX, stage->region_key, 1, 0, FI_UINT64, FI_SUM, NULL, NULL},
		 8,
		 0,
		 EACCES},
		{{ADDRESS_BAD, 0, 1, 0, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EACCES},
		{{first, stage->region_key ^ 1, 1, 0, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EACCES},
		{{first + 4, stage->region_key, 1, 0, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EINVAL},
		{{first, stage->region_key, 0, 0, FI_UINT64, FI_SUM, NULL, NULL}, 0, 0, EBADMSG},
		{{first, stage->region_key, 0x20000001, 0, FI_UINT64, FI_SUM, NULL, NULL},
		 8,
		 0,
		 EBADMSG},
		{{first, stage->region_key, 2, 0, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EBADMSG},
		{{first, stage->region_key, 1, 0, FI_LONG_DOUBLE, FI_SUM, NULL, NULL},
		 16,
		 0,
		 EBADMSG},
		{{first, stage->region_key, 1, 9, FI_UINT64, FI_SUM, NULL, NULL}, 8, 0, EBADMSG},
		{{first, stage->region_key, 1, 0, FI_UINT64, 77, NULL, NULL}, 8, 0, EBADMSG},
		{{first, stage->region_key, 1, 1, FI_UINT64, FI_SUM, NULL, NULL}, 8, 4000, EBADMSG},
	};

	if (!connect_as(a, NULL))
		return fail("atomics", "refused before it began");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int answer = ask_atomic(a, &rows[i].op, rows[i].values, rows[i].result_bytes);

		if (answer == rows[i].answer)
			continue;
		printf("atomics: row %u: %d, not %d\n", i, answer, rows[i].answer);
		return fail("atomics", "another answer");
	}
	printf("atomics: %zu operations, one of them done\n", sizeof(rows) / sizeof(rows[0]));
	return 0;
}

/* Near the victim's region; half of them are well formed. */
static uint32_t make_atomic(struct attacker *a, struct ofi_wire *w)
{
	uint64_t r = bed_mix(a->random, 20);
	const struct ofi_atomic op = {.address = stage->region_address - 64 + (r & 1023),
				      .key = stage->region_key,
				      .count = 1 + (r >> 10 & 7),
				      .form = r >> 13 & 3,
				      .datatype = r >> 15 & 15,
				      .op = (uint8_t)((r >> 19) % FI_ATOMIC_OP_LAST)};
	uint32_t values = (uint32_t)(r >> 40) % 200;

	if (r >> 63 && ofi_atomic_is_offered(op.form, op.datatype, op.op)) {
		values = (uint32_t)(ofi_atomic_operand_bytes(&op) + ofi_atomic_compare_bytes(&op));
		w->status = (uint32_t)ofi_atomic_result_bytes(&op);
	}
	w->status %= OFI_RECORD_MAX;
	ofi_wire_encode(w, a->record);
	ofi_atomic_encode(&op, a->record + OFI_WIRE_BYTES);
	return OFI_WIRE_BYTES + OFI_ATOMIC_BYTES + values;
}

static uint32_t make_record(struct attacker *a)
{
	uint64_t r = bed_mix(a->random, 0);
	struct ofi_wire w = {.kind = (uint8_t)(1 + r % 11),
			     .flags = r >> 8 & 7,
			     .src_ep = r >> 11 & 3,
			     .dst_ep = r >> 13 & 7 ? (r >> 16 & 1) : (uint16_t)(r >> 16),
			     .tag = r >> 24 & 15,
			     .cookie = bed_mix(a->random, 1) & 0x3ffff,
			     .credit = r >> 40 & 1 ? (uint32_t)bed_mix(a->random, 2) : 0,
			     .status = (uint32_t)(bed_mix(a->random, 3) >> 40),
			     .length = bed_mix(a->random, 4) >> (r >> 48 & 63),
			     .address = bed_mix(a->random, 5),
			     .rkey = (uint32_t)bed_mix(a->random, 6)};
	uint32_t bytes;

	/* what is read by a wrong key costs a lane of this group, and so the volume */
	if (w.kind == OFI_RTS)
		w.flags |= OFI_WIRE_TAGGED;
	ofi_wire_encode(&w, a->record);
	bytes = (uint32_t)ofi_wire_bytes(w.kind);
	if (w.kind == OFI_EAGER || w.kind == OFI_MORE || w.kind == OFI_RESULT)
		bytes += (uint32_t)(bed_mix(a->random, 7) % 200);
	if (w.kind == OFI_ATOMIC)
		bytes = make_atomic(a, &w);
	for (unsigned i = 0; i < (r >> 56 & 3); i++)
		a->record[bed_mix(a->random, 8 + i) % bytes] ^=
			(uint8_t)(1u << (bed_mix(a->random, 12 + i) & 7));
	if (!(r >> 58 & 15))
		bytes = (uint32_t)(bed_mix(a->random, 16) % OFI_RECORD_BYTES) + 1;
	a->random++;
	return bytes;
}

/* It is cut off from time to time, and comes again as another process, until its host has had more
 * of those than one is granted: the end of any such flood, however long it was meant to be.
 */
static int records(struct attacker *a)
{
	uint64_t n = 0, end = clock_now_ns() + 2 * S, last = end + PATIENCE, sent_ns = 0;
	unsigned times = 1;

	connect_as(a, NULL);
	while (clock_now_ns() < end || (n < n_records && clock_now_ns() < last)) {
		for (; send_record(a, make_record(a)); n++)
			sent_ns = clock_now_ns();
		take_events(a, 1);
		if (a->connected && !a->closed && clock_now_ns() - sent_ns < STUCK_NS)
			continue;
		close_domain(a);
		open_domain(a);
		connect_as(a, NULL);
		sent_ns = clock_now_ns();
		times++;
		if (a->status == -EUSERS)
			break;
	}
	printf("records: %lu over %u groups%s\n", n, times,
	       a->status == -EUSERS ? ", then refused" : "");
	return n < n_records && a->status != -EUSERS ? fail("records", "too few arrive") : 0;
}

struct attack {
	const char *name;
	int (*run)(struct attacker *a);
};
static const struct attack attacks[] = {
	{"names-third", names_third}, {"names-victim", names_victim},
	{"window", window},	      {"announcements", announcements},
	{"cq-data", cq_data},	      {"several", several},
	{"atomics", atomics},	      {"unfinished", unfinished},
	{"records", records},	      {"incarnations", incarnations},
};
#define N_ATTACKS (sizeof(attacks) / sizeof(attacks[0]))

/* In a process of its own, at the GPU of partner and third. */
static int attack(void *arg)
{
	struct attacker a = {.random = 1};
	int status;

	bed_enter_namespace(&bed, 1);
	aim(&a, stage->address[VICTIM]);
	open_domain(&a);
	status = ((const struct attack *)arg)->run(&a);
	close_domain(&a);
	fflush(NULL);
	return status;
}

/* ---- the applications ---- */

static int start_app(enum victim_role role, const char *name, const char *bin)
{
	int host = role == VICTIM ? 0 : 1;
	char program[256], options[256];

	snprintf(program, sizeof(program), "%s/ofi_victim", bin);
	apps[role] = fork();
	if (apps[role])
		return apps[role] < 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	bed_enter_namespace(&bed, host);
	setenv("FARE_RUN_DIR", bed.dir[host], 1);
	if (chdir(bed.dir[host])) /* what a crash leaves goes with it */
		_exit(1);
	setenv("FARE_KEY_FILE", bed.key, 1);
	setenv("FI_FARE_LINGER_MS", "200", 1);
	/* memory that was freed counts as what it is */
	snprintf(options, sizeof(options), "%s:quarantine_size_mb=4",
		 getenv("ASAN_OPTIONS") ? getenv("ASAN_OPTIONS") : "");
	setenv("ASAN_OPTIONS", options, 1);
	execl(program, program, stage_path, name, (char *)NULL);
	perror(program);
	_exit(1);
}

static int start_apps(const char *bin)
{
	uint64_t end = clock_now_ns() + PATIENCE;

	if (start_app(VICTIM, "victim", bin) || start_app(PARTNER, "partner", bin) ||
	    start_app(THIRD, "third", bin))
		return 1;
	while (stage->exchanged < 10) {
		if (clock_now_ns() > end)
			return fail("start", "the applications exchange nothing");
		usleep(10000);
	}
	return 0;
}

static bool all_live(void)
{
	for (int i = 0; i < VICTIM_ROLES; i++)
		if (apps[i] <= 0 || waitpid(apps[i], NULL, WNOHANG)) {
			apps[i] = 0;
			return false;
		}
	return true;
}

static uint64_t messages_in(uint64_t ns)
{
	uint64_t before = stage->exchanged;

	usleep((useconds_t)(ns / 1000));
	return stage->exchanged - before;
}

static bool any_ready(void)
{
	for (int i = 0; i < VICTIM_ROLES; i++)
		if (stage->is_ready[i])
			return true;
	return false;
}

static int stop_apps(void)
{
	int status, failed = 0;

	stage->over = 1;
	while (all_live() && any_ready())
		usleep(1000);
	if (!all_live())
		failed = fail("end", "an application has died");
	stage->may_close = 1;
	for (int i = 0; i < VICTIM_ROLES; i++) {
		if (apps[i] <= 0)
			continue;
		if (waitpid(apps[i], &status, 0) != apps[i] || status)
			failed = fail("end", "an application ends with an error");
		apps[i] = 0;
	}
	return failed;
}

/* The honest rate within BACK_NS, in the best quarter of a second. */
static int look_after(const char *name, uint64_t rate)
{
	uint64_t end = clock_now_ns() + BACK_NS, best = 0;

	stage->reads_idle = 1;
	do {
		uint64_t n = messages_in(RATE_NS);

		best = n > best ? n : best;
	} while (best * BACK_SHARE < rate && clock_now_ns() < end);
	if (!all_live())
		return fail(name, "an application has died");
	if (stage->wrong)
		return fail(name, "wrong bytes");
	printf("%s: %lu honest messages a quarter of a second before, %lu after; RSS %lu kB\n",
	       name, rate, best, stage->rss_kb);
	return best * BACK_SHARE < rate ? fail(name, "the honest ones do not recover") : 0;
}

static int run_attacks(const char *only)
{
	uint64_t rss_kb = stage->rss_kb, rate = messages_in(RATE_NS);
	int failed = 0;

	for (unsigned i = 0; i < N_ATTACKS && all_live(); i++) {
		if (only && strcmp(only, attacks[i].name))
			continue;
		failed |= bed_start(&bed, 1, attack, (void *)(uintptr_t)&attacks[i]);
		failed |= bed_join(&bed, 1) != 0;
		failed |= look_after(attacks[i].name, rate);
	}
	printf("%lu honest messages, %lu wrong; RSS %lu kB before, %lu after\n", stage->exchanged,
	       stage->wrong, rss_kb, stage->rss_kb);
	if (stage->rss_kb > rss_kb + GROWTH_KB)
		failed = fail("end", "the victim has grown");
	return failed || !all_live();
}

/* ---- ---- */

static int make_stage(void)
{
	int fd;

	snprintf(stage_path, sizeof(stage_path), "/tmp/fl-bed%d-stage", (int)getpid());
	fd = open(stage_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*stage)))
		return 1;
	stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return stage == MAP_FAILED;
}

/* Removes all when the pipe's other end closes, which a test that is killed does, too. */
static pid_t start_guard(int *out)
{
	int ends[2];
	pid_t pid;
	char c;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid) {
		close(ends[0]);
		*out = ends[1];
		return pid;
	}
	setsid();
	close(ends[1]);
	while (read(ends[0], &c, 1) > 0)
		;
	bed_destroy(&bed);
	unlink(stage_path);
	_exit(0);
}

int main(int argc, char **argv)
{
	const struct bed_options options = {.provider = "soft", .planes = 2, .sub_ports = 1};
	const char *bin = getenv("FARE_BIN");
	int failed, guard_fd = -1;
	pid_t guard;

	if (!bin || !getenv("FI_PROVIDER_PATH")) {
		fputs("FARE_BIN and FI_PROVIDER_PATH must be set\n", stderr);
		return 2;
	}
	if (argc > 2)
		n_records = strtoull(argv[2], NULL, 10);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (bed_make(&bed, &options))
		return 1;
	if (make_stage()) { /* before the guard, which removes it */
		perror(stage_path);
		bed_destroy(&bed);
		return 1;
	}
	guard = start_guard(&guard_fd);
	failed = start_apps(bin) || run_attacks(argc > 1 ? argv[1] : NULL);
	failed |= stop_apps();
	close(guard_fd);
	if (guard > 0)
		waitpid(guard, NULL, 0);
	return failed != 0;
}
