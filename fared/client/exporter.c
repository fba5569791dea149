/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * exporter.c - fared-exporter: the daemon's state for Prometheus, over HTTP.
 *
 * A process of its own, without privileges, so that no HTTP is served where probes are sent. A
 * scrape asks the daemon over its control socket, on the one thread that there is, at most once a
 * second: scrapers wait for each other.
 */
#include <errno.h>
#include <getopt.h>
#include <microhttpd.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "control_client.h"
#include "metrics.h"
#include "snapshot.h"

#define DEFAULT_LISTEN	"127.0.0.1:9795"
#define MAX_CONNECTIONS 16
#define IDLE_TIMEOUT_S	10
#define KEPT_S		1. /* scrapes within it get the same answer: the daemon is asked once */

struct exporter {
	const char *run_dir;
	bool by_path;
	char *text; /* of the last scrape; NULL: none */
	size_t bytes;
	double at_s;
};

static const char help[] =
	"usage: fared-exporter [-s RUN_DIR] [-l ADDRESS:PORT] [-p] [-o]\n"
	"\n"
	"Answers GET /metrics with what fared knows, as OpenMetrics text.\n"
	"\n"
	"  -l, --listen ADDRESS:PORT  where it listens (default " DEFAULT_LISTEN
	"; [ADDRESS]:PORT for IPv6)\n"
	"  -p, --paths                series of each path as well: 17 for each peer and plane\n"
	"  -s, --socket-dir RUN_DIR   the daemon's run directory (default " CONTROL_CLIENT_RUN_DIR
	")\n"
	"  -o, --once                 print the metrics and exit\n"
	"  -V, --version              print the version and exit\n"
	"  -h, --help                 print this and exit\n"
	"\n"
	"It must be in the group that may ask the daemon (fared.yaml(5), group). While the daemon "
	"is "
	"away,\n"
	"fared_up is 0 and the reason is on stderr.\n"
	"Exit status: 0 ended by a signal; 1 it cannot listen there (--once: the daemon did not "
	"answer, or it cannot write);\n"
	"2 wrong usage. See fared-exporter(8).\n";

/* A line with its priority as journald reads it; on a terminal without. */
__attribute__((format(printf, 2, 3))) static void exporter_log(int priority, const char *format,
							       ...)
{
	char line[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "fared-exporter: %s\n", line);
	else
		fprintf(stderr, "<%d>fared-exporter: %s\n", priority, line);
}

/* ---- one scrape ---------------------------------------------------------- */

/* What pages of paths go into. */
struct scrape {
	struct path_totals totals;
	struct metrics_paths *paths; /* NULL: no series by path */
};

static void exporter_on_paths(void *arg, const json_t *planes, const json_t *rows)
{
	struct scrape *to = arg;

	path_totals_add(&to->totals, planes, rows);
	if (to->paths)
		metrics_paths_add(to->paths, rows);
}

/* What the daemon says. 0, or -EREMOTEIO if it did not answer. */
static int ask_daemon(const struct exporter *e, struct snapshot *s, struct scrape *to)
{
	const struct snapshot_pages pages = {exporter_on_paths, to};
	int err = snapshot_take(s, e->run_dir, SNAPSHOT_PATHS | SNAPSHOT_QPS | SNAPSHOT_COUNTERS, 0,
				&pages);

	path_totals_end(&to->totals, json_object_get(s->planes, "planes"), s->qp_sums);
	if (s->why[0])
		exporter_log(4, "%s", s->why);
	if (s->has_more_qps)
		exporter_log(4, "more than %d QPs: there are no metrics of them", SNAPSHOT_MAX_QPS);
	return err;
}

/* Text from malloc(), or NULL (out of memory). *answered: the daemon did. */
static char *scrape(const struct exporter *e, size_t *bytes, bool *answered)
{
	struct snapshot snapshot;
	struct scrape to = {.paths = NULL};
	char *text = NULL;
	FILE *file;

	if (e->by_path && metrics_paths_create(&to.paths))
		return NULL;
	path_totals_init(&to.totals);
	*answered = !ask_daemon(e, &snapshot, &to);
	file = open_memstream(&text, bytes);
	if (file) {
		metrics_write(file, &snapshot, &to.totals, to.paths);
		fclose(file);
	}
	snapshot_free(&snapshot);
	path_totals_fini(&to.totals);
	metrics_paths_destroy(to.paths);
	return text;
}

/* The answer of less than a second ago, or a new one; it stays the exporter's. false: no memory. */
static bool refresh(struct exporter *e)
{
	double now = clock_now_s();
	bool answered;

	if (e->text && now < e->at_s + KEPT_S)
		return true;
	free(e->text);
	e->text = scrape(e, &e->bytes, &answered);
	e->at_s = clock_now_s();
	return e->text;
}

