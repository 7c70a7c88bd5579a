// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_SEGMENT_FILE_H
#define NB_TEST_UNIT_SEGMENT_FILE_H

/* A directory for segments and processes that attach to one. */
#include "test/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/liveness.h"
#include "plugin/job/gen_numbers.h"
#include "plugin/job/startup.h"
#include "plugin/job/fence.h"
#include "plugin/job/fence.h"
#include "plugin/runtime/jobdir.h"
#include "plugin/job/segment.h"
#include "plugin/job/registry.h"

static char path[64], file[96];
static int dirfd = -1;

static inline void set_up(void)
{
	strcpy(path, "/tmp/nbsegXXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(path));
	dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ge(dirfd, 0);
	snprintf(file, sizeof(file), "%s/j.seg", path);
}

static inline void tear_down(void)
{
	unlink(file);
	close(dirfd);
	ck_assert_int_eq(rmdir(path), 0); /* nothing else was left behind */
}

static inline struct nb_segment *attach(void)
{
	struct nb_segment *s;

	ck_assert_int_eq(nb_segment_attach(&s, dirfd, "j", 0, true, NULL), 0);
	return s;
}

static inline int join(struct nb_segment *s, uint64_t id, uint32_t n, uint32_t first,
		       struct nb_seg_comm **c, uint32_t *slot, struct nb_err *err)
{
	int rc;

	ck_assert_int_eq(nb_segment_lock(s, 1000, NULL), 0);
	rc = nb_segment_join(
		s,
		&(struct nb_joining){
			.has_id = true, .comm_id = id, .nranks = n, .nnodes = 1, .first = first },
		c, slot, err);
	nb_segment_unlock(s);
	return rc;
}

static inline uint32_t number(struct nb_segment *s, int byte)
{
	uint8_t digest[NB_SHA256_SIZE];
	uint32_t n;

	memset(digest, byte, sizeof(digest));
	ck_assert_int_eq(nb_segment_gen(s, digest, false, &n, NULL), 0);
	return n;
}

/* In a child: attach and run @fn; its exit status. */
static inline int in_child(void (*fn)(struct nb_segment *))
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		struct nb_segment *s = attach();

		fn(s);
		nb_segment_detach(s);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return status;
}

#endif
