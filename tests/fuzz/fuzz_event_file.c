/* links: fared_core; parses: fared/event_file.c */
/* SPDX-License-Identifier: BSD-2-Clause */
/* An event file from an adversary: what is handed out is in order, and can be told as JSON. */
#include <stdint.h>
#include <stdlib.h>

#include "event_file.h"
#include "report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_former(void *arg, const struct event *event)
{
	json_t *json = report_event(event);
	uint64_t *last = arg;

	if (!json || event->seq <= *last)
		abort();
	*last = event->seq;
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t last = 0;

	event_file_parse(data, size, on_former, &last);
	return 0;
}
