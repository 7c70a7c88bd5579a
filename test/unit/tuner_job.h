// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_TUNER_JOB_H
#define NB_TEST_UNIT_TUNER_JOB_H

/* A process with a policy, its communicators, and NCCL's way to read a table.
 */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "plugin/abi/tuner_abi.h"
#include "plugin/change/selector.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/segment.h"
#include "plugin/tuner/decide.h"
#include "test/unit/made.h"
#include "test/unit/nccl_version.h"
#include "plugin/runtime/params.h"
#include "plugin/runtime/lock.h"
#include "plugin/job/self.h"
#include "plugin/policies/generations.h"
#include "plugin/policies/held.h"
#include "plugin/policies/maps.h"
#include "plugin/policies/load.h"
#include "plugin/change/sync.h"
#include "plugin/comm/comm.h"
#include "plugin/tuner/register.h"
#include "plugin/control/commands/explain.h"
#include "plugin/process/process.h"
#include "plugin/change/change.h"
#include "test/unit/stage_use.h"
#include "plugin/job/registry.h"
#include "plugin/tuner/explain.h"

enum { RING = NCCL_ALGO_RING, TREE = NCCL_ALGO_TREE };
enum { LL = NCCL_PROTO_LL, SIMPLE = NCCL_PROTO_SIMPLE };

/* ---- NCCL's side ---- */

/* What NCCL picks; -1: nothing. */
static inline int pick(const float *t, int n, float limit)
{
	float least = limit;
	int best = -1;

	for (int i = 0; i < n; i++) {
		if (t[i] < 0.0f || !(t[i] < least))
			continue;
		least = t[i];
		best = i;
	}
	return best;
}

/*
 * What NCCL 2.31 and later pick: the last of the least, negative ones too,
 * among the entries that were offered.
 */
static inline int pick_last(const float *t, const float *offered, int n, float limit)
{
	float least = limit;
	int best = -1;

	for (int i = n - 1; i >= 0; i--) {
		if (!(offered[i] >= 0.0f) || !(t[i] < least))
			continue;
		least = t[i];
		best = i;
	}
	return best;
}

static inline void table(float t[21])
{
	for (int i = 0; i < 21; i++)
		t[i] = 100.0f + (float)(i * 5 % 21);
}

static uint64_t rng = 88172645463325252u;

static inline uint32_t roll(uint32_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (uint32_t)(rng >> 33) % n;
}

static inline void wild_table(float t[21])
{
	static const float odd[] = { -1.0f,  -1.0f, -0.0f, 0.0f,   -3.0f,
				     3.6e9f, 4e9f,  1.0f,  1e-40f, -1e-40f };

	for (int i = 0; i < 21; i++)
		switch (roll(4)) {
		case 0:
			t[i] = odd[roll(10)];
			break;
		case 1:
			t[i] = roll(2) ? (float)NAN : (float)INFINITY;
			break;
		default:
			t[i] = (float)roll(30);
		}
}

/* ---- a process with a policy ---- */

static char dir[64];
static char lines[8192];

static inline void logger(int level, unsigned long flags, const char *file, int line,
			  const char *fmt, ...)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	va_list ap;
	size_t n;

	(void)level;
	(void)flags;
	(void)file;
	(void)line;
	pthread_mutex_lock(&lock);
	n = strlen(lines);
	va_start(ap, fmt);
	vsnprintf(lines + n, sizeof(lines) - n, fmt, ap);
	va_end(ap);
	pthread_mutex_unlock(&lock);
}

static inline void set_up(void)
{
	strcpy(dir, "/tmp/nbtunerXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	setenv("NCCLBPF_SOCKET_DIR", dir, 1);
	setenv("NCCLBPF_JOB", "t", 1);
	setenv("NCCLBPF_CONTROL", "off", 1);
	setenv("NCCLBPF_LOG", "debug", 1);
	unsetenv("NCCLBPF_POLICY");
	unsetenv("NCCL_ALGO");
	unsetenv("NCCL_PROTO");
}

static inline void tear_down(void)
{
	char cmd[96];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	ck_assert_int_eq(system(cmd), 0);
}

static inline void write_policy(const char *name, const char *text, const struct nb_map_spec *maps,
				uint32_t nmaps, char path[128])
{
	struct nb_buf b;
	int fd;

	made_image(&b, name, text, maps, nmaps);
	snprintf(path, 128, "%s/%s.policy", dir, name);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	ck_assert_int_eq(write(fd, b.data, b.size), (ssize_t)b.size);
	close(fd);
	nb_buf_fini(&b);
}

static inline void begin_with(const char *text)
{
	char path[128];

	write_policy("first", text, NULL, 0, path);
	setenv("NCCLBPF_POLICY", path, 1);
}

static inline struct nb_comm *rank_of(uint64_t id, size_t ranks)
{
	void *ctx = NULL;
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };

	ck_assert_int_eq(ncclTunerPlugin_v5.init(&ctx, id, ranks, 1, logger, &nvl, NULL), 0);
	return ctx;
}

struct got {
	int index, channels;
};

static inline struct got ask(struct nb_comm *c, int coll, size_t bytes)
{
	struct got g = { -1, 0 };
	float t[21];

	table(t);
	ck_assert_int_eq(ncclTunerPlugin_v5.get_coll_info(c, coll, bytes, 1, (float **)(void *)t, 7,
							  3, 0, &g.channels),
			 0);
	g.index = pick(t, 21, 3.6e9f);
	return g;
}

static inline uint64_t refused(enum nb_refused why)
{
	uint64_t n;

	nb_lock(NB_LOCK_STATE);
	n = nb_comms_refused(why);
	nb_unlock(NB_LOCK_STATE);
	return n;
}

/* ---- changes ---- */

static inline void hold(const char *name, const char *text, const struct nb_map_spec *maps,
			uint32_t nmaps)
{
	struct nb_held *held;
	struct nb_err err = { 0 };
	struct nb_buf b;

	made_image(&b, name, text, maps, nmaps);
	nb_lock(NB_LOCK_STATE);
	ck_assert_msg(!nb_held_add(b.data, b.size, name, NB_SOURCE_SHELL, NULL, NULL, &held, &err),
		      "%s", err.text);
	nb_unlock(NB_LOCK_STATE);
	nb_buf_fini(&b);
}

static struct nb_change last;

static inline int commit(const uint8_t digest[NB_SHA256_SIZE], struct nb_err *err)
{
	return nb_change_commit(digest, NB_CHANGE_ANY, &last, err);
}

static inline void use(const char *name)
{
	uint8_t digest[NB_SHA256_SIZE];
	struct nb_err err = { 0 };

	ck_assert_msg(!stage_use(&name, name ? 1 : 0, digest, &err), "%s", err.text);
	ck_assert_msg(!commit(digest, &err), "%s", err.text);
}

#endif
