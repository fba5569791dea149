/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory as applications register it: by address, from the cache, by a dma-buf. */
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "domain_pair.h"

#define BYTES 65536

static uint8_t memory[BYTES];

START_TEST(the_cache_gives_the_same_region_again)
{
	struct fare_mr *a, *b, *c;
	uint32_t rkey;

	ck_assert_int_eq(open_domain(0, NULL, true, 0), 0);
	ck_assert_int_eq(fare_mr_get(&a, domain[0], memory, BYTES, FARE_REMOTE_WRITE), 0);
	rkey = fare_mr_rkey(a);
	ck_assert_int_eq(fare_mr_get(&b, domain[0], memory + 100, 8, 0), 0);
	ck_assert_uint_eq(fare_mr_rkey(b), rkey);
	ck_assert_uint_eq(fare_mr_addr(b), (uintptr_t)memory + 100);
	fare_mr_deregister(a);
	fare_mr_deregister(b);
	ck_assert_int_eq(fare_mr_get(&a, domain[0], memory, BYTES, FARE_REMOTE_WRITE), 0);
	ck_assert_uint_eq(fare_mr_rkey(a), rkey);
	fare_mr_deregister(a);
	fare_mr_invalidate(domain[0], memory + BYTES - 1, 1);
	ck_assert_int_eq(fare_mr_get(&c, domain[0], memory, BYTES, FARE_REMOTE_WRITE), 0);
	ck_assert_uint_ne(fare_mr_rkey(c), rkey);
	ck_assert_int_eq(fare_mr_get(&a, domain[0], memory, BYTES, FARE_REMOTE_READ), 0);
	ck_assert_uint_ne(fare_mr_rkey(a), fare_mr_rkey(c)); /* other rights */
	ck_assert_int_eq(fare_mr_get(&b, domain[0], memory, BYTES, 4), -EINVAL);
}
END_TEST

/* A range of a cached region is the application's own: not a byte more. */
START_TEST(a_cached_range_holds_what_was_asked_for)
{
	struct fare_mr *all, *part;
	struct fare_write w = {.length = 9};

	connect_trusted();
	ck_assert_int_eq(fare_mr_get(&all, domain[0], memory, BYTES, 0), 0);
	ck_assert_int_eq(fare_mr_get(&part, domain[0], memory + 8, 8, 0), 0);
	w.mr = part;
	w.data = memory + 8;
	ck_assert_int_eq(fare_group_write(group, &w), -EINVAL);
	w.mr = all;
	ck_assert_int_eq(fare_group_write(group, &w), 0);
}
END_TEST

static int make_dmabuf(int *memfd)
{
	struct udmabuf_create create = {.flags = UDMABUF_FLAGS_CLOEXEC, .size = BYTES};
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	*memfd = memfd_create("check", MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(*memfd, BYTES), 0);
	ck_assert_int_eq(fcntl(*memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	create.memfd = (uint32_t)*memfd;
	fd = device < 0 ? -1 : ioctl(device, UDMABUF_CREATE, &create);
	if (device >= 0)
		close(device);
	return fd;
}

/* Where the kernel has udmabuf: as a GPU's memory would be, but mapped and copied by the CPU. */
START_TEST(a_dmabuf_is_written_to)
{
	struct fare_mr *from, *to;
	struct fare_write w;
	uint8_t *map;
	int memfd, fd = make_dmabuf(&memfd);

	connect_trusted();
	ck_assert_int_eq(fare_mr_register_dmabuf(&to, domain[1], memfd, 0, BYTES, 0, 0), -EINVAL);
	if (fd < 0) {
		fprintf(stderr, "no /dev/udmabuf here: only the refusal is tested\n");
		close(memfd);
		return;
	}
	ck_assert_int_eq(
		fare_mr_register_dmabuf(&to, domain[1], fd, 4096, 8192, 0, FARE_REMOTE_WRITE), 0);
	ck_assert_int_eq(fare_mr_register(&from, domain[0], memory, BYTES, 0), 0);
	memset(memory, 0x77, BYTES);
	w = (struct fare_write){.data = memory,
				.mr = from,
				.length = 8192,
				.remote_addr = fare_mr_addr(to),
				.rkey = fare_mr_rkey(to)};
	ck_assert_int_eq(fare_group_write(group, &w), 0);
	TURN_UNTIL(n_completed);
	ck_assert_int_eq(completed.status, 0);
	ck_assert_int_eq(fare_mr_sync(to), 0);
	map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, memfd, 0);
	ck_assert_mem_eq(map + 4096, memory, 8192);
	ck_assert_uint_eq(map[4095] | map[4096 + 8192], 0);
	munmap(map, BYTES);
	close(fd);
	close(memfd);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("regions");
	TCase *tc = tcase_create("core");
	SRunner *sr;
	int failed, skip = own_net();

	if (skip)
		return skip;
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_cache_gives_the_same_region_again);
	tcase_add_test(tc, a_cached_range_holds_what_was_asked_for);
	tcase_add_test(tc, a_dmabuf_is_written_to);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? 1 : 0;
}
