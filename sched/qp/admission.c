/* SPDX-License-Identifier: BSD-2-Clause */
#include "qp/admission.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <stddef.h>
#include <string.h>

#include "base/octets.h"

#define TIME_BYTES 8
#define MAC_BYTES  (CONTROL_NONCE_BYTES - TIME_BYTES)

static void mac_of(const struct admission *admission, const struct admission_opener *opener,
		   uint64_t made_ns, uint8_t mac[MAC_BYTES])
{
	uint8_t body[sizeof(struct in6_addr) + 2 + 8 + 4 + TIME_BYTES];
	struct octets_out out = {body, sizeof(body), false};
	struct hmac_sha256_ctx ctx;

	octets_put_bytes(&out, &opener->address.address, sizeof(struct in6_addr));
	octets_put(&out, opener->address.port, 2);
	octets_put(&out, opener->incarnation, 8);
	octets_put(&out, opener->group, 4);
	octets_put(&out, made_ns, TIME_BYTES);
	hmac_sha256_set_key(&ctx, sizeof(admission->secret), admission->secret);
	hmac_sha256_update(&ctx, sizeof(body), body);
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
	octets_store(nonce, now_ns, TIME_BYTES);
	mac_of(admission, opener, now_ns, nonce + TIME_BYTES);
}

bool admission_is_fresh(const struct admission *admission, const struct admission_opener *opener,
			uint64_t now_ns, const uint8_t nonce[CONTROL_NONCE_BYTES])
{
	uint64_t made_ns = octets_load(nonce, TIME_BYTES);
	uint8_t mac[MAC_BYTES];

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
