/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The whole daemon in a network namespace of its own: what the service manager is told, and what a
 * reload does, by SIGHUP and by request, confirmed and not.
 */
#include "daemon.h"

#include <check.h>
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "own_net.h"
#include "patience.h"

static char dir[] = "/tmp/check_daemon.XXXXXX";
static char config_path[64], notify_path[64], key_path[64];
static const char *health_more = "", *bgp_more = "";
static int notify_fd;
static pid_t child;

static void write_config(const char *level, const char *stale_s, const char *more)
{
	FILE *f = fopen(config_path, "w");

	ck_assert_ptr_nonnull(f);
	fprintf(f,
		"node: s0\nrun_dir: %s\nlog_level: %s\n%s"
		"bgp: {bmp_port: 5999, stale_s: %s, peer_prefixes: [198.19.0.0/16]%s}\n"
		"health: {realtime: false%s}\n"
		"local_gpus:\n"
		"  - name: g0\n    addresses: [127.0.0.1]\n    planes:\n"
		"    - sub_ports: [{dev: lo, speed_mbps: 400, neighbors: [198.18.0.0]}]\n",
		dir, level, more, stale_s, bgp_more, health_more);
	/* enough of them that lists are as long as those of a real server */
	for (int plane = 1; plane < 16; plane++)
		fprintf(f, "    - sub_ports: [{dev: nonesuch%d, neighbors: [198.18.0.%d]}]\n",
			plane, plane);
	fclose(f);
}

/* The daemon's process: as main() does. */
static int run(void)
{
	const struct privileges_names names = {"", "", "", "", ""};
	const struct daemon_options options = {.path = config_path};
	struct privileges privileges;
	struct config_error error;
	struct daemon *daemon;
	struct config *config;
	struct log log;
	char why[200];
	int rc;

	log_init(&log, STDERR_FILENO, LOG_ERR);
	setenv("NOTIFY_SOCKET", notify_path, 1);
	setenv("WATCHDOG_USEC", "200000", 1);
	if (config_load(&config, config_path, &error)) {
		fprintf(stderr, "%s\n", error.text);
		return 3;
	}
	if (privileges_resolve(&privileges, &names, why, sizeof(why)))
		return 4;
	if (daemon_create(&daemon, config, &options, &privileges, &log))
		return 5;
	rc = daemon_run(daemon);
	daemon_destroy(daemon);
	return rc ? 6 : 0;
}

static void open_notify_socket(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", notify_path);
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ck_assert_int_eq(bind(notify_fd, (struct sockaddr *)&at, sizeof(at)), 0);
}

/* The next message that is no ping and no status. */
static const char *next_message(void)
{
	struct pollfd p = {.fd = notify_fd, .events = POLLIN};
	static char text[512];
	ssize_t n;

	do {
		ck_assert_int_eq(poll(&p, 1, PATIENCE_S * 1000), 1);
		n = recv(notify_fd, text, sizeof(text) - 1, 0);
		ck_assert_int_gt(n, 0);
		text[n] = '\0';
	} while (!strcmp(text, "WATCHDOG=1") || !strncmp(text, "STATUS=", 7));
	return text;
}

static bool comes(const char *wanted)
{
	struct pollfd p = {.fd = notify_fd, .events = POLLIN};
	time_t limit = time(NULL) + PATIENCE_S;
	char text[512];
	ssize_t n;

	while (time(NULL) < limit && poll(&p, 1, PATIENCE_S * 1000) == 1) {
		n = recv(notify_fd, text, sizeof(text) - 1, 0);
		text[n < 0 ? 0 : n] = '\0';
		if (!strncmp(text, wanted, strlen(wanted)))
			return true;
	}
	return false;
}

#define OTHER_UID ((uid_t)64001)

/* As a service manager starts an ordinary user with AmbientCapabilities=. */
static int become_somebody(void)
{
	const cap_value_t given[] = {CAP_NET_RAW, CAP_NET_ADMIN};
	cap_t caps = cap_init();
	int rc = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) | chown(dir, OTHER_UID, OTHER_UID) |
		 setresgid(OTHER_UID, OTHER_UID, OTHER_UID) |
		 setresuid(OTHER_UID, OTHER_UID, OTHER_UID);

	for (int set = CAP_EFFECTIVE; set <= CAP_INHERITABLE; set++)
		rc |= cap_set_flag(caps, (cap_flag_t)set, 2, given, CAP_SET);
	rc |= cap_set_proc(caps);
	for (int i = 0; i < 2; i++)
		rc |= cap_set_ambient(given[i], CAP_SET);
	cap_free(caps);
	return rc;
}

