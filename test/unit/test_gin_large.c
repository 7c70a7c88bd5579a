// SPDX-License-Identifier: MIT
// tier: full  load: cpu  limit: 600
// One put of more than 4 GiB, with all of its bytes. Windows of that size map
// the same few pages many times, so they cost address space, not memory.
#include "test/unit/gin_ranks.h"

#include <stdint.h>
#include <sys/mman.h>

/*
 * A window is PARTS mappings of the same CHUNK bytes, and then a chunk of its
 * own behind 4 GiB.
 */
enum { CHUNK = 32 << 20, PARTS = 128 };

static const uint64_t LARGE = (uint64_t)CHUNK * (PARTS + 1);
static_assert((uint64_t)CHUNK * PARTS == UINT64_C(1) << 32, "4 GiB");

static bool map_part(char *at, int fd, off_t from)
{
	return mmap(at, CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, from) == at;
}

/* Returns NULL if the system has not enough memory for the window. */
static char *window_new(void)
{
	int fd = memfd_create("gin_large", MFD_CLOEXEC);
	char *w = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	bool good = fd >= 0 && !ftruncate(fd, 2 * CHUNK) && w != MAP_FAILED;

	for (size_t i = 0; good && i <= PARTS; i++)
		good = map_part(w + i * CHUNK, fd, i == PARTS ? CHUNK : 0);
	if (fd >= 0)
		close(fd);
	if (!good && w != MAP_FAILED)
		munmap(w, LARGE);
	return good ? w : NULL;
}

static void fill(char *at, uint64_t seed)
{
	uint64_t *p = (uint64_t *)(void *)at;

	for (size_t i = 0; i < CHUNK / sizeof(*p); i++)
		p[i] = (i + seed) * UINT64_C(0x9e3779b97f4a7c15);
}

/*
 * The put starts SKIP bytes into both windows and leaves the last AFTER bytes
 * of the target alone. The start is the same in both, so all mappings of a page
 * get the same bytes.
 */
enum { SKIP = 12345, AFTER = 777 };

static void put_all(struct nb_gin_message *o, char *const window[2], void *handle)
{
	*o = (struct nb_gin_message){ .kind = NB_GIN_SIGNAL,
				      .rank = 1,
				      .src = handle,
				      .dst = handle,
				      .src_off = SKIP,
				      .dst_off = SKIP,
				      .size = LARGE - SKIP - AFTER,
				      .signal = ranks[0].signals,
				      .signal_op = NB_GIN_INCREMENT };
	fill(window[0], 1);
	fill(window[0] + LARGE - CHUNK, 2);
	ck_assert_int_eq(nb_gin_tcp_post(ranks[0].coll, o), 0);
}

static void check_target(char *const window[2])
{
	const char *last = window[1] + LARGE - CHUNK;

	ck_assert_int_eq(memcmp(window[1], window[0], CHUNK), 0);
	ck_assert_int_eq(memcmp(last, window[0] + LARGE - CHUNK, CHUNK - AFTER), 0);
	for (size_t i = CHUNK - AFTER; i < CHUNK; i++)
		ck_assert_int_eq(last[i], 0);
}

TEST(a_put_of_more_than_4_gib)
{
	struct nb_gin_message o;
	void *handle = NULL;
	char *window[2];

#ifdef __SANITIZE_THREAD__
	return; /* its shadow of the windows would need 16 GiB */
#endif
	ranks_open(2);
	for (int i = 0; i < 2; i++) {
		window[i] = window_new();
		ck_assert_ptr_nonnull(window[i]);
		handle = registered(&ranks[i], window[i], LARGE);
	}
	put_all(&o, window, handle);
	ck_assert_uint_gt(o.size, UINT32_MAX);
	while (!read_signal(&ranks[1], 0)) {
		turn(2);
		ck_assert_int_ne(o.state, NB_GIN_FAILED);
	}
	ck_assert_int_eq(o.state, NB_GIN_DONE);
	ck_assert_uint_eq(ranks[1].last.bytes, o.size);
	ck_assert_uint_eq(ranks[1].last.puts, 1);
	check_target(window);
	ck_assert_str_eq(said, "");
	ranks_close(2);
	for (int i = 0; i < 2; i++)
		munmap(window[i], LARGE);
}

// clang-format off
UNIT_MAIN("gin_large")
