/* SPDX-License-Identifier: BSD-2-Clause */
/* failover_fault.c - faults that begin at a known moment (failover.h) */
#include "resilience/failover.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/cluster.h"
#include "core/realtime.h"

struct times {
	uint64_t done_ns, over_ns;
	int rc;
};

static int write_forwarding(const char *path, bool on, bool may_lack)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return may_lack && errno == ENOENT ? 0 : -errno;
	rc = write(fd, on ? "1" : "0", 1) == 1 ? 0 : -errno;
	close(fd);
	return rc;
}

/* device NULL: the whole leaf. */
static int set_forwarding(const char *device, bool on)
{
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv4/conf/%.15s/forwarding",
		 device ? device : "all");
	rc = write_forwarding(path, on, false);
	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%.15s/forwarding",
		 device ? device : "all");
	return rc ? rc : write_forwarding(path, on, true);
}

static int failover_fault_set_up(int fd, const char *device, bool up)
{
	struct ifreq request = {0};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%.15s", device);
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		return -errno;
	request.ifr_flags = (short)(up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
	return ioctl(fd, SIOCSIFFLAGS, &request) ? -errno : 0;
}

static int do_links(const struct failover_fault *fault, bool on, struct times *times)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	times->done_ns = clock_now_ns();
	for (unsigned i = 0; !rc && i < fault->n_devices; i++)
		rc = failover_fault_set_up(fd, fault->device[i], !on);
	close(fd);
	return rc;
}

static int do_forwarding(const struct failover_fault *fault, bool on)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < fault->n_devices; i++)
		rc = set_forwarding(fault->device[i], !on);
	return fault->n_devices ? rc : set_forwarding(NULL, !on);
}

static void child(const struct failover_fault *fault, bool on, struct times *times)
{
	times->rc = lab_enter(fault->leaf_netns);
	if (!times->rc && fault->kind == FAILOVER_LINKS)
		times->rc = do_links(fault, on, times);
	if (!times->rc && fault->kind == FAILOVER_FORWARDING) {
		times->done_ns = clock_now_ns();
		times->rc = do_forwarding(fault, on);
		for (unsigned i = 0; on && !times->rc && i < fault->cycles; i++) {
			clock_sleep_until(times->done_ns + i * fault->period_ns +
					  fault->period_ns / 2);
			times->rc = do_forwarding(fault, false);
			if (times->rc || i + 1 == fault->cycles)
				break;
			clock_sleep_until(times->done_ns + (i + 1) * fault->period_ns);
			times->rc = do_forwarding(fault, true);
		}
	}
	times->over_ns = clock_now_ns();
}

static int in_namespace(const struct failover_fault *fault, bool on, struct times *times)
{
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_TIMERSLACK, 1000);
		/*
		 * the kernel takes a link down in steps; a cable that is cut does not wait for a
		 * core between them
		 */
		if (realtime_take())
			fprintf(stderr, "farebench failover: no real-time priority: faults may "
					"happen milliseconds late\n");
		child(fault, on, times);
		_exit(write(ends[1], times, sizeof(*times)) != sizeof(*times));
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], times, sizeof(*times)) != sizeof(*times))
		times->rc = pid < 0 ? -EAGAIN : -EIO;
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return times->rc;
}

int failover_fault_do(const struct failover_fault *fault, const struct lab *lab, bool on,
		      uint64_t *done_ns, uint64_t *over_ns)
{
	struct times times = {.done_ns = clock_now_ns()};
	const char *spec = on ? fault->spec_on : fault->spec_off;
	bool by_hand = fault->kind == FAILOVER_LINKS || fault->kind == FAILOVER_FORWARDING;
	char verb[16] = "";
	int rc = 0;

	if (by_hand && (on || (!fault->cycles && !*spec)))
		rc = in_namespace(fault, on, &times);
	if (!rc && fault->kind == FAILOVER_KILL && on)
		rc = fault->pid > 0 && !kill(fault->pid, SIGKILL) ? 0 : -ESRCH;
	if (!rc && *spec && sscanf(spec, "%15s", verb) == 1)
		rc = lab_do_text(lab, verb, spec + strlen(verb));
	*done_ns = times.done_ns;
	*over_ns = times.over_ns ? times.over_ns : clock_now_ns();
	return rc;
}

int failover_fault_undo(const struct failover_fault *fault, const struct lab *lab)
{
	struct failover_fault whole = *fault;
	uint64_t done_ns, over_ns;

	whole.cycles = 0;
	return failover_fault_do(&whole, lab, false, &done_ns, &over_ns);
}
