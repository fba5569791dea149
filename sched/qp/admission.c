/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/admission.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stddef.h>
#include <string.h>

#define TIME_BYTES 8
#define MAC_BYTES  (CONTROL_NONCE_BYTES - TIME_BYTES)

static size_t admission_put(uint8_t *at, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
	return bytes;
}

static void mac_of(const struct admission *admission, const struct admission_opener *opener,
		   uint64_t made_ns, uint8_t mac[MAC_BYTES])
{
	uint8_t body[sizeof(struct in6_addr) + 2 + 8 + 4 + TIME_BYTES];
	struct hmac_sha256_ctx ctx;
	size_t n = sizeof(struct in6_addr);

	memcpy(body, &opener->address.address, n);
	n += admission_put(body + n, opener->address.port, 2);
	n += admission_put(body + n, opener->incarnation, 8);
	n += admission_put(body + n, opener->group, 4);
	n += admission_put(body + n, made_ns, TIME_BYTES);
	hmac_sha256_set_key(&ctx, sizeof(admission->secret), admission->secret);
	hmac_sha256_update(&ctx, n, body);
	hmac_sha256_digest(&ctx, MAC_BYTES, mac);
}

void admission_init(struct admission *admission, const uint8_t secret[ADMISSION_SECRET])
{
	memset(admission, 0, sizeof(*admission));
	memcpy(admission->secret, secret, sizeof(admission->secret));
}

void admission_challenge(const struct admission *admission, const struct admission_opener *opener,
			 uint64_t now_ns, uint8_t nonce[CONTROL_NONCE_BYTES])
{
	admission_put(nonce, now_ns, TIME_BYTES);
	mac_of(admission, opener, now_ns, nonce + TIME_BYTES);
}

bool admission_is_fresh(const struct admission *admission, const struct admission_opener *opener,
			uint64_t now_ns, const uint8_t nonce[CONTROL_NONCE_BYTES])
{
	uint8_t mac[MAC_BYTES];
	uint64_t made_ns = 0;

	for (int i = TIME_BYTES; i--;)
		made_ns = made_ns << 8 | nonce[i];
	/* cheap checks first */
	if (made_ns > now_ns || now_ns - made_ns >= ADMISSION_NS || made_ns <= admission->floor_ns)
		return false;
	mac_of(admission, opener, made_ns, mac);
	return memeql_sec(mac, nonce + TIME_BYTES, MAC_BYTES);
}

struct admission_entry *admission_add(struct admission *admission,
				      const struct admission_opener *opener, uint64_t now_ns)
{
	struct admission_entry *e = &admission->admitted[admission->next++ % ADMISSION_ADMITTED];

	if (e->incarnation && e->admitted_ns > admission->floor_ns)
		admission->floor_ns = e->admitted_ns;
	*e = (struct admission_entry){
		.incarnation = opener->incarnation, .admitted_ns = now_ns, .group = opener->group};
	return e;
}

const struct admission_entry *admission_find(const struct admission *admission,
					     const struct admission_opener *opener, uint64_t now_ns)
{
	for (unsigned i = 0; i < ADMISSION_ADMITTED; i++) {
		const struct admission_entry *e = &admission->admitted[i];

		if (e->incarnation == opener->incarnation && e->group == opener->group &&
		    now_ns - e->admitted_ns < ADMISSION_NS)
			return e;
	}
	return NULL;
}
