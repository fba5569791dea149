/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

void progress_init(struct progress *progress, unsigned total)
{
	*progress = (struct progress){
		.terminal = isatty(STDERR_FILENO), .start_ns = clock_now_ns(), .total = total};
}

double progress_seconds(const struct progress *progress)
{
	return (double)(clock_now_ns() - progress->start_ns) / 1e9;
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
