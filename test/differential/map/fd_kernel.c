// SPDX-License-Identifier: MIT
// Arrays of programs beside the kernel's. Values are numbers here and
// descriptors there; which program is meant is compared by the kernel's ids.
// Sequences run in many processes.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/differential/map/kernel.h"

enum { GOOD = 3, ABSENT = 3, WAYS = 4, WORKERS = 40, KEY = 8 };

static const struct nb_map_def defs[] = {
	{ "prog_array", NB_MAP_PROG_ARRAY, 4, 4, 9, 0 },
	{ "prog_array of one", NB_MAP_PROG_ARRAY, 4, 4, 1, 0 },
};

/* What values can be. */
static struct {
	int fd[GOOD];
	uint32_t id[GOOD];
} progs;

struct run {
	const struct nb_map_def *def;
	struct side ours, theirs;
	uint64_t rng;
	char *why;
	size_t why_size;
};

static uint64_t below(struct run *r, uint64_t n)
{
	return sequence_random(&r->rng) % n;
}

static bool same(struct run *r, const char *what, int ours, int kernel)
{
	if (ours == kernel)
		return true;
	snprintf(r->why, r->why_size, "%s: ours %d, kernel %d", what, ours,
		 kernel);
	return false;
}

static void choose_key(struct run *r, unsigned char key[KEY])
{
	uint32_t n = (uint32_t)below(r, r->def->max_entries * 3u / 2 + 2);

	memset(key, 0, KEY);
	if (below(r, 30) == 0)
		n = UINT32_MAX - n;
	memcpy(key, &n, 4);
}

static bool update(struct run *r)
{
	static const uint64_t odd[] = { NB_NOEXIST, NB_EXIST, 3, 4,
					1ull << 63 };
	uint64_t flags = below(r, 2) ? 0 : odd[below(r, 5)];
	uint32_t way = (uint32_t)below(r, below(r, 3) ? GOOD : WAYS);
	uint32_t number = way == ABSENT ? 77 : way;
	int32_t fd = way == ABSENT ? -1 : progs.fd[way];
	unsigned char key[KEY];
	int a, b;

	choose_key(r, key);
	a = r->ours.update(r->ours.self, key, &number, flags);
	b = r->theirs.update(r->theirs.self, key, &fd, flags);
	return same(r, "update", a, b);
}

static bool erase(struct run *r)
{
	unsigned char key[KEY];

	choose_key(r, key);
	return same(r, "delete", r->ours.remove(r->ours.self, key),
		    r->theirs.remove(r->theirs.self, key));
}

static bool look_up(struct run *r, const unsigned char *key)
{
	uint32_t number = GOOD, id = 0;
	int a = r->ours.lookup(r->ours.self, key, &number);
	int b = r->theirs.lookup(r->theirs.self, key, &id);

	if (a || b)
		return same(r, "look-up", a, b);
	if (number >= GOOD)
		return same(r, "number", (int)number, GOOD - 1);
	return same(r, "which", (int)progs.id[number], (int)id);
}

static bool next(struct run *r)
{
	unsigned char key[KEY], at[2][KEY] = { { 0 } };
	bool from = below(r, 4) != 0;
	int a, b;

	choose_key(r, key);
	a = r->ours.next(r->ours.self, from ? key : NULL, at[0]);
	b = r->theirs.next(r->theirs.self, from ? key : NULL, at[1]);
	return same(r, "next", a, b) && same(r, "to", at[0][0], at[1][0]);
}

/* Each key that one walks over is there in both; -1 or how many. */
static int walk(struct run *r, const struct side *s)
{
	unsigned char key[KEY] = { 0 }, to[KEY] = { 0 };
	int n = 0;

	for (int rc = s->next(s->self, NULL, key); !rc; n++) {
		if (n > 1000 || !look_up(r, key))
			return -1;
		rc = s->next(s->self, key, to);
		memcpy(key, to, KEY);
	}
	return n;
}

