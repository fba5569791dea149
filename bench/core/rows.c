/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/rows_line.h"

struct rows {
	struct row **row; /* each of its own: pointers stay valid as rows are added */
	size_t n, room;
	int fd;		  /* below 0: memory alone */
	bool borrowed;	  /* the rows are another's */
	size_t n_shallow; /* of the first rows, histograms and texts are another's */
	off_t length;	  /* of the file: whole lines */
};

static int rows_append(struct rows *rows, struct row *row)
{
	if (rows->n == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 256;
		struct row **grown = realloc(rows->row, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		rows->row = grown;
		rows->room = room;
	}
	rows->row[rows->n++] = row;
	return 0;
}

/* Takes one whole line in; line_number is for the message. */
static int rows_take_line(struct rows *rows, const char *path, size_t line_number, const char *line,
			  size_t length)
{
	const char *reason = "no memory";
	struct row *row = malloc(sizeof(*row));
	int err = row ? row_parse(row, line, length, &reason) : -ENOMEM;

	if (!err) {
		err = rows_append(rows, row);
		if (err)
			row_fini(row);
	}
	if (err) {
		free(row);
		fprintf(stderr, "farebench: %s:%zu: %s\n", path, line_number, reason);
	}
	return err;
}

/*
 * Reads all lines. The last one has no newline if the machine stopped while it was written: it is
 * dropped then, unless only the newline is missing.
 */
static int rows_load(struct rows *rows, const char *path, FILE *file, bool *cut)
{
	char *line = NULL;
	const char *reason;
	size_t room = 0, number = 0;
	ssize_t length;
	int err = 0;

	*cut = false;
	while (!err && (length = getline(&line, &room, file)) > 0) {
		struct row row;

		number++;
		*cut = line[length - 1] != '\n';
		if (*cut && row_parse(&row, line, (size_t)length, &reason)) {
			fprintf(stderr, "farebench: %s:%zu: cut off, and left out\n", path, number);
			break;
		}
		if (*cut)
			row_fini(&row);
		err = rows_take_line(rows, path, number, line, (size_t)length);
		if (!err)
			rows->length += length;
	}
	if (!err && !feof(file))
		err = -EIO;
	free(line);
	return err;
}

/* Removes what was cut off, or adds the newline that is missing. */
static int rows_mend(struct rows *rows)
{
	char last;

	if (ftruncate(rows->fd, rows->length))
		return -errno;
	if (rows->length == 0 || (pread(rows->fd, &last, 1, rows->length - 1) == 1 && last == '\n'))
		return 0;
	if (pwrite(rows->fd, "\n", 1, rows->length) != 1)
		return -EIO;
	rows->length++;
	return 0;
}

static int rows_fill(struct rows *rows, const char *path, int fd)
{
	int copy = dup(fd), err;
	FILE *file = copy >= 0 ? fdopen(copy, "r") : NULL;
	bool cut;

	if (!file) {
		err = -errno;
		if (copy >= 0)
			close(copy);
		return err;
	}
	err = rows_load(rows, path, file, &cut);
	fclose(file);
	if (!err && cut && rows->fd >= 0)
		err = rows_mend(rows);
	return err;
}

static int rows_create(struct rows **out)
{
	struct rows *rows = calloc(1, sizeof(*rows));

	if (!rows)
		return -ENOMEM;
	rows->fd = -1;
	*out = rows;
	return 0;
}

int rows_open(struct rows **out, const char *path)
{
	struct rows *rows;
	int err = rows_create(&rows);

	if (err)
		return err;
	if (path) {
		rows->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		if (rows->fd < 0)
			err = -errno;
		else if (flock(rows->fd, LOCK_EX | LOCK_NB))
			err = errno == EWOULDBLOCK ? -EBUSY : -errno;
		if (err)
			fprintf(stderr, "farebench: %s: %s\n", path,
				err == -EBUSY ? "another run appends to it" : strerror(-err));
		else
			err = rows_fill(rows, path, rows->fd);
	}
	if (err)
		rows_close(rows);
	else
		*out = rows;
	return err;
}

int rows_read(struct rows **out, const char *path)
{
	struct rows *rows;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0) {
		err = -errno;
		fprintf(stderr, "farebench: %s: %s\n", path, strerror(-err));
		return err;
	}
	err = rows_create(&rows);
	if (!err) {
		err = rows_fill(rows, path, fd);
		if (err)
			rows_close(rows);
		else
			*out = rows;
	}
	close(fd);
	return err;
}

void rows_close(struct rows *rows)
{
	if (!rows)
		return;
	for (size_t i = 0; !rows->borrowed && i < rows->n; i++) {
		if (i >= rows->n_shallow)
			row_fini(rows->row[i]);
		free(rows->row[i]);
	}
	free(rows->row);
	if (rows->fd >= 0)
		close(rows->fd);
	free(rows);
}

/* The whole line, or nothing of it. */
static int rows_write(struct rows *rows, const struct row *row)
{
	size_t length;
	char *line = row_line(row, &length);
	ssize_t written;
	int err = 0;

	if (!line)
		return -ENOMEM;
	written = write(rows->fd, line, length);
	if (written < 0 || (size_t)written != length) {
		err = written < 0 ? -errno : -ENOSPC;
		if (ftruncate(rows->fd, rows->length))
			err = -EIO;
	} else {
		rows->length += (off_t)length;
	}
	free(line);
	return err;
}

