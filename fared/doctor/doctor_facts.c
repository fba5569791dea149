/* SPDX-License-Identifier: BSD-2-Clause */
/* doctor_facts.c - see doctor_facts.h: what the daemon says, and what fared says of the file */
#include "doctor_facts.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control_client.h"
#include "doctor_host.h"

#define DEFAULT_CONFIG "/etc/fared/fared.yaml"

extern char **environ;

/* ---- the daemon ---------------------------------------------------------- */

static void ask(json_t *facts, struct control_client *c, const char *what, const char *cursor_key)
{
	json_t *request = json_pack("{s:s}", "cmd", what), *reply;

	if (!strcmp(what, "events"))
		json_object_set_new(request, "topic", json_string("peer"));
	reply = cursor_key ? control_client_ask_all(c, request, what, cursor_key)
			   : control_client_ask(c, request);
	if (reply)
		json_object_set_new(facts, what, reply);
	else if (!json_object_get(facts, "fared_why"))
		json_object_set_new(facts, "fared_why", json_string(control_client_why(c)));
	json_decref(request);
}

/* Rows of `show config` as one object. */
static void flatten_config(json_t *facts)
{
	json_t *reply = json_incref(json_object_get(facts, "config")), *flat = json_object(), *row;
	size_t i;

	json_array_foreach (json_object_get(reply, "config"), i, row)
		json_object_set(flat, json_string_value(json_object_get(row, "key")),
				json_object_get(row, "value"));
	if (json_is_string(json_object_get(reply, "trial")))
		json_object_set(facts, "trial", json_object_get(reply, "trial"));
	json_object_set_new(facts, "config", flat);
	json_decref(reply);
}

static void ask_daemon(json_t *facts, const char *run_dir)
{
	struct control_client *c = NULL;
	char why[256];

	if (control_client_open(&c, run_dir, why, sizeof(why))) {
		json_object_set_new(facts, "fared_why", json_string(why));
		return;
	}
	ask(facts, c, "version", NULL);
	if (json_object_get(facts, "version")) {
		ask(facts, c, "config", "cursor");
		ask(facts, c, "planes", "cursor");
		ask(facts, c, "paths", "cursor");
		ask(facts, c, "events", "after");
		ask(facts, c, "counters", NULL);
		ask(facts, c, "drains", "cursor");
	}
	control_client_close(c);
	if (json_object_get(facts, "config"))
		flatten_config(facts);
}

/* ---- the file ------------------------------------------------------------ */

/* What is installed beside this program, or in the usual place. */
static const char *fared_path(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 8);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash) {
		strcpy(slash + 1, "fared");
		if (!access(path, X_OK))
			return path;
	}
	return "/usr/sbin/fared";
}

/* Runs it with its output into files. Its exit status, or -errno. */
static int run_check(const char *config_path, FILE *out, FILE *err)
{
	char path[PATH_MAX],
		*argv[] = {(char *)(uintptr_t) "fared",	   (char *)(uintptr_t) "--check-config",
			   (char *)(uintptr_t) "--json",   (char *)(uintptr_t) "--config",
			   (char *)(uintptr_t)config_path, NULL};
	posix_spawn_file_actions_t actions;
	int rc, status;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fileno(err), STDERR_FILENO);
	rc = posix_spawn(&pid, fared_path(path), &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (rc)
		return -rc;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EIO;
}

/* Lines as one, without what stands before each for the log. */
static void join_lines(FILE *from, char *out, size_t size)
{
	char line[512];
	size_t n = 0;

	out[0] = '\0';
	rewind(from);
	while (fgets(line, sizeof(line), from) && n + 1 < size) {
		const char *text = line[0] == '<' && line[1] && line[2] == '>' ? line + 3 : line;

		line[strcspn(line, "\n")] = '\0';
		n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "; " : "",
				      strncmp(text, "config: ", 8) ? text : text + 8);
	}
}

/* A key that only fared's user may read is no fault of the configuration. */
static bool is_forbidden(const char *text)
{
	return geteuid() != 0 && strstr(text, strerror(EACCES));
}

static void check_file(json_t *facts, const char *config_path)
{
	FILE *out = tmpfile(), *err = tmpfile();
	int rc = out && err ? run_check(config_path, out, err) : -ENOMEM;
	json_t *file = NULL;
	char text[1024];

	if (rc >= 0) {
		join_lines(err, text, sizeof(text));
		rewind(out);
		file = json_loadf(out, 0, NULL);
	} else {
		snprintf(text, sizeof(text), "fared --check-config: %s", strerror(-rc));
	}
	json_object_set_new(facts, "check",
			    json_pack("{s:o, s:s}", "status",
				      rc < 0 || is_forbidden(text) ? json_null() : json_integer(rc),
				      "text", text));
	if (file)
		json_object_set_new(facts, "file", file);
	if (out)
		fclose(out);
	if (err)
		fclose(err);
}

json_t *doctor_facts(const char *run_dir, const char *config_path)
{
	json_t *facts = json_object();

	if (!facts)
		return NULL;
	ask_daemon(facts, run_dir);
	if (config_path || !access(DEFAULT_CONFIG, F_OK))
		check_file(facts, config_path ? config_path : DEFAULT_CONFIG);
	if (!json_object_get(facts, "config") && json_object_get(facts, "file"))
		json_object_set(facts, "config", json_object_get(facts, "file"));
	doctor_host_processes(facts);
	doctor_host_frr(facts);
	doctor_host_network(facts);
	return facts;
}
