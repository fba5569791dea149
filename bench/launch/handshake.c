/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/handshake.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "launch/hello.h"

#define HANDSHAKE_SILENT_S 5 /* a host that answers nothing for three times that is gone */

int handshake_key(struct control_auth *out, const char *path)
{
	int err = control_auth_load(out, path, 0);

	if (err == -EKEYREJECTED)
		fprintf(stderr,
			"farebench: --key %s: %u to %u bytes that only its owner and group may "
			"read are expected: head -c 32 /dev/urandom | base64 >FILE; chmod 600 "
			"FILE\n",
			path, KEY_FILE_MIN, KEY_FILE_MAX);
	else if (err)
		fprintf(stderr, "farebench: --key %s: %s\n", path, strerror(-err));
	return err;
}

/* A host that vanished without a word must end the run, not hang it. */
static void handshake_keep_alive(int fd)
{
	const int one = 1, idle = HANDSHAKE_SILENT_S, probes = 3;
	const unsigned silent_ms = 3 * HANDSHAKE_SILENT_S * 1000;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof(silent_ms));
	/* an exchange of clocks is one small message each way */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static int handshake_challenge(struct hello_challenge *challenge)
{
	return getrandom(challenge, sizeof(*challenge), 0) == sizeof(*challenge) ? 0 : -EIO;
}

static int handshake_send(struct rendezvous *r, json_t *message)
{
	int err = message ? rendezvous_send(r, message) : -ENOMEM;

	json_decref(message);
	return err;
}

int handshake_offer(struct handshake *out, int fd)
{
	int err;

	handshake_keep_alive(fd);
	err = rendezvous_create(&out->link, fd);
	if (err)
		return err;
	rendezvous_limit(out->link, HELLO_MAX_LINE);
	err = handshake_challenge(&out->mine);
	if (!err)
		err = handshake_send(out->link, hello_offer(&out->mine));
	if (err)
		handshake_abandon(out);
	return err;
}

void handshake_abandon(struct handshake *h)
{
	rendezvous_destroy(h->link);
	h->link = NULL;
}

/* The answer is there: is it one of who has the key? */
static int handshake_judge(struct handshake *h, const json_t *answer,
			   const struct control_auth *key, enum hello_refusal *why)
{
	struct hello_challenge agent;
	int err = hello_read_answer(answer, key, &h->mine, &agent, why);

	if (err) {
		handshake_send(h->link, hello_refuse(*why));
		return err;
	}
	return handshake_send(h->link, hello_welcome(key, &h->mine, &agent));
}

static const char *handshake_reason(int err, enum hello_refusal why)
{
	if (err == -EACCES || err == -EBADMSG || err == -EMSGSIZE)
		return hello_refusal_text(why);
	return err == -EPIPE ? "it closed the connection" : strerror(-err);
}

int handshake_admit(struct handshake *h, const struct control_auth *key, struct rendezvous **out,
		    const char **reason)
{
	enum hello_refusal why = HELLO_MESSAGE;
	int filled = rendezvous_fill(h->link), err;
	json_t *answer = NULL;

	err = rendezvous_next(h->link, &answer);
	if (!err && !filled)
		return -EAGAIN;
	if (err > 0)
		err = handshake_judge(h, answer, key, &why);
	else if (!err)
		err = filled;
	json_decref(answer);
	if (err) {
		*reason = handshake_reason(err, why);
		handshake_abandon(h);
		return err;
	}
	rendezvous_limit(h->link, RENDEZVOUS_MAX_LINE);
	*out = h->link;
	h->link = NULL;
	return 0;
}

static int handshake_agent(struct rendezvous *r, const struct control_auth *key,
			   enum hello_refusal *why)
{
	struct hello_challenge mine, coordinator;
	json_t *message = NULL;
	int err = handshake_challenge(&mine);

	if (!err)
		err = rendezvous_receive(r, HANDSHAKE_ENTER_MS, &message);
	if (!err)
		err = hello_read_offer(message, &coordinator, why);
	json_decref(message);
	message = NULL;
	if (!err)
		err = handshake_send(r, hello_answer(key, &coordinator, &mine));
	if (!err)
		err = rendezvous_receive(r, HANDSHAKE_ENTER_MS, &message);
	if (!err)
		err = hello_read_welcome(message, key, &coordinator, &mine, why);
	json_decref(message);
	return err;
}

int handshake_enter(struct rendezvous **out, int fd, const struct control_auth *key,
		    const char **reason)
{
	enum hello_refusal why = HELLO_MESSAGE;
	int err;

	handshake_keep_alive(fd);
	err = rendezvous_create(out, fd);
	if (err) {
		*reason = strerror(-err);
		return err;
	}
	rendezvous_limit(*out, HELLO_MAX_LINE);
	err = handshake_agent(*out, key, &why);
	if (!err) {
		rendezvous_limit(*out, RENDEZVOUS_MAX_LINE);
		return 0;
	}
	*reason = handshake_reason(err, why);
	rendezvous_destroy(*out);
	*out = NULL;
	return err;
}
