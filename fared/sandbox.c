/* SPDX-License-Identifier: BSD-2-Clause */
#include "sandbox.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Whatever their arguments. */
static const int calls[] = {
	/* probes and the loop */
	SCMP_SYS(sendmmsg), SCMP_SYS(recvmmsg), SCMP_SYS(sendmsg), SCMP_SYS(recvmsg),
	SCMP_SYS(sendto), SCMP_SYS(recvfrom), SCMP_SYS(pread64), SCMP_SYS(pwrite64), SCMP_SYS(read),
	SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(close), SCMP_SYS(poll),
	SCMP_SYS(ppoll), SCMP_SYS(select), SCMP_SYS(pselect6), SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait), SCMP_SYS(epoll_pwait2), SCMP_SYS(epoll_ctl), SCMP_SYS(epoll_create1),
	SCMP_SYS(eventfd2), SCMP_SYS(timerfd_create), SCMP_SYS(timerfd_settime),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday), SCMP_SYS(restart_syscall),
	/* connections */
	SCMP_SYS(connect), SCMP_SYS(bind), SCMP_SYS(listen), SCMP_SYS(accept4), SCMP_SYS(shutdown),
	SCMP_SYS(getsockname), SCMP_SYS(getpeername), SCMP_SYS(getsockopt), SCMP_SYS(setsockopt),
	/* files: sysfs, /proc, the configuration, the run directory; clients' memfds */
	SCMP_SYS(openat), SCMP_SYS(open), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(stat),
	SCMP_SYS(statx), SCMP_SYS(fstatfs), SCMP_SYS(lseek), SCMP_SYS(fcntl), SCMP_SYS(fallocate),
	SCMP_SYS(unlink), SCMP_SYS(unlinkat), SCMP_SYS(rename), SCMP_SYS(renameat),
	SCMP_SYS(renameat2), SCMP_SYS(fchmod), SCMP_SYS(fchown), SCMP_SYS(lstat), SCMP_SYS(pipe2),
	/* memory; mapping it has conditions, see below */
	SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(mincore),
	/* threads, signals, the end */
	SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq), SCMP_SYS(sched_yield),
	SCMP_SYS(membarrier), SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(exit), SCMP_SYS(exit_group),
	/* what libc asks now and then, each release something else: it changes nothing */
	SCMP_SYS(getrandom), SCMP_SYS(sysinfo), SCMP_SYS(uname), SCMP_SYS(getrusage),
	SCMP_SYS(times), SCMP_SYS(time), SCMP_SYS(clock_getres), SCMP_SYS(timerfd_gettime),
	SCMP_SYS(getcpu), SCMP_SYS(sched_getaffinity), SCMP_SYS(sched_getscheduler),
	SCMP_SYS(sched_getparam), SCMP_SYS(getpid), SCMP_SYS(getppid), SCMP_SYS(gettid),
	SCMP_SYS(getuid), SCMP_SYS(geteuid), SCMP_SYS(getgid), SCMP_SYS(getegid),
	SCMP_SYS(getgroups), SCMP_SYS(getcwd), SCMP_SYS(access), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getdents64),
	SCMP_SYS(statfs), SCMP_SYS(dup), SCMP_SYS(dup3)};

static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};

static const unsigned long requests[] = {SIOCGIFINDEX, SIOCGIFNAME, SIOCGIFHWADDR, SIOCGIFFLAGS,
					 SIOCETHTOOL,  TCGETS,	    FIONREAD};

/* Allows a call whose argument compares so: equal to a; or, masked with a, equal to b. */
static int allow_if(scmp_filter_ctx filter, int call, unsigned argument, enum scmp_compare op,
		    scmp_datum_t a, scmp_datum_t b)
{
	const struct scmp_arg_cmp cmp = {argument, op, a, b};

	return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &cmp);
}

static int allow_calls(scmp_filter_ctx filter)
{
	int rc = 0;

	for (size_t i = 0; i < COUNT(calls) && !rc; i++)
		if (calls[i] >= 0) /* else this processor has no such call */
			rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
	for (size_t i = 0; i < COUNT(families) && !rc; i++)
		rc = allow_if(filter, SCMP_SYS(socket), 0, SCMP_CMP_EQ, (scmp_datum_t)families[i],
			      0);
	for (size_t i = 0; i < COUNT(requests) && !rc; i++)
		rc = allow_if(filter, SCMP_SYS(ioctl), 1, SCMP_CMP_EQ, requests[i], 0);
	return rc;
}

/*
 * Memory that cannot be executed; threads, not processes; limits may be read; abort() may end us.
 */
static int allow_with_conditions(scmp_filter_ctx filter)
{
	int rc = allow_if(filter, SCMP_SYS(mmap), 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);

	if (!rc)
		rc = allow_if(filter, SCMP_SYS(mprotect), 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	if (!rc)
		rc = allow_if(filter, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, CLONE_THREAD,
			      CLONE_THREAD);
	if (!rc) /* its flags are in memory, out of a filter's sight: libc falls back to clone */
		rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	if (!rc)
		rc = allow_if(filter, SCMP_SYS(prlimit64), 2, SCMP_CMP_EQ, 0, 0);
	if (!rc)
		rc = allow_if(filter, SCMP_SYS(tgkill), 0, SCMP_CMP_EQ, (scmp_datum_t)getpid(), 0);
	return rc;
}

int sandbox_mode_parse(const char *name, enum sandbox_mode *out)
{
	static const char *const names[] = {
		[SANDBOX_KILL] = "kill", [SANDBOX_LOG] = "log", [SANDBOX_OFF] = "off"};

	for (size_t i = 0; i < COUNT(names); i++)
		if (!strcmp(names[i], name)) {
			*out = (enum sandbox_mode)i;
			return 0;
		}
	return -EINVAL;
}

int sandbox_enter(enum sandbox_mode mode, char *why, size_t why_size)
{
	scmp_filter_ctx filter;
	int rc;

	if (mode == SANDBOX_OFF || SANDBOX_IS_SANITIZED)
		return 0;
	filter = seccomp_init(mode == SANDBOX_LOG ? SCMP_ACT_LOG : SCMP_ACT_KILL_PROCESS);
	rc = filter ? 0 : -ENOMEM;
	if (!rc)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	/* calls of another architecture: the default would end one thread and leave the rest */
	if (!rc && mode == SANDBOX_KILL)
		rc = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	if (!rc) /* a tree, not a list: a probe costs a few calls */
		rc = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!rc)
		rc = allow_calls(filter);
	if (!rc)
		rc = allow_with_conditions(filter);
	if (!rc)
		rc = seccomp_load(filter);
	seccomp_release(filter);
	if (rc)
		snprintf(why, why_size, "seccomp: %s", strerror(-rc));
	return rc;
}