/* ---- HTTP ---------------------------------------------------------------- */

static enum MHD_Result reply(struct MHD_Connection *connection, unsigned status, const char *type,
			     char *text, size_t bytes, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(bytes, text, mode);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result exporter_refuse(struct MHD_Connection *connection, unsigned status,
				       const char *why)
{
	return reply(connection, status, "text/plain; charset=utf-8", (char *)(uintptr_t)why,
		     strlen(why), MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result exporter_on_request(void *arg, struct MHD_Connection *connection,
					   const char *url, const char *method, const char *version,
					   const char *upload, size_t *upload_bytes, void **request)
{
	struct exporter *e = arg;

	(void)version, (void)upload, (void)request;
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return exporter_refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
	if (*upload_bytes)
		return MHD_NO;
	if (strcmp(url, "/metrics"))
		return exporter_refuse(connection, MHD_HTTP_NOT_FOUND,
				       "the metrics are at /metrics\n");
	if (!refresh(e))
		return MHD_NO;
	return reply(connection, MHD_HTTP_OK, METRICS_CONTENT_TYPE, e->text, e->bytes,
		     MHD_RESPMEM_MUST_COPY);
}

/* "ADDRESS:PORT" or "[ADDRESS]:PORT"; numbers only, so that no resolver is asked. 0 or -EINVAL. */
static int parse_listen(const char *text, struct sockaddr_storage *out)
{
	const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				       .ai_socktype = SOCK_STREAM};
	const char *colon = strrchr(text, ':');
	struct addrinfo *found;
	char host[64];
	size_t n;

	if (!colon || colon == text)
		return -EINVAL;
	n = (size_t)(colon - text);
	if (*text == '[' && colon[-1] == ']')
		text++, n -= 2;
	if (n >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, n);
	host[n] = 0;
	if (getaddrinfo(host, colon + 1, &hints, &found))
		return -EINVAL;
	memcpy(out, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	return 0;
}

static int serve(struct exporter *e, const char *listen_at, const struct sockaddr_storage *at)
{
	unsigned flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_ERROR_LOG |
			 (at->ss_family == AF_INET6 ? MHD_USE_IPv6 : 0);
	struct MHD_Daemon *http;
	sigset_t ends;
	int got;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	pthread_sigmask(SIG_BLOCK, &ends, NULL); /* before the other thread is made */
	http = MHD_start_daemon(flags, 0, NULL, NULL, exporter_on_request, e, MHD_OPTION_SOCK_ADDR,
				at, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
				MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)16384, MHD_OPTION_END);
	if (!http) {
		exporter_log(3, "cannot listen at %s: %s", listen_at, strerror(errno));
		return 1;
	}
	exporter_log(6, "listening at %s", listen_at);
	sigwait(&ends, &got);
	MHD_stop_daemon(http);
	free(e->text);
	return 0;
}

static int print_once(const struct exporter *e)
{
	bool answered = false, written;
	size_t bytes = 0;
	char *text = scrape(e, &bytes, &answered);

	written = text && fwrite(text, 1, bytes, stdout) == bytes && !fflush(stdout);
	if (text && !written)
		fprintf(stderr, "fared-exporter: stdout: %s\n", strerror(errno));
	free(text);
	return answered && written ? 0 : 1;
}

static int exporter_usage(const char *problem)
{
	fprintf(stderr, "fared-exporter: %s; fared-exporter --help lists the options\n", problem);
	return 2;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{"listen", required_argument, NULL, 'l'},
		{"socket-dir", required_argument, NULL, 's'},
		{"once", no_argument, NULL, 'o'},
		{"paths", no_argument, NULL, 'p'},
		{"version", no_argument, NULL, 'V'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	struct exporter e = {.run_dir = CONTROL_CLIENT_RUN_DIR};
	const char *listen_at = DEFAULT_LISTEN;
	struct sockaddr_storage at;
	bool once = false;
	int o;

	while ((o = getopt_long(argc, argv, "l:s:opVh", longs, NULL)) != -1) {
		switch (o) {
		case 'l':
			listen_at = optarg;
			break;
		case 's':
			e.run_dir = optarg;
			break;
		case 'o':
			once = true;
			break;
		case 'p':
			e.by_path = true;
			break;
		case 'V':
			puts("fared-exporter " FARE_VERSION);
			return 0;
		case 'h':
			fputs(help, stdout);
			return 0;
		default:
			return exporter_usage("unknown option");
		}
	}
	if (optind != argc)
		return exporter_usage("it takes no arguments");
	if (parse_listen(listen_at, &at))
		return exporter_usage("--listen: ADDRESS:PORT, as numbers");
	return once ? print_once(&e) : serve(&e, listen_at, &at);
}