static void setup_as(bool is_somebody, const char *more)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(config_path, sizeof(config_path), "%s/fared.yaml", dir);
	snprintf(notify_path, sizeof(notify_path), "%s/notify", dir);
	snprintf(key_path, sizeof(key_path), "%s/key", dir);
	health_more = "";
	write_config("err", "60", more);
	open_notify_socket();
	if (is_somebody)
		ck_assert_int_eq(chmod(notify_path, 0666), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (!child)
		_exit(is_somebody && become_somebody() ? 7 : run());
	ck_assert_str_eq(next_message(), "READY=1");
}

static void setup(void)
{
	setup_as(false, "");
}

static void setup_kernel_routes(void)
{
	bgp_more = ", zserv_path: /nonesuch";
	setup_as(geteuid() == 0, "kernel_routes: on\n");
}

static void teardown(void)
{
	char command[64];
	int status;

	while (recv(notify_fd, command, sizeof(command), MSG_DONTWAIT) >= 0)
		; /* so that there is room for what comes once */
	ck_assert_int_eq(kill(child, SIGTERM), 0);
	ck_assert_str_eq(next_message(), "STOPPING=1");
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", status);
	close(notify_fd);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

/* ---- requests -------------------------------------------------------------- */

static json_t *ask(const char *line)
{
	struct timeval limit = {.tv_sec = PATIENCE_S};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	static char text[1 << 16];
	size_t n = 0;
	json_t *reply;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof(at.sun_path), "%s/control.sock", dir);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	ck_assert_int_eq(send(fd, line, strlen(line), 0), (ssize_t)strlen(line));
	while (!memchr(text, '\n', n)) {
		ssize_t got = recv(fd, text + n, sizeof(text) - n, 0);

		ck_assert_int_gt(got, 0);
		n += (size_t)got;
	}
	close(fd);
	reply = json_loadb(text, n, JSON_DISABLE_EOF_CHECK, NULL);
	ck_assert_ptr_nonnull(reply);
	return reply;
}

static bool says(const char *line, const char *expected)
{
	json_t *reply = ask(line);
	char *text = json_dumps(reply, JSON_COMPACT);
	bool found = strstr(text, expected) != NULL;

	free(text);
	json_decref(reply);
	return found;
}

#define CONFIG	"{\"cmd\":\"config\"}\n"
#define RELOAD	"{\"cmd\":\"reload\"}\n"
#define DRY_RUN "{\"cmd\":\"reload\",\"dry_run\":true}\n"
#define CONFIRM "{\"cmd\":\"confirm\"}\n"

static bool is_in_force(const char *level)
{
	char expected[80];

	snprintf(expected, sizeof(expected), "{\"key\":\"log_level\",\"value\":\"%s\"", level);
	return says(CONFIG, expected);
}

/* ---- tests ----------------------------------------------------------------- */

START_TEST(the_service_manager_is_told)
{
	ck_assert(comes("STATUS=0 pairs of GPU and peer, 0 of 0 paths usable"));
	ck_assert(comes("WATCHDOG=1"));
	ck_assert(comes("WATCHDOG=1"));
}
END_TEST

