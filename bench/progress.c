/* SPDX-License-Identifier: BSD-2-Clause */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static uint64_t progress_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_init(struct progress *progress, unsigned total)
{
	*progress = (struct progress){
		.terminal = isatty(STDERR_FILENO), .start_ns = progress_now_ns(), .total = total};
}

double progress_seconds(const struct progress *progress)
{
	return (double)(progress_now_ns() - progress->start_ns) / 1e9;
}

void progress_step(struct progress *progress, const char *format, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	progress->done++;
	fprintf(stderr,
		progress->terminal ? "\r\033[K[%3u/%u %4.0f s] %s" : "[%3u/%u %4.0f s] %s\n",
		progress->done, progress->total, progress_seconds(progress), text);
	fflush(stderr);
}

void progress_fini(struct progress *progress)
{
	if (progress->terminal)
		fputs("\r\033[K", stderr);
}
