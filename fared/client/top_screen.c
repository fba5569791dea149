/* SPDX-License-Identifier: BSD-2-Clause */
#include "top_screen.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define BAR_WIDTH  13u
#define MIN_EVENTS 3u

struct page {
	struct top_line *lines;
	unsigned n, width, height;
};

static void __attribute__((format(printf, 3, 4)))
put(struct page *p, enum top_style style, const char *format, ...)
{
	struct top_line *line = &p->lines[p->n];
	va_list args;

	if (p->n >= p->height)
		return;
	va_start(args, format);
	vsnprintf(line->text, p->width + 1, format, args);
	va_end(args);
	line->style = style;
	p->n++;
}

/* ---- cells --------------------------------------------------------------- */

#define CELL 32

static const char *gbps(double bps, char cell[CELL])
{
	snprintf(cell, CELL, "%.*f", bps < 1e10 ? 3 : 1, bps / 1e9);
	return cell;
}

static const char *percent(double ratio, char cell[CELL])
{
	if (ratio < 0)
		return "-";
	snprintf(cell, CELL, "%.1f%%", ratio * 100);
	return cell;
}

static const char *milliseconds(double s, char cell[CELL])
{
	if (s < 0)
		return "-";
	snprintf(cell, CELL, "%.2f", s * 1e3);
	return cell;
}

static const char *age(double s, char cell[CELL])
{
	unsigned long t = s > 0 ? (unsigned long)s : 0;

	if (t < 100)
		snprintf(cell, CELL, "%.1fs", s > 0 ? s : 0);
	else if (t < 6000)
		snprintf(cell, CELL, "%lum%02lus", t / 60, t % 60);
	else if (t < 360000)
		snprintf(cell, CELL, "%luh%02lum", t / 3600, t / 60 % 60);
	else
		snprintf(cell, CELL, "%lud%02luh", t / 86400, t / 3600 % 24);
	return cell;
}

/* '#': what went over the plane, '|': what should have, in the middle; full: twice that or more. */
static const char *bar(double share, double ideal, char cell[CELL])
{
	double filled = ideal > 0 ? share / ideal * BAR_WIDTH / 2 : share > 0 ? BAR_WIDTH : 0;

	if (share < 0)
		return "";
	for (unsigned i = 0; i < BAR_WIDTH; i++)
		cell[i] = i == BAR_WIDTH / 2 ? '|' : i + 0.5 < filled ? '#' : '.';
	cell[BAR_WIDTH] = 0;
	return cell;
}

/* ---- parts --------------------------------------------------------------- */

static void put_head(struct page *p, const struct top_model *m, const struct top_view *v)
{
	char up[CELL];

	put(p, TOP_TITLE, "fared %s on %s, up %s   %zu paths, %zu degraded%s   %s   every %.3g s",
	    m->version, m->node, age(m->uptime_s, up), m->n_paths, m->n_degraded,
	    v->paused ? "   PAUSED" : "", m->sources[0] ? m->sources : "no sources", v->interval_s);
	if (m->why[0])
		put(p, TOP_BAD, "%s", m->why);
}

static enum top_style plane_style(const struct top_plane *plane)
{
	if (!plane->live_sub_ports || (plane->paths && !plane->usable_paths))
		return TOP_BAD;
	return plane->live_sub_ports < plane->sub_ports || plane->usable_paths < plane->paths
		       ? TOP_WARN
		       : TOP_PLAIN;
}

/* What a narrow terminal cuts off is at the end: each line begins with what is wrong. */
static void put_planes(struct page *p, const struct top_model *m)
{
	put(p, TOP_HEAD, "%-8s %5s %6s %9s %10s %9s %6s %6s  %-*s %s", "GPU", "PLANE", "PORTS",
	    "PATHS", "LOCAL Gb/s", "SENT Gb/s", "SHARE", "IDEAL", (int)BAR_WIDTH, "SHARE : IDEAL",
	    "PORTS DOWN");
	for (size_t i = 0; i < m->n_planes; i++) {
		const struct top_plane *plane = &m->planes[i];
		char local[CELL], sent[CELL], share[CELL], ideal[CELL], paths[CELL], ports[CELL],
			bars[CELL];

		snprintf(paths, sizeof(paths), "%d/%d", plane->usable_paths, plane->paths);
		snprintf(ports, sizeof(ports), "%d/%d", plane->live_sub_ports, plane->sub_ports);
		put(p, plane_style(plane), "%-8.8s %5d %6s %9s %10s %9s %6s %6s  %-*s %s",
		    plane->gpu, plane->plane, ports, paths, gbps(plane->local_bps, local),
		    gbps(plane->tx_bps, sent), percent(plane->share, share),
		    percent(plane->ideal_share, ideal), (int)BAR_WIDTH,
		    bar(plane->share, plane->ideal_share, bars), plane->ports_down);
	}
}

