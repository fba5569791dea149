/* SPDX-License-Identifier: BSD-2-Clause */
#include "fabric/pauses.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/command.h"

#define PAUSES_COMMAND_MS 60000

static int pauses_add(struct pauses *all, json_t *object)
{
	struct pauses_port *port = &all->port[all->n];
	json_int_t sent, received, storms, dropped, held, peak, reactions;
	double paused_ms, mean_us, max_us;
	const char *host, *dev;
	int paused;

	if (json_unpack(object, "{s:s, s:s, s:I, s:I, s:F, s:b, s:I, s:I, s:I, s:I, s:I, s:F, s:F}",
			"host", &host, "dev", &dev, "tx_pauses", &sent, "rx_pauses", &received,
			"paused_ms", &paused_ms, "paused", &paused, "storms", &storms,
			"headroom_drops", &dropped, "buffered_bytes", &held, "buffered_peak_bytes",
			&peak, "reactions", &reactions, "reaction_mean_us", &mean_us,
			"reaction_max_us", &max_us) ||
	    sent < 0 || received < 0 || storms < 0 || dropped < 0 || reactions < 0 ||
	    (size_t)snprintf(port->name, sizeof(port->name), "%s/%s", host, dev) >=
		    sizeof(port->name))
		return -EBADMSG;
	port->is_server = host[0] == 's' && host[1] != 'p';
	port->sent = (uint64_t)sent;
	port->received = (uint64_t)received;
	port->paused_s = paused_ms / 1e3;
	port->paused = paused != 0;
	all->n++;
	all->sent += port->sent;
	all->storms += (uint64_t)storms;
	all->dropped += (uint64_t)dropped;
	all->held_bytes += held > 0 ? (uint64_t)held : 0;
	all->peak_bytes =
		peak > 0 && (uint64_t)peak > all->peak_bytes ? (uint64_t)peak : all->peak_bytes;
	all->paused += port->paused;
	all->reactions += (uint64_t)reactions;
	all->reaction_mean_us += mean_us * (double)reactions; /* a sum until all are there */
	all->reaction_max_us = fmax(all->reaction_max_us, max_us);
	return 0;
}

int pauses_parse(struct pauses *out, const char *text)
{
	json_t *root = json_loads(text, 0, NULL), *ports = json_object_get(root, "ports"), *port;
	json_int_t xoff = 0, xon = 0;
	int err = json_is_array(ports) &&
				  !json_unpack(root, "{s:I, s:I}", "xoff_bytes", &xoff, "xon_bytes",
					       &xon) &&
				  xoff > 0 && xon >= 0
			  ? 0
			  : -EBADMSG;
	size_t i;

	*out = (struct pauses){.port = calloc(json_array_size(ports) + 1, sizeof(*out->port)),
			       .xoff_bytes = (uint64_t)xoff,
			       .xon_bytes = (uint64_t)xon};
	if (!out->port)
		err = -ENOMEM;
	json_array_foreach (ports, i, port)
		if (!err)
			err = pauses_add(out, port);
	json_decref(root);
	if (out->reactions)
		out->reaction_mean_us /= (double)out->reactions;
	if (err)
		pauses_fini(out);
	return err;
}

int pauses_read(struct pauses *out, const struct lab *lab)
{
	const char *argv[] = {lab->farelab, "pfc", lab->name, "--json", NULL};
	char *text;
	int err = command_check(argv, PAUSES_COMMAND_MS, &text);

	if (err)
		return err;
	err = pauses_parse(out, text);
	free(text);
	if (err)
		fprintf(stderr, "farebench: farelab pfc: not what is expected\n");
	return err;
}

void pauses_fini(struct pauses *p)
{
	free(p->port);
	*p = (struct pauses){0};
}

static int pauses_set(const struct lab *lab, const char *what, uint64_t value)
{
	char number[24];
	const char *args[] = {what, number, NULL};

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	return lab_do(lab, "pfc", args);
}

int pauses_set_headroom(const struct lab *lab, uint64_t bytes)
{
	return pauses_set(lab, "headroom", bytes);
}

int pauses_set_xoff(const struct lab *lab, uint64_t bytes)
{
	return pauses_set(lab, "xoff", bytes);
}

int pauses_set_watchdog(const struct lab *lab, uint64_t ms)
{
	return pauses_set(lab, "watchdog", ms);
}