START_TEST(sighup_reloads)
{
	write_config("warning", "60", "");
	ck_assert_int_eq(kill(child, SIGHUP), 0);
	ck_assert_int_eq(strncmp(next_message(), "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
	ck_assert_str_eq(next_message(), "READY=1");
	ck_assert(is_in_force("warning"));
	/* a wrong file changes nothing, and readiness is told all the same */
	write_config("loud", "60", "");
	ck_assert_int_eq(kill(child, SIGHUP), 0);
	ck_assert_int_eq(strncmp(next_message(), "RELOADING=1\n", 12), 0);
	ck_assert_str_eq(next_message(), "READY=1");
	ck_assert(is_in_force("warning"));
}
END_TEST

START_TEST(a_dry_run_changes_nothing)
{
	ck_assert(says(DRY_RUN, "\"n_changes\":0"));
	write_config("notice", "61", "");
	ck_assert(says(DRY_RUN, "{\"key\":\"log_level\",\"before\":\"err\",\"after\":\"notice\","
				"\"reload\":\"yes\"}"));
	ck_assert(says(DRY_RUN, "{\"key\":\"bgp.stale_s\",\"before\":\"60\",\"after\":\"61\","
				"\"reload\":\"sources\"}"));
	ck_assert(says(DRY_RUN, "\"in_force\":false"));
	ck_assert(is_in_force("err"));
	ck_assert(says(RELOAD, "\"in_force\":true"));
	ck_assert(is_in_force("notice"));
	ck_assert(comes("RELOADING=1"));
	ck_assert_str_eq(next_message(), "READY=1");
}
END_TEST

START_TEST(what_needs_a_restart_is_refused_whole)
{
	write_config("notice", "60", "group: root\n");
	ck_assert(says(RELOAD, "\"error\":\"these need a restart: group\""));
	ck_assert(says(RELOAD, "{\"key\":\"group\",\"before\":\"\",\"after\":\"root\","));
	ck_assert(is_in_force("err"));
	write_config("loud", "60", "");
	ck_assert(says(RELOAD, "fared.yaml:3: log_level"));
	ck_assert(is_in_force("err"));
	for (int i = 0; i < 3; i++) {
		ck_assert(comes("RELOADING=1"));
		ck_assert_str_eq(next_message(), "READY=1");
	}
}
END_TEST

/* Whoever may write the directory could stop the daemon by it. */
START_TEST(a_pipe_is_no_configuration)
{
	ck_assert_int_eq(unlink(config_path), 0);
	ck_assert_int_eq(mkfifo(config_path, 0600), 0);
	ck_assert(says(RELOAD, "\"ok\":false"));
	ck_assert(is_in_force("err"));
	ck_assert(comes("RELOADING=1"));
	ck_assert_str_eq(next_message(), "READY=1");
}
END_TEST

START_TEST(without_confirmation_it_is_undone)
{
	ck_assert(says(CONFIRM, "no reload waits"));
	write_config("debug", "61", "");
	ck_assert(says("{\"cmd\":\"reload\",\"confirm_s\":1}\n", "\"confirm_s\":1"));
	ck_assert(is_in_force("debug"));
	ck_assert(says(RELOAD, "waits for confirmation"));
	for (int i = 0; !is_in_force("err"); i++) {
		ck_assert_int_lt(i, PATIENCE_S * 20);
		usleep(50000);
	}
	ck_assert(says("{\"cmd\":\"events\"}\n",
		       "\"to\":\"undone\",\"reason\":\"not confirmed in time\""));
	ck_assert(says(CONFIG, "{\"key\":\"bgp.stale_s\",\"value\":\"60\""));
	ck_assert(says(CONFIRM, "no reload waits"));
	ck_assert(comes("RELOADING=1"));
	ck_assert(comes("READY=1"));
	ck_assert(comes("RELOADING=1"));
	ck_assert(comes("READY=1"));
}
END_TEST

START_TEST(with_confirmation_it_stays)
{
	write_config("debug", "61", "");
	ck_assert(says("{\"cmd\":\"reload\",\"confirm_s\":1}\n", "\"in_force\":true"));
	ck_assert(says(CONFIRM, "\"ok\":true"));
	usleep(1500000);
	ck_assert(is_in_force("debug"));
	ck_assert(comes("RELOADING=1"));
	ck_assert(comes("READY=1"));
}
END_TEST

static void write_key(const char *text)
{
	FILE *f = fopen(key_path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(key_path, 0600), 0);
}

static bool keys_undone(void)
{
	return says("{\"cmd\":\"events\"}\n", "\"to\":\"undone\"");
}

/* Read at once: the socket holds ten notices, and the daemon waits for nobody who does not read. */
static void came_reload(void)
{
	ck_assert(comes("RELOADING=1"));
	ck_assert(comes("READY=1"));
}

/* The files are read anew, also where the configuration is as it was; and undone with it. */
START_TEST(a_reload_reads_the_keys)
{
	char more[160];

	snprintf(more, sizeof(more), ", key_file: %s, second_key_file: %s", key_path, key_path);
	health_more = more;
	write_key("the first key of all");
	write_config("err", "60", "");
	ck_assert(says(DRY_RUN, "\"keys_changed\":true"));
	ck_assert(says(RELOAD, "\"in_force\":true,\"keys_changed\":true"));
	came_reload();
	ck_assert(says("{\"cmd\":\"events\"}\n", "\"subject\":\"keys\""));
	ck_assert(says(DRY_RUN, "\"keys_changed\":false"));
	ck_assert_int_eq(chmod(key_path, 0640), 0);
	ck_assert(says(RELOAD, "\"in_force\":false"));
	came_reload();
	ck_assert(says(RELOAD, "\"error\":\"health.key_file: "));
	came_reload();
	write_key("the second key of all");
	ck_assert(says("{\"cmd\":\"reload\",\"confirm_s\":1}\n", "\"keys_changed\":true"));
	came_reload();
	ck_assert(says(DRY_RUN, "waits for confirmation"));
	for (int i = 0; !keys_undone(); i++) {
		ck_assert_int_lt(i, PATIENCE_S * 20);
		usleep(50000);
	}
	ck_assert(says(DRY_RUN, "\"keys_changed\":true")); /* than what the file holds */
}
END_TEST

static void wait_for_rules(const char *n)
{
	char command[160];

	snprintf(command, sizeof(command),
		 "test $({ ip rule; ip -6 rule; } | grep -c 'lookup 7784') = %s", n);
	for (int i = 0; system(command); i++) {
		ck_assert_int_lt(i, PATIENCE_S * 20);
		usleep(50000);
	}
}

static bool is_rule_keeper(pid_t pid)
{
	char path[64], name[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "r");
	if (f && !fgets(name, sizeof(name), f))
		*name = '\0';
	if (f)
		fclose(f);
	return !strcmp(name, "fared-rule\n");
}

/* Of a user with ambient capabilities the rules are kept; the keeper's end is an event. */
START_TEST(the_end_of_the_process_that_keeps_rules_is_said)
{
	char command[80];
	FILE *children;
	int keeper = 0;

	if (system("ip rule >/dev/null 2>&1 && pgrep -V >/dev/null")) {
		puts("skipped: iproute2 and procps are not installed");
		return;
	}
	wait_for_rules("2");
	ck_assert(says("{\"cmd\":\"events\"}\n", "\"events\""));
	ck_assert(!says("{\"cmd\":\"events\"}\n", "fared-rule"));
	snprintf(command, sizeof(command), "pgrep -P %d", child);
	children = popen(command, "r");
	ck_assert_int_eq(fscanf(children, "%d", &keeper), 1);
	pclose(children);
	ck_assert(is_rule_keeper(keeper));
	ck_assert_int_eq(kill(keeper, SIGKILL), 0);
	for (int i = 0; !says("{\"cmd\":\"events\"}\n", "\"subject\":\"fared-rule\""); i++) {
		ck_assert_int_lt(i, PATIENCE_S * 20);
		usleep(50000);
	}
	wait_for_rules("2");
	ck_assert_int_eq(system("ip rule del lookup 7784; ip -6 rule del lookup 7784"), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("daemon");
	TCase *tc = tcase_create("whole"), *routes = tcase_create("kernel_routes");
	SRunner *sr;
	int failed = own_net();

	if (failed)
		return failed;
	sr = srunner_create(s);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_service_manager_is_told);
	tcase_add_test(tc, sighup_reloads);
	tcase_add_test(tc, a_dry_run_changes_nothing);
	tcase_add_test(tc, what_needs_a_restart_is_refused_whole);
	tcase_add_test(tc, a_pipe_is_no_configuration);
	tcase_add_test(tc, without_confirmation_it_is_undone);
	tcase_add_test(tc, with_confirmation_it_stays);
	tcase_add_test(tc, a_reload_reads_the_keys);
	suite_add_tcase(s, tc);
	tcase_add_checked_fixture(routes, setup_kernel_routes, teardown);
	tcase_set_timeout(routes, 30);
	tcase_add_test(routes, the_end_of_the_process_that_keeps_rules_is_said);
	suite_add_tcase(s, routes);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
