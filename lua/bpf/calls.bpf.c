// SPDX-License-Identifier: MIT
/*
 * Uprobes on NCCL's interface and the scheduler's switches, for `trace calls`.
 * Runs in the kernel, not in our machine. Nothing here depends on the kernel's
 * structures: a task is told by its address alone.
 */
#include "lua/bpf/calls.h"

#define SEC(name) __attribute__((section(name), used))
#define INT(name, value) int(*name)[value]

typedef unsigned long long u64;
typedef unsigned int u32;

static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*update)(void *map, const void *key, const void *value,
		      u64 flags) = (void *)2;
static long (*delete)(void *map, const void *key) = (void *)3;
static u64 (*now)(void) = (void *)5;
static u64 (*pid_tgid)(void) = (void *)14;
static u64 (*task)(void) = (void *)35;
static long (*output)(void *ring, void *data, u64 size,
		      u64 flags) = (void *)130;
static u64 (*cookie)(void *ctx) = (void *)174;

/* A task that is inside a call of NCCL. */
struct in_call {
	struct nb_call_seen seen;
	u64 left; /* time when it stopped running; 0: it runs */
};

struct {
	INT(type, 27); /* BPF_MAP_TYPE_RINGBUF */
	INT(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
	INT(type, 1); /* type 1 is BPF_MAP_TYPE_HASH */
	INT(max_entries, 4096);
	u64 *key;
	struct in_call *value;
} calls SEC(".maps");

struct {
	INT(type, 2); /* BPF_MAP_TYPE_ARRAY, one element */
	INT(max_entries, 1);
	u32 *key;
	u64 *value;
} dropped SEC(".maps");

SEC("uprobe")
int enter(void *ctx)
{
	u64 me = task(), id = pid_tgid();
	struct in_call c = { .left = 0 };

	/* a nested call is part of the outer call */
	if (lookup(&calls, &me))
		return 0;
	c.seen.func = (u32)cookie(ctx);
	c.seen.pid = (u32)(id >> 32);
	c.seen.tid = (u32)id;
	c.seen.start = now();
	update(&calls, &me, &c, 0);
	return 0;
}

SEC("uretprobe")
int leave(void *ctx)
{
	u64 me = task(), end = now();
	struct in_call *c = lookup(&calls, &me);
	u32 zero = 0;
	u64 *n;

	if (!c || c->seen.func != (u32)cookie(ctx))
		return 0;
	c->seen.end = end;
	if (output(&ring, &c->seen, sizeof(c->seen), 0)) {
		n = lookup(&dropped, &zero);
		if (n)
			__sync_fetch_and_add(n, 1);
	}
	delete (&calls, &me);
	return 0;
}

/* arguments: preempt, the old task, the new task */
SEC("raw_tp/sched_switch")
int sched(u64 *ctx)
{
	u64 from = ctx[1], to = ctx[2], t = now(), off;
	struct in_call *c = lookup(&calls, &from);

	if (c) {
		c->left = t;
		c->seen.switches++;
	}
	c = lookup(&calls, &to);
	if (c && c->left) {
		off = t - c->left;
		c->seen.off += off;
		if (off > c->seen.longest)
			c->seen.longest = off;
		c->left = 0;
	}
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
