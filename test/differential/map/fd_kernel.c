// SPDX-License-Identifier: MIT
// Maps whose values name something, beside the kernel's: arrays and hashes of
// maps, arrays of programs. Values are numbers here and descriptors there;
// which map or program is meant is compared by the kernel's ids. A map of maps
// waits for a grace period in each update, so sequences run in many processes,
// which wait side by side.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/differential/map/kernel.h"

enum { GOOD = 3, UNLIKE = 3, ABSENT = 4, WAYS = 5, WORKERS = 40, KEY = 8 };

static const struct nb_map_def defs[] = {
	{ "array_of_maps", NB_MAP_ARRAY_OF_MAPS, 4, 4, 5, 0 },
	{ "array_of_maps of one", NB_MAP_ARRAY_OF_MAPS, 4, 4, 1, 0 },
	{ "hash_of_maps", NB_MAP_HASH_OF_MAPS, 4, 4, 5, 0 },
	{ "hash_of_maps, 8-byte key", NB_MAP_HASH_OF_MAPS, 8, 4, 3,
	  NB_F_NO_PREALLOC },
	{ "prog_array", NB_MAP_PROG_ARRAY, 4, 4, 9, 0 },
	{ "prog_array of one", NB_MAP_PROG_ARRAY, 4, 4, 1, 0 },
};

/* What values can be: three that are good, one that is of another kind. */
static struct {
	int fd[GOOD + 1];
	uint32_t id[GOOD];
	struct nb_map *map[GOOD + 1]; /* NULL: may not be an element */
} maps, progs;

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

static bool are_programs(const struct nb_map_def *def)
{
	return def->type == NB_MAP_PROG_ARRAY;
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
	if (shape_keys(r->def) == NB_KEYS_INDEX && below(r, 30) == 0)
		n = UINT32_MAX - n;
	memcpy(key, &n, 4);
	if (r->def->key_size > 4)
		memcpy(key + 4, &n, 4);
}

static bool update(struct run *r)
{
	static const uint64_t odd[] = { NB_NOEXIST, NB_EXIST, 3, 4,
					1ull << 63 };
	uint64_t flags = below(r, 2) ? 0 : odd[below(r, 5)];
	/* programs are of one kind */
	uint32_t way = (uint32_t)below(r, below(r, 3) ? GOOD : WAYS);
	uint32_t number = way == ABSENT ? 77 : way;
	const int *fds = are_programs(r->def) ? progs.fd : maps.fd;
	int32_t fd = way == ABSENT ? -1 : fds[way];
	unsigned char key[KEY];
	int a, b;

	if (way == UNLIKE && are_programs(r->def))
		return true;
	choose_key(r, key);
	a = r->ours.update(r->ours.self, key, &number, flags);
	b = r->theirs.update(r->theirs.self, key, &fd, flags);
	/* a map that is not like the inner one is none of ours at all */
	if (way == UNLIKE && a == -EBADF && b == -EINVAL)
		return true;
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
	const uint32_t *ids = are_programs(r->def) ? progs.id : maps.id;
	uint32_t number = GOOD, id = 0;
	int a = r->ours.lookup(r->ours.self, key, &number);
	int b = r->theirs.lookup(r->theirs.self, key, &id);

	if (a || b)
		return same(r, "look-up", a, b);
	if (number >= GOOD)
		return same(r, "number", (int)number, GOOD - 1);
	return same(r, "which", (int)ids[number], (int)id);
}

static bool next(struct run *r)
{
	unsigned char key[KEY], at[2][KEY] = { { 0 } };
	bool from = below(r, 4) != 0;
	int a, b;

	if (shape_keys(r->def) != NB_KEYS_INDEX)
		return true;
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

static int kernel_outer(const struct nb_map_def *def)
{
	union bpf_attr a;

	if (are_programs(def))
		return kernel_map(def);
	memset(&a, 0, sizeof(a));
	a.map_type = def->type;
	a.key_size = def->key_size;
	a.value_size = def->value_size;
	a.max_entries = def->max_entries;
	a.map_flags = def->flags;
	a.inner_map_fd = (uint32_t)maps.fd[0];
	return kernel_bpf(BPF_MAP_CREATE, &a);
}

static bool one(struct run *r, int steps)
{
	struct nb_map *m = NULL;
	int fd = kernel_outer(r->def), i = 0;
	bool good = fd >= 0 && !nb_map_new(&m, r->def, NULL);

	if (!good) {
		snprintf(r->why, r->why_size, "no map: %d", fd);
	} else {
		if (are_programs(r->def))
			nb_map_set_programs(m, (1u << GOOD) - 1);
		else
			nb_map_set_maps(m, maps.map, GOOD + 1);
		side_manage(&r->ours, m);
		side_kernel(&r->theirs, &fd, r->def);
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

/* The fourth map has one element more than the others. */
static void make_maps(void)
{
	for (int i = 0; i <= GOOD; i++) {
		const struct nb_map_def inner = {
			"in", NB_MAP_ARRAY, 4, 8, i == UNLIKE ? 3 : 2, 0
		};

		maps.fd[i] = kernel_map(&inner);
		if (i == UNLIKE)
			continue;
		maps.id[i] = kernel_map_id(maps.fd[i]);
		if (nb_map_new(&maps.map[i], &inner, NULL))
			abort();
	}
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
	make_maps();
	for (int i = 0; i < GOOD; i++) {
		progs.fd[i] = make_prog();
		progs.id[i] = prog_id(progs.fd[i]);
	}
	for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
		sequences_of(&defs[i], seed + i, n);
	for (int i = 0; i <= GOOD; i++) {
		close(maps.fd[i]);
		nb_map_put(maps.map[i]);
		if (i < GOOD)
			close(progs.fd[i]);
	}
}
