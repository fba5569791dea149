/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * control_auth.h - authenticates control messages with HMAC-SHA256 (pure, except that it reads the
 * key file).
 *
 * Owns the format of the envelope. In: a control message and both ends' addresses. Out: a datagram;
 * or the message of a datagram whose sender has the key. Thread: any.
 *
 *   tag (32) | length (2, big-endian) | message | up to three bytes of padding, which are not read
 *
 * The tag covers the addresses of sender and receiver, the length and the message. So a message
 * that was meant for another receiver, or that is reflected to its sender, is rejected. The tag
 * does not protect against replay. Incarnations, groups and epochs in the message do
 * (control_wire.h).
 */
#ifndef CONTROL_AUTH_H
#define CONTROL_AUTH_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "base/key_file.h"

#define CONTROL_AUTH_BYTES	34u
#define CONTROL_AUTH_SECRET_MAX (KEY_FILE_MAX + 8u)

struct control_auth {
	uint8_t secret[CONTROL_AUTH_SECRET_MAX];
	size_t length;
};

/*
 * Loads the key in the file path (NULL: no key), to which nobody but owner and group has access,
 * and the job's number. Both ends must have the same of both. -errno: of key_file_read().
 */
int control_auth_load(struct control_auth *out, const char *path, uint64_t job);

/*
 * Authenticates the message that begins at datagram + CONTROL_AUTH_BYTES. The datagram then has
 * CONTROL_AUTH_BYTES + message_length bytes.
 */
void control_auth_sign(const struct control_auth *auth, const struct in6_addr *from,
		       const struct in6_addr *to, uint8_t *datagram, size_t message_length);
/*
 * Stores where the message begins and its length. -EBADMSG: no valid envelope. -EKEYREJECTED: the
 * sender does not have the key.
 */
int control_auth_verify(const struct control_auth *auth, const struct in6_addr *from,
			const struct in6_addr *to, const uint8_t *datagram, size_t length,
			const uint8_t **message, size_t *message_length);

#endif
