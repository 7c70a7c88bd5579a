// SPDX-License-Identifier: MIT
// Counts task switches and TCP retransmits on each CPU. The program runs in the
// kernel, not in ncclbpf; host_signals loads it if bpf() is permitted.
#include "examples/host-signals/host_signals.h"

#define SEC(name) __attribute__((section(name), used))
#define INT(name, value) int(*name)[value]

typedef unsigned long long u64;
typedef unsigned int u32;

static void *(*lookup)(void *map, const void *key) = (void *)1;
static u64 (*now)(void) = (void *)5;
static u32 (*this_cpu)(void) = (void *)8;

struct {
	INT(type, 2);	       /* BPF_MAP_TYPE_ARRAY */
	INT(map_flags, 0x400); /* BPF_F_MMAPABLE */
	INT(max_entries, KERNEL_CPUS);
	u32 *key;
	struct kernel_count *value;
} counts SEC(".maps");

SEC("raw_tp/sched_switch")
int count_switch(void *ctx)
{
	u32 cpu = this_cpu();
	struct kernel_count *c = lookup(&counts, &cpu);

	if (c) {
		c->switches++;
		c->written_ns = now();
	}
	return 0;
}

SEC("raw_tp/tcp_retransmit_skb")
int count_retransmit(void *ctx)
{
	u32 cpu = this_cpu();
	struct kernel_count *c = lookup(&counts, &cpu);

	if (c) {
		c->retransmits++;
		c->written_ns = now();
	}
	return 0;
}

char gpl[] SEC("license") = "GPL";