static enum top_style path_style(const struct top_path *path)
{
	if (path->usable_bps <= 0)
		return path->drained ? TOP_WARN : TOP_BAD;
	return top_path_is_degraded(path) ? TOP_WARN : TOP_PLAIN;
}

/* Columns of GPUs' names and of peers' addresses. */
struct widths {
	int gpu, peer;
};

static struct widths widths_of(const struct top_model *m, size_t n)
{
	struct widths w = {(int)strlen("GPU"), (int)strlen("PEER")};

	for (size_t i = 0; i < n; i++) {
		int gpu = (int)strlen(m->paths[i].gpu), peer = (int)strlen(m->paths[i].peer);

		w.gpu = gpu > w.gpu ? gpu : w.gpu;
		w.peer = peer > w.peer ? peer : w.peer;
	}
	return w;
}

/* One that is degraded has its reason on a line of its own. */
static void put_path(struct page *p, const struct top_path *path, const struct widths *w)
{
	char usable[CELL], sent[CELL], loss[CELL], rtt[CELL], since[CELL];

	put(p, path_style(path), "%-*s %-*s %5d %-14.14s %8s %9s %7s %8s %8s", w->gpu, path->gpu,
	    w->peer, path->peer, path->plane, path->verdict, gbps(path->usable_bps, usable),
	    gbps(path->tx_bps, sent), percent(path->loss, loss), milliseconds(path->rtt_p99_s, rtt),
	    age(path->since_s, since));
	if (top_path_is_degraded(path))
		put(p, path_style(path), "%*s %s", w->gpu, "", path->reason);
}

/* Down to the line that events begin at. */
static void put_paths(struct page *p, const struct top_model *m, const struct top_view *v,
		      unsigned end)
{
	size_t n = v->all_paths ? m->n_paths : m->n_degraded, first = v->scroll < n ? v->scroll : 0;
	const struct widths w = widths_of(m, n);

	put(p, TOP_HEAD, "%-*s %-*s %5s %-14s %8s %9s %7s %8s %8s", w.gpu, "GPU", w.peer, "PEER",
	    "PLANE", "VERDICT", "USABLE", "SENT Gb/s", "LOSS", "RTT99 ms", "FOR");
	if (!n)
		put(p, TOP_GOOD, "%s",
		    m->n_paths ? "every path carries what its local sub-ports do" : "no peers yet");
	for (size_t i = first; i < n && p->n < end; i++) {
		if (p->n + 2 >= end && i + 1 < n) {
			put(p, TOP_HEAD, "... %zu more", n - i);
			break;
		}
		put_path(p, &m->paths[i], &w);
	}
}

static void put_events(struct page *p, const struct top_model *m)
{
	if (m->n_events)
		put(p, TOP_HEAD, "EVENTS");
	for (size_t i = 0; i < m->n_events; i++) {
		time_t at = (time_t)m->events[i].wall_s;
		char clock[CELL] = "";
		struct tm tm;

		if (localtime_r(&at, &tm))
			strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
		put(p, TOP_PLAIN, "%s  %s", clock, m->events[i].text);
	}
}

unsigned top_screen(const struct top_model *m, const struct top_view *v, struct top_line *lines)
{
	struct page p = {lines, 0, v->width < TOP_MAX_WIDTH ? v->width : TOP_MAX_WIDTH, v->height};
	unsigned events = m->n_events < MIN_EVENTS ? (unsigned)m->n_events : MIN_EVENTS;

	put_head(&p, m, v);
	put_planes(&p, m);
	put(&p, TOP_PLAIN, "%s", "");
	put_paths(&p, m, v, v->height > events + 2 ? v->height - events - 2 : 0);
	put(&p, TOP_PLAIN, "%s", "");
	put_events(&p, m);
	return p.n;
}
