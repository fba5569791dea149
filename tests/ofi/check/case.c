/* SPDX-License-Identifier: BSD-2-Clause */
#include "case.h"

#include <errno.h>
#include <stdarg.h>

#include "base/clock.h"

struct end t;

/* ---- what goes wrong ---- */

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: %s: ", t.server ? "server" : "client", t.what ? t.what : "start");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

void ok(ssize_t err, const char *call)
{
	if (err < 0)
		die("%s: %s", call, fi_strerror((int)-err));
}

void late(uint64_t since_ms, const char *what)
{
	if (clock_now_ms() - since_ms > PATIENCE_S * 1000)
		die("no %s for %u s", what, PATIENCE_S);
}

/* ---- meeting ---- */

void put_file(const char *name, const void *data, size_t bytes)
{
	char path[512], hidden[520];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%c", t.dir, name, t.server ? 's' : 'c');
	snprintf(hidden, sizeof(hidden), "%s.new", path);
	f = fopen(hidden, "w");
	CHECK(f && fwrite(data, 1, bytes, f) == bytes && !fclose(f) && !rename(hidden, path));
}

/* What the other end has put; endpoints go on meanwhile. */
size_t get_file(const char *name, void *data, size_t most)
{
	uint64_t start = clock_now_ms();
	char path[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.%c", t.dir, name, t.server ? 'c' : 's');
	while (!(f = fopen(path, "r"))) {
		if (t.tx) {
			fi_cq_read(t.tx, NULL, 0);
			fi_cq_read(t.rx, NULL, 0);
		}
		usleep(200);
		late(start, name);
	}
	n = fread(data, 1, most, f);
	fclose(f);
	return n;
}

void meet(void)
{
	char name[32];

	snprintf(name, sizeof(name), "meet%u", t.turn++);
	put_file(name, "x", 1);
	get_file(name, name, 1);
}

struct place exchange_place(void)
{
	struct place p = {.addr = t.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)t.in
										 : 0,
			  .key = fi_mr_key(t.in_mr)};
	char name[32];

	snprintf(name, sizeof(name), "place%u", t.turn++);
	put_file(name, &p, sizeof(p));
	CHECK(get_file(name, &p, sizeof(p)) == sizeof(p));
	return p;
}

/* ---- completions ---- */

struct fi_cq_tagged_entry wait_entry(struct fid_cq *cq, fi_addr_t *source)
{
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry e = {0};
	uint64_t start = clock_now_ms();
	fi_addr_t from = FI_ADDR_NOTAVAIL;
	ssize_t n;

	while ((n = fi_cq_readfrom(cq, &e, 1, &from)) == -FI_EAGAIN) {
		/* the other queue's operations go on, too */
		fi_cq_read(cq == t.tx ? t.rx : t.tx, NULL, 0);
		late(start, "completion");
	}
	if (n == -FI_EAVAIL) {
		fi_cq_readerr(cq, &err, 0);
		die("an error: %s", fi_strerror(err.err));
	}
	ok(n, "fi_cq_readfrom");
	if (source)
		*source = from;
	return e;
}

struct fi_cq_err_entry wait_error(struct fid_cq *cq)
{
	struct fi_cq_err_entry err = {0};
	struct fi_cq_tagged_entry e;
	uint64_t start = clock_now_ms();
	ssize_t n;

	while ((n = fi_cq_read(cq, &e, 1)) == -FI_EAGAIN)
		late(start, "error");
	CHECK(n == -FI_EAVAIL);
	CHECK(fi_cq_readerr(cq, &err, 0) == 1);
	return err;
}

void no_entry(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry e;

	CHECK(fi_cq_read(cq, &e, 1) == -FI_EAGAIN);
}

void fill(uint8_t *data, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(seed * 37 + i * 11 + (i >> 8));
}

bool filled(const uint8_t *data, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		if (data[i] != (uint8_t)(seed * 37 + i * 11 + (i >> 8)))
			return false;
	return true;
}

const size_t sizes[N_SIZES] = {0,     1,     64,    4000,  4028,   4029, 9000,
			       16384, 32768, 32769, 65536, 300000, LONG};

bool has_prov_keys(void)
{
	return t.info->domain_attr->mr_mode & FI_MR_PROV_KEY;
}

void *desc(struct fid_mr *mr)
{
	return t.info->domain_attr->mr_mode & FI_MR_LOCAL ? fi_mr_desc(mr) : NULL;
}
