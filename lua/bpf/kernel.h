// SPDX-License-Identifier: MIT
#ifndef NB_LUA_BPF_KERNEL_H
#define NB_LUA_BPF_KERNEL_H

/*
 * What the programs for the kernel share: numbers of helpers, definitions of
 * maps, and the count of records for which the ring had no room. Built without
 * libbpf's headers.
 */
#define SEC(name) __attribute__((section(name), used))
#define INT(name, value) int(*name)[value]

typedef unsigned long long u64;
typedef unsigned int u32;

static void *(*lookup)(void *map, const void *key) = (void *)1;
static long (*update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static long (*delete)(void *map, const void *key) = (void *)3;
static u64 (*now)(void) = (void *)5;
static u64 (*pid_tgid)(void) = (void *)14;
static long (*output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;

enum {
	TYPE_HASH = 1,	  /* BPF_MAP_TYPE_HASH */
	TYPE_ARRAY = 2,	  /* BPF_MAP_TYPE_ARRAY */
	TYPE_RINGBUF = 27 /* BPF_MAP_TYPE_RINGBUF */
};

/* One element: number of records for which the ring had no room. */
struct {
	INT(type, TYPE_ARRAY);
	INT(max_entries, 1);
	u32 *key;
	u64 *value;
} dropped SEC(".maps");

/* Write a record to @ring, or count it as dropped if the ring has no room. */
static inline void emit(void *ring, void *record, u64 size)
{
	u32 zero = 0;
	u64 *n;

	if (!output(ring, record, size, 0))
		return;
	n = lookup(&dropped, &zero);
	if (n)
		__sync_fetch_and_add(n, 1);
}

char licence[] SEC("license") = "Dual MIT/GPL";

#endif
