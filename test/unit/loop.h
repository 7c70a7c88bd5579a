// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_LOOP_H
#define NB_TEST_UNIT_LOOP_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/bpf/generation/controller.h"
#include "core/ncclbpf.h"
#include "plugin/controller/mailbox.h"
#include "plugin/runtime/jobdir.h"
#include "test/unit/made.h"
#include "test/unit/map_spec.h"
#include "test/unit/unit.h"

/* For tests of controllers: a policy with maps, damaged bytes, a mailbox. */

enum { SUM, MOST, WANT, TABLE, COUNTS, NMAPS };

struct two {
	uint64_t n, ns;
};

static const struct nb_map_spec maps[NMAPS] = {
	[SUM] = MAP_SPEC("sum", HASH, 4, sizeof(struct two), 4, NB_MAPF_SUM),
	[MOST] = MAP_SPEC("most", PERCPU_ARRAY, 4, 8, 3, NB_MAPF_MAX),
	[WANT] = MAP_SPEC("want", ARRAY, 4, 8, 4, NB_MAPF_COHERENT),
	[TABLE] = MAP_SPEC("table", HASH, 4, 12, 8, NB_MAPF_COHERENT),
	[COUNTS] = MAP_SPEC("counts", PERCPU_ARRAY, 4, 8, 2, NB_MAPF_SUM),
};

/* What one process has. */
struct process {
	struct nb_policy *policy;
	struct nb_gen *gen;
};

static inline struct process process(void)
{
	struct process p;
	struct nb_image *img;
	struct nb_err err = { 0 };
	struct nb_buf b;

	made_image(&b, "loop", MADE_NOOP, maps, NMAPS);
	ck_assert_msg(!nb_image_read(&img, b.data, b.size, &err), "%s", err.text);
	nb_buf_fini(&b);
	ck_assert_msg(!nb_policy_make(&p.policy, img, NULL, NULL, 0, &err), "%s", err.text);
	ck_assert_msg(!nb_gen_new(&p.gen, &p.policy, 1, NULL, &err), "%s", err.text);
	return p;
}

static inline void process_end(struct process *p)
{
	nb_gen_put(p->gen);
	nb_policy_put(p->policy);
}

static inline struct nb_map *map(const struct nb_gen *g, uint32_t i)
{
	return g->policy[0].maps[i];
}

static inline void put(const struct nb_gen *g, uint32_t i, uint32_t key, const void *value)
{
	ck_assert_int_eq(nb_map_write(map(g, i), &key, value, NB_ANY, NULL), 0);
}

static inline void put_sum(const struct nb_gen *g, uint32_t key, uint64_t n)
{
	put(g, SUM, key, &(struct two){ n, n * 1000 });
}

/* The same on each CPU but for the last, which has more. */
static inline void put_most(const struct nb_gen *g, uint32_t key, uint64_t n)
{
	uint64_t *each = calloc(nb_ncpus(), sizeof(*each));

	for (uint32_t c = 0; c < nb_ncpus(); c++)
		each[c] = n - (c + 1 != nb_ncpus());
	put(g, MOST, key, each);
	free(each);
}

/* Each CPU has @n. */
static inline void put_counts(const struct nb_gen *g, uint32_t key, uint64_t n)
{
	uint64_t *each = calloc(nb_ncpus(), sizeof(*each));

	for (uint32_t c = 0; c < nb_ncpus(); c++)
		each[c] = n;
	put(g, COUNTS, key, each);
	free(each);
}

static inline uint64_t counts_of(const struct nb_gen *g, uint32_t key)
{
	uint64_t *each = calloc(nb_ncpus(), sizeof(*each)), n;

	ck_assert_int_eq(nb_map_read(map(g, COUNTS), &key, each, NULL), 0);
	n = each[0];
	free(each);
	return n;
}

static inline uint64_t sum_of(const struct nb_gen *g, uint32_t key)
{
	struct two v;

	if (nb_map_read(map(g, SUM), &key, &v, NULL))
		return 0;
	ck_assert_uint_eq(v.ns, v.n * 1000);
	return v.n;
}

static inline uint64_t most_of(const struct nb_gen *g, uint32_t key)
{
	uint64_t *each = calloc(nb_ncpus(), sizeof(*each)), n;

	ck_assert_int_eq(nb_map_read(map(g, MOST), &key, each, NULL), 0);
	n = each[0];
	for (uint32_t c = 1; c < nb_ncpus(); c++)
		ck_assert_uint_eq(each[c], n);
	free(each);
	return n;
}

static inline struct nb_buf packed(const struct nb_gen *g)
{
	struct nb_err err = { 0 };
	struct nb_buf b;

	ck_assert_msg(!nb_controllers_pack(&b, g, &err), "%s", err.text);
	return b;
}

static inline struct nb_gen *own_of(const struct nb_gen *g)
{
	struct nb_err err = { 0 };
	struct nb_gen *own;

	ck_assert_msg(!nb_gen_for_controllers(&own, g, &err), "%s", err.text);
	return own;
}

/* Bytes of just that size, so that the address checker knows their end. */
static inline void *exactly(const void *bytes, size_t size)
{
	void *p = malloc(size ? size : 1);

	if (size)
		memcpy(p, bytes, size);
	return p;
}

static uint32_t drawn = 1;

static inline uint32_t random32(void)
{
	drawn = drawn * 1664525 + 1013904223;
	return drawn >> 8;
}

/* A few bytes changed, some to extremes; the same each time. */
static inline void scribble(uint8_t *bytes, size_t size)
{
	for (uint32_t n = 1 + random32() % 4; n > 0; n--) {
		size_t at = random32() % size;

		bytes[at] = random32() % 3 ? (uint8_t)random32() : 0xff;
	}
}

static char loop_dir[] = "/tmp/nb_loop_XXXXXX";
static struct nb_jobdir jobdir;
static struct nb_mailbox mailbox;

static inline void open_mailbox(void)
{
	ck_assert_ptr_nonnull(mkdtemp(loop_dir));
	snprintf(jobdir.dir, sizeof(jobdir.dir), "%s", loop_dir);
	jobdir.dirfd = open(loop_dir, O_RDONLY | O_DIRECTORY);
	ck_assert_int_eq(nb_mailbox_open(&mailbox, &jobdir, "b", NULL), 0);
}

static inline void close_mailbox(void)
{
	nb_mailbox_close(&mailbox);
	nb_mailbox_close(&mailbox);
	unlinkat(jobdir.dirfd, "b", 0);
	close(jobdir.dirfd);
	rmdir(loop_dir);
}

#endif
