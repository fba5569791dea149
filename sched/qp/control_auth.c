/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/control_auth.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include <sys/stat.h>

#define TAG_BYTES SHA256_DIGEST_SIZE

_Static_assert(CONTROL_AUTH_BYTES == TAG_BYTES + 2, "envelope");

int control_auth_load(struct control_auth *out, const char *path, uint64_t job)
{
	char why[256]; /* the caller has only the number */
	int err = 0;

	*out = (struct control_auth){0};
	if (path)
		err = key_file_read(path, S_IRWXO, out->secret, &out->length, why, sizeof(why));
	for (int i = 0; i < 8; i++)
		out->secret[out->length++] = (uint8_t)(job >> 8 * i);
	return err;
}

static void tag_of(const struct control_auth *auth, const struct in6_addr *from,
		   const struct in6_addr *to, const uint8_t *body, size_t length,
		   uint8_t tag[TAG_BYTES])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, auth->length, auth->secret);
	hmac_sha256_update(&ctx, sizeof(*from), from->s6_addr);
	hmac_sha256_update(&ctx, sizeof(*to), to->s6_addr);
	hmac_sha256_update(&ctx, length, body);
	hmac_sha256_digest(&ctx, TAG_BYTES, tag);
}

void control_auth_sign(const struct control_auth *auth, const struct in6_addr *from,
		       const struct in6_addr *to, uint8_t *datagram, size_t message_length)
{
	datagram[TAG_BYTES] = (uint8_t)(message_length >> 8);
	datagram[TAG_BYTES + 1] = (uint8_t)message_length;
	tag_of(auth, from, to, datagram + TAG_BYTES, message_length + 2, datagram);
}

int control_auth_verify(const struct control_auth *auth, const struct in6_addr *from,
			const struct in6_addr *to, const uint8_t *datagram, size_t length,
			const uint8_t **message, size_t *message_length)
{
	uint8_t tag[TAG_BYTES];
	size_t n;

	if (length < CONTROL_AUTH_BYTES)
		return -EBADMSG;
	n = (size_t)datagram[TAG_BYTES] << 8 | datagram[TAG_BYTES + 1];
	if (n > length - CONTROL_AUTH_BYTES || length - CONTROL_AUTH_BYTES - n > 3)
		return -EBADMSG;
	tag_of(auth, from, to, datagram + TAG_BYTES, n + 2, tag);
	if (!memeql_sec(tag, datagram, TAG_BYTES))
		return -EKEYREJECTED;
	*message = datagram + CONTROL_AUTH_BYTES;
	*message_length = n;
	return 0;
}
