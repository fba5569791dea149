/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* "model name" of the first processor. */
static void machine_processor(char *out, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(out, size, "unknown");
	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !colon)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(out, size, "%s", colon + 2);
		break;
	}
	if (file)
		fclose(file);
}

/* The words of the command line; those a shell would take apart stand in quotes. For reading. */
static void machine_command(char *out, size_t size)
{
	FILE *file = fopen("/proc/self/cmdline", "re");
	char line[1024], *arg = line;
	size_t n = file ? fread(line, 1, sizeof(line) - 1, file) : 0, used = 0;

	if (file)
		fclose(file);
	snprintf(out, size, "unknown");
	line[n] = '\0';
	for (; arg < line + n; arg += strlen(arg) + 1) {
		const char *quote =
			strpbrk(arg, " \t\n\"'$`\\*?&;|<>(){}[]!#~") || !*arg ? "'" : "";
		int length = snprintf(out + used, size - used, "%s%s%s%s", used ? " " : "", quote,
				      arg, quote);

		if (length < 0 || (size_t)length >= size - used) {
			snprintf(out + size - 4, 4, "...");
			return;
		}
		used += (size_t)length;
	}
}

uint64_t machine_memory_available(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kb = 0;
	char line[256];

	while (file && !kb && fgets(line, sizeof(line), file))
		sscanf(line, "MemAvailable: %llu kB", &kb);
	if (file)
		fclose(file);
	return kb * 1024;
}

void machine_read(struct machine *machine)
{
	struct utsname name;
	time_t now = time(NULL);
	cpu_set_t set;
	struct tm tm;

	snprintf(machine->kernel, sizeof(machine->kernel), "%s",
		 uname(&name) ? "unknown" : name.release);
	machine_processor(machine->processor, sizeof(machine->processor));
	machine->cores = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	machine_command(machine->command, sizeof(machine->command));
	strftime(machine->started, sizeof(machine->started), "%Y-%m-%d %H:%M:%S UTC",
		 gmtime_r(&now, &tm));
}
