/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/audit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/message.h"
#include "engine/planted.h"

#define STALL_TIMES 5 /* longer than the middle one */

int audit_books(const struct traffic_result *books)
{
	if (books->posted != books->messages) {
		fprintf(stderr, "farebench: %llu messages were posted, %llu arrived\n",
			(unsigned long long)books->posted, (unsigned long long)books->messages);
		return -EBADE;
	}
	if (books->proof_sent != books->proof_seen) {
		fprintf(stderr, "farebench: what receivers read is not what was sent, or they have "
				"not read it\n");
		return -EBADE;
	}
	if (books->early) {
		fprintf(stderr,
			"farebench: %llu messages arrived before they were sent: clocks differ, "
			"and times of one cannot be compared with the other's\n",
			(unsigned long long)books->early);
		return -EBADE;
	}
	return 0;
}

/* Bytes that can be across a GPU's links in the window. */
static double audit_most(const struct measured *m, const struct topo *topo, unsigned gpu,
			 unsigned streams)
{
	double seconds = (double)(m->to_ns - m->from_ns) / 1e9, bytes = 0;

	for (unsigned p = 0; p < topo->n_planes; p++)
		bytes += (double)topo_capacity_bps(topo, gpu, p) / 8 * seconds +
			 (double)topo->bucket_bytes * topo->gpus[gpu].plane[p].n_sub_ports;
	return bytes * (1 + AUDIT_RATE_SPARE) + (double)AUDIT_CHUNK_BYTES * streams;
}

static int audit_rates(const struct measured *m, const struct topo *topo,
		       const struct traffic_stream *streams)
{
	double seconds = (double)(m->to_ns - m->from_ns) / 1e9;

	if (!topo->bucket_bytes)
		return 0; /* nothing shapes these links: their rates are what an inventory says */
	for (unsigned gpu = 0; gpu < topo->n_gpus; gpu++) {
		double sent = 0, received = 0, most;
		unsigned n = 0;

		for (unsigned i = 0; i < m->n_streams; i++) {
			double bytes = m->stream[i].bps / 8 * seconds;

			sent += streams[i].src == gpu ? bytes : 0;
			received += streams[i].dst == gpu ? bytes : 0;
			n += streams[i].src == gpu || streams[i].dst == gpu;
		}
		most = audit_most(m, topo, gpu, n);
		if (sent <= most && received <= most)
			continue;
		fprintf(stderr,
			"farebench: GPU %u sent %.0f bytes and received %.0f in %.3f s, and its "
			"links carry %.0f\n",
			gpu, sent, received, seconds, most);
		return -EBADE;
	}
	return 0;
}

bool audit_conserved(const struct audit_counts *c, char *why, size_t size)
{
	const struct {
		const char *what;
		uint64_t in, out;
	} sums[] = {
		{"messages were due, and acknowledged or never handed over are", c->due,
		 c->completed + c->unposted},
		{"messages were due, and arrived or never handed over are", c->timed, c->delivered},
		{"bytes were sent, and received are", c->sent_bytes, c->received_bytes},
		{"requests came, and ended or held are", c->requests,
		 c->requests_ended + c->requests_held},
		{"tokens came from batches, and of requests are", c->tokens, c->request_tokens},
		{"tokens came from batches in the window, and of requests are", c->window_tokens,
		 c->window_request_tokens},
		{"ns had the workers, and busy or idle are", c->time_ns, c->busy_ns + c->idle_ns},
	};
	const struct {
		const char *what;
		uint64_t part, whole;
	} bounds[] = {
		{"ns is what a GPU waited, of", c->waited_ns, c->window_ns},
		{"tokens are good, of", c->good_tokens, c->window_tokens},
		{"bytes of caches arrived, and of all traffic were acknowledged", c->cache_bytes,
		 c->fabric_bytes},
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		if (sums[i].in == sums[i].out)
			continue;
		snprintf(why, size, "%llu %s %llu", (unsigned long long)sums[i].in, sums[i].what,
			 (unsigned long long)sums[i].out);
		return false;
	}
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		if (bounds[i].part <= bounds[i].whole)
			continue;
		snprintf(why, size, "%llu %s %llu", (unsigned long long)bounds[i].part,
			 bounds[i].what, (unsigned long long)bounds[i].whole);
		return false;
	}
	return true;
}

/* Do its messages carry when they were due? Those of rounds are due when others have arrived. */
static bool audit_is_timed(const struct measured *m, const struct traffic_load *load,
			   unsigned index, const struct traffic_stream *streams)
{
	for (unsigned i = 0; i < m->n_streams; i++)
		if (streams[i].load == index &&
		    streams[i].slot_bytes < sizeof(struct message_header))
			return false;
	return !load->rounds;
}

void audit_count(struct audit_counts *c, const struct measured *m, const struct traffic_load *loads,
		 const struct traffic_stream *streams)
{
	for (unsigned i = 0; i < m->n_loads; i++) {
		const struct measured_load *load = &m->load[i];

		c->due += load->posted.n + load->unposted;
		c->unposted += load->unposted;
		c->completed += load->completed.n;
		if (audit_is_timed(m, &loads[i], i, streams)) {
			c->timed += load->posted.n + load->unposted;
			c->delivered += load->delivered.n;
		}
		if (loads[i].overlap < 2 && load->waited_ns > c->waited_ns)
			c->waited_ns = load->waited_ns;
	}
	c->window_ns = m->to_ns - m->from_ns > c->window_ns ? m->to_ns - m->from_ns : c->window_ns;
	c->sent_bytes += m->books.sent_bytes;
	c->received_bytes += m->books.bytes;
	if (PLANTED(lost_bytes))
		c->received_bytes -= 1;
}

int audit_measured(const struct measured *m, const struct topo *topo,
		   const struct traffic_stream *streams)
{
	int err = audit_books(&m->books);

	return err ? err : audit_rates(m, topo, streams);
}

static int audit_ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int audit_stalled(const struct measured *m, unsigned n_gpus, uint64_t *ns)
{
	uint64_t *sorted = calloc(n_gpus + 1, sizeof(*sorted)), middle;
	int worst = -1;

	*ns = 0;
	for (unsigned i = 0; sorted && i < n_gpus; i++) {
		sorted[i] = m->stall_ns[i];
		if (m->stall_ns[i] > *ns) {
			*ns = m->stall_ns[i];
			worst = (int)i;
		}
	}
	if (!sorted || n_gpus < 2) {
		free(sorted);
		return -1;
	}
	qsort(sorted, n_gpus, sizeof(*sorted), audit_ascending);
	middle = sorted[(n_gpus - 1) / 2];
	free(sorted);
	return *ns >= AUDIT_STALL_NS && *ns >= STALL_TIMES * middle ? worst : -1;
}
