/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct crew {
	pthread_mutex_t lock;
	pthread_cond_t begins, ended;
	void (*part)(void *arg, unsigned i); /* NULL: all go home */
	void *arg;
	unsigned threads, next, left; /* next part to take; parts that have not ended */
	unsigned long job;	      /* counts them */
	pthread_t thread[];	      /* threads - 1 */
};

/* With the lock held. */
static void crew_work(struct crew *crew)
{
	while (crew->next < crew->threads) {
		unsigned i = crew->next++;

		pthread_mutex_unlock(&crew->lock);
		crew->part(crew->arg, i);
		pthread_mutex_lock(&crew->lock);
		if (--crew->left == 0)
			pthread_cond_signal(&crew->ended);
	}
}

static void *crew_main(void *arg)
{
	struct crew *crew = arg;
	unsigned long done = 0;

	pthread_mutex_lock(&crew->lock);
	for (;;) {
		while (crew->job == done)
			pthread_cond_wait(&crew->begins, &crew->lock);
		done = crew->job;
		if (!crew->part)
			break;
		crew_work(crew);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

int crew_create(struct crew **out, unsigned threads)
{
	struct crew *crew = calloc(1, sizeof(*crew) + (threads - 1) * sizeof(crew->thread[0]));
	int err = 0;

	if (!crew)
		return -ENOMEM;
	pthread_mutex_init(&crew->lock, NULL);
	pthread_cond_init(&crew->begins, NULL);
	pthread_cond_init(&crew->ended, NULL);
	crew->threads = crew->next = 1;
	while (!err && crew->threads < threads) {
		err = -pthread_create(&crew->thread[crew->threads - 1], NULL, crew_main, crew);
		crew->threads += !err;
	}
	crew->next = crew->threads;
	if (err) {
		crew_destroy(crew);
		return err;
	}
	*out = crew;
	return 0;
}

void crew_destroy(struct crew *crew)
{
	if (!crew)
		return;
	pthread_mutex_lock(&crew->lock);
	crew->part = NULL;
	crew->job++;
	pthread_cond_broadcast(&crew->begins);
	pthread_mutex_unlock(&crew->lock);
	for (unsigned i = 0; i + 1 < crew->threads; i++)
		pthread_join(crew->thread[i], NULL);
	pthread_cond_destroy(&crew->ended);
	pthread_cond_destroy(&crew->begins);
	pthread_mutex_destroy(&crew->lock);
	free(crew);
}

unsigned crew_threads(const struct crew *crew)
{
	return crew ? crew->threads : 1;
}

void crew_run(struct crew *crew, void (*part)(void *arg, unsigned i), void *arg)
{
	pthread_mutex_lock(&crew->lock);
	crew->part = part;
	crew->arg = arg;
	crew->next = 0;
	crew->left = crew->threads;
	crew->job++;
	pthread_cond_broadcast(&crew->begins);
	crew_work(crew);
	while (crew->left)
		pthread_cond_wait(&crew->ended, &crew->lock);
	pthread_mutex_unlock(&crew->lock);
}
