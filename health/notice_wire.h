/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * notice_wire.h - what fared adds after the BFD packet: a probe's stamp, the reflector's arrival
 * report and how long it held the probe, a capacity notice and its acknowledgement, the port that a
 * reply is to go to, that the sender's last probe was answered, by what a notice is known to be no
 * replay, a probe's size, and a report.
 *
 * Solely owns: those elements' bytes. In: bytes from the network, the key. Out: a checked struct,
 * or -EBADMSG with reason and offset. Thread: any. Pure.
 *
 * The trailer is "FARE", a version octet, three zero octets, then elements of type (1), length (1,
 * of the value) and value, in big-endian. Anything that is not such a trailer is somebody else's
 * and counts as absent: S-BFD implementations that know nothing of it bound the packet by BFD's own
 * length. A known type that comes twice, or with a wrong length, makes the packet bad; unknown
 * types are skipped, so that newer senders are understood by older receivers.
 *
 * Notices and acknowledgements count only under an HMAC-SHA256, the last element, over everything
 * before it and both addresses. A notice counts only with its receiver's nonce of now: 64 random
 * bits (RECEIVER) that each reply of the receiver carries, and that are others after it has
 * forgotten which notices it has seen. In replies they need no HMAC: who can change them there
 * can drop the replies as well. A notice without them is of a release that did not have them; it
 * could have been recorded at any time, and is refused.
 *
 * A report (report_wire.h) counts by the receiver's cookie in it; one with flags is authenticated
 * as notices are where there is a key, and its flags count only then.
 *
 * Stamps carry no HMAC: a reply has to repeat 64 random bits that only the probe's sender and the
 * path know, and can do no more than say that the path works. Neither does "answered" (HEARD):
 * who can send in a peer's name delays a verdict by it, no longer than docs/health.md says
 * (HEALTH_SKIP_MAX), and prevents none.
 */
#ifndef NOTICE_WIRE_H
#define NOTICE_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report_wire.h"
#include "sbfd_wire.h"

#define NOTICE_WIRE_MAX_BYTES	  448u /* of the datagram without padding, BFD included */
#define NOTICE_WIRE_MAX_PLANES	  16u
#define NOTICE_WIRE_MAX_SUB_PORTS 8u
#define NOTICE_WIRE_KEY_MIN	  16u
#define NOTICE_WIRE_KEY_MAX	  64u
#define NOTICE_WIRE_ANY		  UINT64_MAX /* a plane that is not limited by the sender */

/* Sent by the prober, repeated unchanged by the reflector. */
struct notice_stamp {
	uint32_t sequence;
	uint64_t nonce;
};

/* Where the probe arrived, as its receiver numbers things. */
struct notice_arrival {
	uint8_t plane, sub_port, n_sub_ports;
};

/* What the sender's own ports toward each plane carry now. */
struct notice_capacity {
	uint64_t incarnation; /* of the sender: later ones have larger numbers */
	uint32_t sequence;    /* within that incarnation */
	uint32_t expiry_ms;
	uint8_t n_planes;
	uint64_t bps[NOTICE_WIRE_MAX_PLANES]; /* NOTICE_WIRE_ANY: no limit */
};

/*
 * The newest notice that the receiver holds of the sender, and acknowledges by that. If it is of a
 * later incarnation than the one just sent, the sender's clock has gone back: it goes on with a
 * larger number, so as to be heard.
 */
struct notice_ack {
	uint64_t incarnation;
	uint32_t sequence;
};

/*
 * In a probe: its sender asks how long it was on arrival; in the answer: so long. The answer is
 * never padded: each end learns what it may send.
 */
struct notice_size {
	uint16_t bytes; /* of the datagram, BFD packet and padding included */
};

struct notice_trailer {
	bool has_stamp, has_arrival, has_held, has_capacity, has_ack, has_receiver, has_size,
		has_report;
	/* in a probe: the sender's last one over this path was answered */
	bool has_received;
	bool authentic;	 /* carries an HMAC, and it is right by one of the keys */
	bool second_key; /* by the second one */
	struct notice_stamp stamp;
	struct notice_arrival arrival;
	uint32_t held_us; /* from the probe's arrival until it was read and answered */
	/* in a reply: its sender's nonce; with a notice: the receiver's, or 0: not known yet */
	uint64_t receiver;
	struct notice_capacity capacity;
	struct notice_ack ack;
	struct notice_size size;
	struct report_wire report; /* report_wire.h */
};

struct notice_key {
	uint8_t bytes[NOTICE_WIRE_KEY_MAX];
	size_t length; /* 0: no key */
};

/* Two at once, so that servers can be given another key one by one. */
struct notice_keys {
	struct notice_key own;	  /* authenticates what is sent, and is accepted */
	struct notice_key second; /* is accepted as well; length 0: none */
};

/* Which two servers: the HMAC covers it, so that a notice cannot be replayed as another's. */
struct notice_ends {
	struct in6_addr from, to;
};

/*
 * Appends the elements that t has after the BFD packet already in out (of size bytes, at least
 * NOTICE_WIRE_MAX_BYTES). An HMAC by that key is added if there is one, and a notice, an
 * acknowledgement or a report with flags.
 * Returns the length of the whole datagram.
 */
size_t notice_wire_encode(const struct notice_trailer *t, const struct notice_key *key,
			  const struct notice_ends *ends, uint8_t *out);
/*
 * Reads what follows the BFD packet. No trailer of ours: 0, with everything absent. A wrong HMAC is
 * no error: authentic stays false, and the caller uses neither notice nor acknowledgement.
 */
int notice_wire_decode(const uint8_t *bytes, size_t length, const struct notice_keys *keys,
		       const struct notice_ends *ends, struct notice_trailer *out,
		       struct sbfd_wire_error *error);

/*
 * Makes a datagram of length bytes (without an HMAC, which is the last element) as long as that, by
 * elements that receivers skip. bytes has that much room. Returns its length: as it was if that is
 * as much or more, or one byte too little.
 */
size_t notice_wire_pad(uint8_t *bytes, size_t length, size_t wanted);

#endif
