/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/cpu.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

int cpu_parse(struct cpu_times *out, const char *text)
{
	out->n_cores = 0;
	out->at_s = 0;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t user, nice, system, idle, iowait, irq, softirq, steal;
		unsigned core;

		line += *line == '\n';
		/* "cpu0 ...": the sum over cores, "cpu  ...", is passed over */
		if (sscanf(line,
			   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64 " %" SCNu64 " %" SCNu64,
			   &core, &user, &nice, &system, &idle, &iowait, &irq, &softirq,
			   &steal) != 9 ||
		    strncmp(line, "cpu ", 4) == 0)
			continue;
		if (out->n_cores == CPU_MAX_CORES)
			break;
		out->idle[out->n_cores] = idle + iowait;
		out->stolen[out->n_cores] = steal;
		out->all[out->n_cores++] =
			user + nice + system + idle + iowait + irq + softirq + steal;
	}
	return out->n_cores ? 0 : -EBADMSG;
}

int cpu_read(struct cpu_times *out)
{
	int err, fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
	char text[65536];
	size_t used = 0;
	ssize_t n = 0;

	if (fd < 0)
		return -errno;
	while (used < sizeof(text) - 1 && (n = read(fd, text + used, sizeof(text) - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	if (n < 0)
		return -EIO;
	text[used] = '\0';
	err = cpu_parse(out, text);
	out->at_s = clock_now_s();
	return err;
}

int cpu_idle(const struct cpu_times *before, const struct cpu_times *after, struct cpu_idle *out)
{
	double ticks = (after->at_s - before->at_s) * (double)sysconf(_SC_CLK_TCK);
	double idle_sum = 0, stolen_sum = 0, all_sum = 0;

	if (before->n_cores != after->n_cores)
		return -ERANGE;
	out->busiest_core_percent = 100;
	for (uint32_t i = 0; i < after->n_cores; i++) {
		double idle = (double)(after->idle[i] - before->idle[i]),
		       all = (double)(after->all[i] - before->all[i]), percent;

		if (after->all[i] <= before->all[i] || after->idle[i] < before->idle[i] ||
		    after->stolen[i] < before->stolen[i])
			return -ERANGE;
		all = all > ticks ? all : ticks;
		percent = 100.0 * idle / all;
		if (percent < out->busiest_core_percent)
			out->busiest_core_percent = percent;
		idle_sum += idle;
		stolen_sum += (double)(after->stolen[i] - before->stolen[i]);
		all_sum += all;
	}
	out->mean_percent = 100.0 * idle_sum / all_sum;
	out->stolen_percent = 100.0 * stolen_sum / all_sum;
	return 0;
}

int cpu_idle_since(const struct cpu_times *before, struct cpu_idle *out)
{
	struct cpu_times after;
	int err = cpu_read(&after);

	return err ? err : cpu_idle(before, &after, out);
}

double cpu_stolen_percent(const struct cpu_times *before)
{
	struct cpu_idle idle;

	return cpu_idle_since(before, &idle) ? -1 : idle.stolen_percent;
}

double cpu_of_process(int pid)
{
	unsigned long user = 0, system = 0;
	char path[64], text[1024] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(text, sizeof(text), f) && strrchr(text, ')'))
		sscanf(strrchr(text, ')') + 1,
		       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
	fclose(f);
	return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}
