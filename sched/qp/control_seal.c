/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/control_seal.h"

#include <errno.h>
#include <fcntl.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TAG_BYTES SHA256_DIGEST_SIZE

_Static_assert(CONTROL_SEAL_BYTES == TAG_BYTES + 2, "envelope");

static bool is_space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static int read_key(const char *path, uint8_t *key, size_t *length)
{
	uint8_t bytes[CONTROL_SEAL_KEY_MAX + 8];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = fstat(fd, &st) ? -1 : read(fd, bytes, sizeof(bytes));
	close(fd);
	if (n < 0)
		return -EIO;
	while (n && is_space(bytes[n - 1]))
		n--;
	if (n < (ssize_t)CONTROL_SEAL_KEY_MIN || n > (ssize_t)CONTROL_SEAL_KEY_MAX ||
	    st.st_mode & S_IRWXO)
		return -EKEYREJECTED;
	memcpy(key, bytes, (size_t)n);
	*length = (size_t)n;
	return 0;
}

int control_seal_load(struct control_seal *out, const char *path, uint64_t job)
{
	int err = 0;

	*out = (struct control_seal){0};
	if (path)
		err = read_key(path, out->secret, &out->length);
	for (int i = 0; i < 8; i++)
		out->secret[out->length++] = (uint8_t)(job >> 8 * i);
	return err;
}

static void tag_of(const struct control_seal *seal, const struct in6_addr *from,
		   const struct in6_addr *to, const uint8_t *body, size_t length,
		   uint8_t tag[TAG_BYTES])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, seal->length, seal->secret);
	hmac_sha256_update(&ctx, sizeof(*from), from->s6_addr);
	hmac_sha256_update(&ctx, sizeof(*to), to->s6_addr);
	hmac_sha256_update(&ctx, length, body);
	hmac_sha256_digest(&ctx, TAG_BYTES, tag);
}

void control_seal_close(const struct control_seal *seal, const struct in6_addr *from,
			const struct in6_addr *to, uint8_t *datagram, size_t message_length)
{
	datagram[TAG_BYTES] = (uint8_t)(message_length >> 8);
	datagram[TAG_BYTES + 1] = (uint8_t)message_length;
	tag_of(seal, from, to, datagram + TAG_BYTES, message_length + 2, datagram);
}

int control_seal_open(const struct control_seal *seal, const struct in6_addr *from,
		      const struct in6_addr *to, const uint8_t *datagram, size_t length,
		      const uint8_t **message, size_t *message_length)
{
	uint8_t tag[TAG_BYTES];
	size_t n;

	if (length < CONTROL_SEAL_BYTES)
		return -EBADMSG;
	n = (size_t)datagram[TAG_BYTES] << 8 | datagram[TAG_BYTES + 1];
	if (n > length - CONTROL_SEAL_BYTES || length - CONTROL_SEAL_BYTES - n > 3)
		return -EBADMSG;
	tag_of(seal, from, to, datagram + TAG_BYTES, n + 2, tag);
	if (!memeql_sec(tag, datagram, TAG_BYTES))
		return -EKEYREJECTED;
	*message = datagram + CONTROL_SEAL_BYTES;
	*message_length = n;
	return 0;
}
