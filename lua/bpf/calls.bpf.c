// SPDX-License-Identifier: MIT
/*
 * Uprobes on NCCL's interface and on the scheduler's task switches, for `trace
 * calls`. The program runs in the kernel. It does not read the kernel's
 * structures: the address of a task identifies the task.
 */
#include "lua/bpf/calls.h"
#include "lua/bpf/kernel.h"

static u64 (*task)(void) = (void *)35;
static u64 (*cookie)(void *ctx) = (void *)174;

/* A task that is inside a call of NCCL. */
struct in_call {
	struct nb_call_seen seen;
	u64 left; /* time when the task stopped running; 0: it runs */
};

struct {
	INT(type, TYPE_RINGBUF);
	INT(max_entries, 1 << 20);
} ring SEC(".maps");

struct {
	INT(type, TYPE_HASH);
	INT(max_entries, 4096);
	u64 *key;
	struct in_call *value;
} calls SEC(".maps");

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

	if (!c || c->seen.func != (u32)cookie(ctx))
		return 0;
	c->seen.end = end;
	emit(&ring, &c->seen, sizeof(c->seen));
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
