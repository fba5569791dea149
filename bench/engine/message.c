/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/message.h"

#include <string.h>

#include "engine/crew.h"
#include "engine/pattern.h"

#define MESSAGE_PART (256u << 10) /* less is done before another thread is awake */
#define MESSAGE_STEP 64u	  /* parts begin at multiples: no two threads write a line */

/* A pattern, cut for the threads of a crew. */
struct message_job {
	uint8_t *fill; /* NULL: to be compared */
	const uint8_t *data;
	size_t bytes, each;
	uint64_t seed;
	struct {
		size_t good;
		uint64_t proof;
	} part[CREW_MAX];
};

static void message_part(void *arg, unsigned i)
{
	struct message_job *job = arg;
	size_t at = i * job->each < job->bytes ? i * job->each : job->bytes,
	       n = job->bytes - at < job->each ? job->bytes - at : job->each;
	uint64_t seed = pattern_seed_at(job->seed, at);

	if (job->fill)
		pattern_fill(job->fill + at, n, seed);
	else
		job->part[i].good =
			at + pattern_verify(job->data + at, n, seed, &job->part[i].proof);
}

static void message_share(struct crew *crew, struct message_job *job)
{
	size_t lines = (job->bytes + MESSAGE_STEP - 1) / MESSAGE_STEP, n = crew_threads(crew);

	job->each = (lines + n - 1) / n * MESSAGE_STEP;
	crew_run(crew, message_part, job);
}

static void message_fill_pattern(void *buf, size_t bytes, uint64_t seed, struct crew *crew)
{
	struct message_job job = {.fill = buf, .bytes = bytes, .seed = seed};

	if (crew_threads(crew) == 1 || bytes < crew_threads(crew) * MESSAGE_PART)
		pattern_fill(buf, bytes, seed);
	else
		message_share(crew, &job);
}

static size_t message_verify_pattern(const void *buf, size_t bytes, uint64_t seed, uint64_t *proof,
				     struct crew *crew)
{
	struct message_job job = {.data = buf, .bytes = bytes, .seed = seed};

	if (crew_threads(crew) == 1 || bytes < crew_threads(crew) * MESSAGE_PART)
		return pattern_verify(buf, bytes, seed, proof);
	message_share(crew, &job);
	for (unsigned i = 0; i < crew_threads(crew); i++)
		if (job.part[i].good < bytes && job.part[i].good < (i + 1) * job.each)
			return job.part[i].good;
	for (unsigned i = 0; i < crew_threads(crew); i++)
		*proof += job.part[i].proof;
	return bytes;
}

void message_fill(void *buf, size_t bytes, const struct message_header *header, struct crew *crew)
{
	if (bytes < sizeof(*header)) {
		pattern_fill(buf, bytes, header->seed);
		return;
	}
	message_stamp(buf, bytes, header);
	if (header->whole)
		message_fill_pattern((char *)buf + sizeof(*header), bytes - sizeof(*header),
				     header->seed, crew);
}

void message_stamp(void *buf, size_t bytes, const struct message_header *header)
{
	if (bytes >= sizeof(*header))
		memcpy(buf, header, sizeof(*header));
}

size_t message_verify(const void *buf, size_t bytes, uint64_t seed, bool whole,
		      struct message_header *header, uint64_t *proof, struct crew *crew)
{
	size_t good, at = sizeof(*header);

	memset(header, 0, sizeof(*header));
	if (bytes < at)
		return pattern_verify(buf, bytes, seed, proof);
	memcpy(header, buf, at);
	if (header->seed != seed || header->whole != whole)
		return 0;
	if (whole) {
		good = message_verify_pattern((const char *)buf + at, bytes - at, seed, proof,
					      crew);
		if (good != bytes - at)
			return at + good;
	}
	*proof += header->seed;
	return bytes;
}

uint64_t message_proof(size_t bytes, uint64_t seed, bool whole)
{
	if (bytes < sizeof(struct message_header))
		return pattern_proof(bytes, seed);
	return seed + (whole ? pattern_proof(bytes - sizeof(struct message_header), seed) : 0);
}
