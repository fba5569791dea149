/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * case.h - what the cases of ofi_check share: the two ends and how they meet, and what they expect.
 *
 * Owns t, the end that this process is. All of it ends the process where something is wrong.
 */
#ifndef CASE_H
#define CASE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

#define PATIENCE_S 60
#define LONG	   (3u << 20)
#define ADDRESS	   256
#define OUT_KEY	   1 /* of t.out_mr and t.in_mr, where the application chooses */
#define IN_KEY	   2

#define ATOMIC_ORDER                                                                               \
	(FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

struct end {
	bool server, is_fare;
	const char *dir, *what; /* where both meet; the case that runs */
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *tx, *rx;
	struct fid_cntr *sent, *moved; /* sends; reads and writes */
	struct fid_ep *ep;
	fi_addr_t peer, self;
	uint8_t *out, *in;
	struct fid_mr *out_mr, *in_mr;
	unsigned turn; /* of meetings */
};
extern struct end t;

struct ofi_case {
	const char *name;
	void (*run)(void);
	const char *
		not_tcp; /* what libfabric 1.17's "tcp;ofi_rxm" does instead; NULL: it runs there */
	bool is_alone;	 /* runs only by its name, and nobody meets afterwards */
	enum { CASE_ANY, CASE_BASIC, CASE_SCALABLE } mode; /* of memory registration */
};

/* Each ends with a case without a name. */
extern const struct ofi_case cases_msg[], cases_tag[], cases_rma[], cases_atomic[], cases_info[],
	cases_rest[];

/* ---- what goes wrong ---- */

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			die("line %d: %s", __LINE__, #condition);                                  \
	} while (0)

/* Ends the process if err is negative. */
void ok(ssize_t err, const char *call);
/* Ends the process if it waits for longer than PATIENCE_S. */
void late(uint64_t since_ms, const char *what);

/* ---- meeting ---- */

void put_file(const char *name, const void *data, size_t bytes);
/* What the other end has put, at most so many bytes; endpoints go on meanwhile. */
size_t get_file(const char *name, void *data, size_t most);
/* Both ends have come here. */
void meet(void);

struct place {
	uint64_t addr, key;
};
/* The server's memory (t.in), as the client names it. */
struct place exchange_place(void);

/* ---- completions ---- */

/* The next entry, which is no error. source: NULL, or its sender. */
struct fi_cq_tagged_entry wait_entry(struct fid_cq *cq, fi_addr_t *source);
/* The next entry, which is an error. */
struct fi_cq_err_entry wait_error(struct fid_cq *cq);
void no_entry(struct fid_cq *cq);

/* Until the call does not say -FI_EAGAIN. */
#define RETRY(call)                                                                                \
	do {                                                                                       \
		ssize_t err_;                                                                      \
		while ((err_ = (call)) == -FI_EAGAIN) {                                            \
			fi_cq_read(t.tx, NULL, 0);                                                 \
			fi_cq_read(t.rx, NULL, 0);                                                 \
		}                                                                                  \
		ok(err_, #call);                                                                   \
	} while (0)

/* ---- bytes ---- */

#define N_SIZES 13
extern const size_t sizes[N_SIZES];
void fill(uint8_t *data, size_t n, unsigned seed);
bool filled(const uint8_t *data, size_t n, unsigned seed);
/* Whether the provider chooses keys, and not the application. */
bool has_prov_keys(void);
/* Its descriptor where the provider wants one (FI_MR_LOCAL). */
void *desc(struct fid_mr *mr);

#endif