static bool walks(struct run *r)
{
	int a = walk(r, &r->ours), b = a < 0 ? a : walk(r, &r->theirs);

	return a >= 0 && b >= 0 && same(r, "elements", a, b);
}

static bool step(struct run *r)
{
	uint64_t what = below(r, 100);
	unsigned char key[KEY];

	if (what < 35)
		return update(r);
	if (what < 60)
		return erase(r);
	if (what < 75)
		return next(r);
	choose_key(r, key);
	return look_up(r, key);
}

static bool one(struct run *r, int steps)
{
	struct nb_map *m = NULL;
	int fd = kernel_map(r->def), i = 0;
	bool good = fd >= 0 && !nb_map_new(&m, r->def, NULL);

	if (!good) {
		snprintf(r->why, r->why_size, "no map: %d", fd);
	} else {
		nb_map_set_programs(m, (1u << GOOD) - 1);
		side_manage(&r->ours, m);
		side_kernel(&r->theirs, &fd);
		for (; good && i < steps; i++)
			good = step(r);
		good = good && walks(r);
	}
	nb_map_put(m);
	if (fd >= 0)
		close(fd);
	return good;
}

/* Those of @n sequences that fall to worker @w; @bad: 0 or the first's seed. */
static bool worker(const struct nb_map_def *def, uint64_t seed, int n, int w,
		   char *why, size_t size)
{
	struct run r = { .def = def, .why = why, .why_size = size };

	for (int i = w; i < n; i += WORKERS) {
		r.rng = seed * 1000003 + (uint64_t)i;
		if (!one(&r, 1 + (int)below(&r, 24)))
			return false;
	}
	return true;
}

/* One worker a process; what the first that fails has to say. */
static void sequences_of(const struct nb_map_def *def, uint64_t seed, int n)
{
	enum { WHY = 160 };
	char *why = mmap(NULL, WORKERS * WHY, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char name[96];
	const char *first = "no process";
	pid_t pid[WORKERS];
	bool good = why != MAP_FAILED;
	int status;

	for (int w = 0; w < WORKERS; w++) {
		pid[w] = good ? fork() : -1;
		if (pid[w] == 0)
			_exit(!worker(def, seed, n, w, why + (size_t)w * WHY,
				      WHY));
	}
	for (int w = 0; w < WORKERS; w++) {
		if (pid[w] > 0 && waitpid(pid[w], &status, 0) == pid[w] &&
		    status == 0)
			continue;
		if (good && pid[w] > 0)
			first = why + (size_t)w * WHY;
		good = false;
	}
	snprintf(name, sizeof(name), "%s: %d sequences as the kernel",
		 def->name, n);
	ok(good, name, first);
	munmap(why, WORKERS * WHY);
}

/* "mov r0, 0; exit" as a socket filter. */
static int make_prog(void)
{
	static const struct bpf_insn code[] = { { .code = 0xb7 },
						{ .code = 0x95 } };
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	a.insns = (uintptr_t)code;
	a.insn_cnt = 2;
	a.license = (uintptr_t) "GPL";
	return kernel_bpf(BPF_PROG_LOAD, &a);
}

static uint32_t prog_id(int fd)
{
	struct bpf_prog_info info;
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	memset(&info, 0, sizeof(info));
	a.info.bpf_fd = (uint32_t)fd;
	a.info.info_len = sizeof(info);
	a.info.info = (uintptr_t)&info;
	return kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &a) ? 0 : info.id;
}

void fd_sequences(uint64_t seed, int n)
{
	for (int i = 0; i < GOOD; i++) {
		progs.fd[i] = make_prog();
		progs.id[i] = prog_id(progs.fd[i]);
	}
	for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
		sequences_of(&defs[i], seed + i, n);
	for (int i = 0; i < GOOD; i++)
		close(progs.fd[i]);
}
