/* SPDX-License-Identifier: BSD-2-Clause */
#include "event_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "fare_limits.h"

/* Of this layout: sizes are in it, so that another one is never taken for it. */
struct head {
	char magic[8];
	uint32_t slot_bytes, n_slots;
};

struct slot {
	struct event event;
	uint64_t seq_again; /* written last: both are the same in a slot that is whole */
};

struct event_file {
	int fd;
};

static const struct head head = {"FAREEVT", sizeof(struct slot), EVENTS_MAX};

static off_t offset_of(uint64_t seq)
{
	return (off_t)(sizeof(head) + seq % EVENTS_MAX * sizeof(struct slot));
}

/* ---- what is in it ------------------------------------------------------- */

static bool event_file_is_text(const char *text, size_t size)
{
	json_t *json = memchr(text, '\0', size) ? json_string(text) : NULL; /* UTF-8 alone */

	json_decref(json);
	return json != NULL;
}

static bool is_possible(const struct slot *s, uint64_t place)
{
	const struct event *e = &s->event;

	return e->seq && e->seq == s->seq_again && e->seq % EVENTS_MAX == place &&
	       e->seq < INT64_MAX - EVENTS_MAX && e->mono_ns <= INT64_MAX &&
	       e->wall_ns <= INT64_MAX && e->n && e->n <= INT32_MAX && e->plane >= -1 &&
	       e->plane < FARE_MAX_PLANES && e->priority >= LOG_EMERG && e->priority <= LOG_DEBUG &&
	       event_file_is_text(e->topic, sizeof(e->topic)) &&
	       event_file_is_text(e->subject, sizeof(e->subject)) &&
	       event_file_is_text(e->from, sizeof(e->from)) &&
	       event_file_is_text(e->to, sizeof(e->to)) &&
	       event_file_is_text(e->reason, sizeof(e->reason)) &&
	       event_file_is_text(e->evidence, sizeof(e->evidence));
}

/* The slot of that place, if it is whole and possible. */
static bool take_slot(const uint8_t *bytes, size_t length, uint64_t place, struct slot *out)
{
	size_t at = sizeof(head) + place * sizeof(*out);

	if (at > length || length - at < sizeof(*out))
		return false;
	memcpy(out, bytes + at, sizeof(*out));
	return is_possible(out, place);
}

bool event_file_parse(const uint8_t *bytes, size_t length,
		      void (*on_former)(void *arg, const struct event *event), void *arg)
{
	uint64_t newest = 0;
	struct slot slot;

	if (length < sizeof(head) || memcmp(bytes, &head, sizeof(head)))
		return false;
	for (uint64_t i = 0; i < EVENTS_MAX; i++)
		if (take_slot(bytes, length, i, &slot) && slot.event.seq > newest)
			newest = slot.event.seq;
	for (uint64_t seq = newest > EVENTS_MAX ? newest - EVENTS_MAX + 1 : 1; seq <= newest; seq++)
		if (take_slot(bytes, length, seq % EVENTS_MAX, &slot) && slot.event.seq == seq)
			on_former(arg, &slot.event);
	return true;
}

/* ---- the file ------------------------------------------------------------ */

static int begin_anew(int fd)
{
	ssize_t n;

	if (ftruncate(fd, 0))
		return -errno;
	n = pwrite(fd, &head, sizeof(head), 0);
	return n == sizeof(head) ? 0 : n < 0 ? -errno : -ENOSPC;
}

static int read_former(int fd, void (*on_former)(void *arg, const struct event *event), void *arg)
{
	size_t size = (size_t)offset_of(0) + EVENTS_MAX * sizeof(struct slot);
	uint8_t *bytes = malloc(size);
	ssize_t n = bytes ? pread(fd, bytes, size, 0) : 0;
	int rc = !bytes ? -ENOMEM : n < 0 ? -errno : 0;

	if (!rc && !event_file_parse(bytes, (size_t)n, on_former, arg))
		rc = begin_anew(fd);
	free(bytes);
	return rc;
}

/* That of a stranger may be one that he can change, or a pipe. */
static int check_file(int fd, uid_t uid)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    (st.st_uid && st.st_uid != geteuid() && st.st_uid != uid))
		return -EINVAL;
	/* as long as it is ours: CAP_FOWNER is not among the unit's capabilities */
	if ((st.st_mode & 07777) != 0600 && fchmod(fd, 0600))
		return -errno;
	return geteuid() == 0 && st.st_uid != uid && fchown(fd, uid, (gid_t)-1) ? -errno : 0;
}

int event_file_open(struct event_file **out, const char *run_dir, uid_t uid,
		    void (*on_former)(void *arg, const struct event *event), void *arg, char *why,
		    size_t why_size)
{
	struct event_file *f = calloc(1, sizeof(*f));
	char path[300];
	int rc;

	*out = NULL;
	snprintf(path, sizeof(path), "%s/" EVENT_FILE_NAME, run_dir);
	if (!f) {
		snprintf(why, why_size, "%s: %s", path, strerror(ENOMEM));
		return -ENOMEM;
	}
	f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	rc = f->fd < 0 ? -errno : check_file(f->fd, uid);
	if (!rc)
		rc = read_former(f->fd, on_former, arg);
	if (rc) {
		snprintf(why, why_size, "%s: %s", path,
			 rc == -EINVAL ? "not a file of ours; remove it" : strerror(-rc));
		event_file_close(f);
		return rc;
	}
	*out = f;
	return 0;
}

void event_file_close(struct event_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	free(f);
}

int event_file_put(struct event_file *f, const struct event *event)
{
	struct slot slot = {.seq_again = event->seq};
	ssize_t n;

	if (!f)
		return 0;
	slot.event = *event;
	n = pwrite(f->fd, &slot, sizeof(slot), offset_of(event->seq));
	return n == sizeof(slot) ? 0 : n < 0 ? -errno : -ENOSPC;
}
