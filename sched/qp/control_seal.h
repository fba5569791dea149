/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_seal.h - who may speak to a group: control messages under HMAC-SHA256 (pure but for
 * reading the key).
 *
 * Owns the envelope's bytes. In: a control message and both ends' addresses. Out: a datagram, or
 * the message that was in one, if its sender has the key. Thread: any.
 *
 *   tag (32) | length (2, big-endian) | message | up to three bytes of padding, which nothing reads
 *
 * The tag covers sender's and receiver's address, length and message: one that was meant for
 * somebody else, or that comes back to its sender, does not count. It does not make a message
 * fresh; what the message says does (control_wire.h: both ends' incarnations, groups, epochs).
 */
#ifndef CONTROL_SEAL_H
#define CONTROL_SEAL_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_SEAL_BYTES	34u
#define CONTROL_SEAL_KEY_MIN	16u
#define CONTROL_SEAL_KEY_MAX	64u
#define CONTROL_SEAL_SECRET_MAX (CONTROL_SEAL_KEY_MAX + 8u)

struct control_seal {
	uint8_t secret[CONTROL_SEAL_SECRET_MAX];
	size_t length;
};

/*
 * The key of path (NULL: none), 16 to 64 bytes, white space at its end not counted, and the job's
 * number: both ends must have both. -EKEYREJECTED: the file has another size, or everybody may read
 * it; or what opening and reading it said.
 */
int control_seal_load(struct control_seal *out, const char *path, uint64_t job);

/*
 * Seals the message that begins at datagram + CONTROL_SEAL_BYTES; the datagram is that much longer.
 */
void control_seal_close(const struct control_seal *seal, const struct in6_addr *from,
			const struct in6_addr *to, uint8_t *datagram, size_t message_length);
/*
 * The message within and its length, or -EBADMSG (no envelope), -EKEYREJECTED (not by one who has
 * the key).
 */
int control_seal_open(const struct control_seal *seal, const struct in6_addr *from,
		      const struct in6_addr *to, const uint8_t *datagram, size_t length,
		      const uint8_t **message, size_t *message_length);

#endif