int rows_add(struct rows *rows, const struct row *row)
{
	struct row *copy = rows->borrowed ? NULL : malloc(sizeof(*copy));
	int err = rows->borrowed ? -EINVAL : copy ? row_copy(copy, row) : -ENOMEM;

	if (err) {
		free(copy);
		return err;
	}
	err = rows_append(rows, copy);
	if (err) {
		row_fini(copy);
		free(copy);
		return err;
	}
	err = rows->fd >= 0 ? rows_write(rows, copy) : 0;
	if (err) {
		rows->n--;
		row_fini(copy);
		free(copy);
	}
	return err;
}

size_t rows_count(const struct rows *rows)
{
	return rows->n;
}

const struct row *rows_at(const struct rows *rows, size_t i)
{
	return rows->row[i];
}

int rows_part(struct rows **out, const struct rows *from, const struct rows_filter *filter)
{
	struct rows *rows;
	int err = rows_create(&rows);

	if (err)
		return err;
	rows->borrowed = true;
	for (size_t i = rows_next(from, filter, 0); !err && i < from->n;
	     i = rows_next(from, filter, i + 1))
		err = rows_append(rows, from->row[i]);
	if (err)
		rows_close(rows);
	else
		*out = rows;
	return err;
}

/* The row again, as one of another trial. */
static int rows_append_as(struct rows *rows, const struct row *from, unsigned trial)
{
	struct row *row = malloc(sizeof(*row));
	int err = -ENOMEM;

	if (row) {
		*row = *from;
		row->trial = trial;
		err = rows_append(rows, row);
	}
	if (err)
		free(row);
	else
		rows->n_shallow = rows->n;
	return err;
}

int rows_resample(struct rows **out, const struct rows *from, const char *test,
		  const unsigned *draw, unsigned n)
{
	const struct rows_filter filter = {.test = test, .trial = -1};
	struct rows *rows;
	int err = rows_create(&rows);

	if (err)
		return err;
	for (size_t i = rows_next(from, &filter, 0); !err && i < from->n;
	     i = rows_next(from, &filter, i + 1))
		for (unsigned k = 0; !err && k < n; k++)
			if (draw[k] == from->row[i]->trial)
				err = rows_append_as(rows, from->row[i], k);
	if (err)
		rows_close(rows);
	else
		*out = rows;
	return err;
}

size_t rows_next(const struct rows *rows, const struct rows_filter *filter, size_t from)
{
	while (from < rows_count(rows) && !row_matches(rows_at(rows, from), filter))
		from++;
	return from;
}

struct rows_filter rows_like(const struct row *row)
{
	return (struct rows_filter){.test = row->test,
				    .kpi = row->kpi,
				    .strategy = row->strategy,
				    .n_params = row->n_params,
				    .param = row->param,
				    .trial = -1};
}

bool rows_are_measured(const struct rows *rows)
{
	for (size_t i = 0; i < rows_count(rows); i++)
		if (!rows_at(rows, i)->missing && rows_at(rows, i)->kpi[0] != '_')
			return true;
	return false;
}

int rows_values(const struct rows *rows, const struct rows_filter *filter, double **out)
{
	double *values = NULL;
	size_t n = 0, room = 0;

	ROWS_EACH (i, rows, filter) {
		if (!isfinite(rows_at(rows, i)->value))
			continue;
		if (n == room) {
			double *grown;

			room = room ? 2 * room : 32;
			grown = realloc(values, room * sizeof(*values));
			if (!grown) {
				free(values);
				return -ENOMEM;
			}
			values = grown;
		}
		values[n++] = rows_at(rows, i)->value;
	}
	*out = values;
	return (int)n;
}

size_t rows_hist(const struct rows *rows, const struct rows_filter *filter, struct hist *sum)
{
	size_t n = 0;

	ROWS_EACH (i, rows, filter)
		if (rows_at(rows, i)->hist) {
			hist_merge(sum, rows_at(rows, i)->hist);
			n++;
		}
	return n;
}

/* The level of row; false: it has none. */
static bool row_level(const struct row *row, const char *param, struct row_param *level)
{
	const struct row_param *own;
	char text[16];

	if (strcmp(param, "strategy") == 0)
		return *row->strategy && row_param_set(level, param, row->strategy) == 0;
	if (strcmp(param, "trial") == 0) {
		snprintf(text, sizeof(text), "%u", row->trial);
		return row_param_set(level, param, text) == 0;
	}
	own = row_param(row, param);
	if (own)
		*level = *own;
	return own != NULL;
}

/* Does a come behind b? Names come last, as they were seen. */
static bool row_level_after(const struct row_param *a, const struct row_param *b)
{
	if (isnan(a->number) || isnan(b->number))
		return isnan(a->number);
	return a->number >= b->number;
}

/* Puts level into its place, if it is new and there is room. */
static size_t row_level_add(struct row_param *out, size_t n, size_t max,
			    const struct row_param *level)
{
	size_t at = n;

	for (size_t i = 0; i < n; i++)
		if (strcmp(out[i].text, level->text) == 0)
			return n;
	if (n == max)
		return n;
	while (at > 0 && !row_level_after(level, &out[at - 1])) {
		out[at] = out[at - 1];
		at--;
	}
	out[at] = *level;
	return n + 1;
}

size_t rows_levels(const struct rows *rows, const struct rows_filter *filter, const char *param,
		   struct row_param *out, size_t max)
{
	struct row_param level;
	size_t n = 0;

	ROWS_EACH (i, rows, filter)
		if (row_level(rows_at(rows, i), param, &level))
			n = row_level_add(out, n, max, &level);
	return n;
}
