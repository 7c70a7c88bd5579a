// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TRACE_TELEMETRY_H
#define NB_PLUGIN_TRACE_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/job/segment/hist.h"
#include "plugin/trace/trace.h"

/* What telemetry measures (nb_tel_wanted); nb_events_telemetry sets it. */
enum {
	/* measure the times of collectives, sends and receives */
	NB_TEL_ON = 1,
	NB_TEL_GPU = 2, /* also measure kernels */
	/* also measure the times of the network proxies' operations */
	NB_TEL_PROXY = 4,
};

/*
 * Measured times. There is a row of histograms for each function, power of two
 * of the size, algorithm and protocol. NCCL's threads write rows without locks,
 * so a reader's sums may be off by a few samples.
 */
enum nb_tel_kind {
	NB_TEL_ENQUEUE, /* time of NCCL's own work on the CPU */
	NB_TEL_KERNEL,	/* time of its slowest kernel channel */
	/* time from the first start to the last end of its proxy operations */
	NB_TEL_NETWORK,
	/* duration: the kernel time if known, else the network time */
	NB_TEL_EXEC,
	NB_TEL_NKINDS
};

/* Source of the time in NB_TEL_EXEC. */
enum nb_tel_source {
	NB_SOURCE_NONE,
	NB_SOURCE_GPU,	      /* times that the GPU's time stamps give */
	NB_SOURCE_KERNEL_CPU, /* kernel times as the CPU sees them (v3) */
	NB_SOURCE_PROXY,
	NB_NSOURCES
};
const char *nb_tel_source_word(unsigned source);
/*
 * Returns a function's name, such as "all_reduce", or NULL for other numbers.
 */
const char *nb_tel_func_word(uint32_t func);
/*
 * Returns an algorithm's name, such as "ring", or "symmetric" for symmetric
 * kernels. Returns NULL for other numbers.
 */
const char *nb_tel_algo_word(uint32_t algo);

struct nb_tel_time {
	uint64_t count, sum_ns, max_ns; /* accessed atomically */
	uint32_t hist[NB_HIST_BUCKETS]; /* accessed atomically */
};

/* Add a time. Any thread may call it; it takes no lock. */
void nb_tel_time_add(struct nb_tel_time *t, uint64_t ns);
/* Reset the counts. Other threads may be adding times. */
void nb_tel_time_clear(struct nb_tel_time *t);

struct nb_tel_row {
	/* key made by nb_tel_key; 0: the row is free; accessed atomically */
	uint64_t key;
	uint64_t bytes_last, channels_last;
	uint64_t bytes_sum; /* sum of the bytes of all samples in NB_TEL_EXEC */
	/* source of the last sample's time (enum nb_tel_source) */
	uint64_t source;
	struct nb_tel_time time[NB_TEL_NKINDS];
};

/* The times of the calls that the application has given one tag. */
struct nb_tel_tagged {
	uint64_t bytes_sum; /* sum of the bytes of all samples in exec */
	struct nb_tel_time enqueue, exec;
};

enum { NB_TEL_ROWS = 256, NB_TEL_RECENT = 1024, NB_TEL_TAGS = 64 };

/* A recent sample, used to compare ranks. All fields are atomic. */
struct nb_tel_recent {
	/* number of the sample + 1; 0 while a thread writes the sample */
	uint64_t whole;
	uint64_t key, seq, ns;
};

struct nb_tel {
	uint64_t full; /* samples that found no free row; accessed atomically */
	uint64_t next; /* number of samples recorded; accessed atomically */
	/* tagged samples that found no free entry; accessed atomically */
	uint64_t tags_full;
	/* the tag of each entry of tagged; 0: it is free; accessed atomically */
	uint64_t tag[NB_TEL_TAGS];
	struct nb_tel_tagged tagged[NB_TEL_TAGS];
	struct nb_tel_row row[NB_TEL_ROWS];
	struct nb_tel_recent recent[NB_TEL_RECENT];
};

/* A completed collective, send or receive. */
struct nb_sample {
	uint64_t comm_id, seq, bytes, start_ns;
	uint64_t ns[NB_TEL_NKINDS];
	bool has[NB_TEL_NKINDS];
	/* NCCL's numbers of the words, or NB_WORD_* (trace.h) */
	uint32_t func, algo, proto, channels;
	int32_t rank, ranks, nodes, peer;
	uint32_t source;
	/* the application's tag of the call (profiler v7), or 0 */
	uint64_t tag;
};

static inline uint64_t nb_tel_key(uint32_t func, uint64_t bytes, uint32_t algo, uint32_t proto)
{
	uint64_t bucket = 63 - (uint64_t)__builtin_clzll(bytes | 1);

	return UINT64_C(1) << 63 | (uint64_t)(func & 255) << 24 | bucket << 16 | (algo & 255) << 8 |
	       (proto & 255);
}

/* Record a sample. Any thread may call it; it takes no lock. */
void nb_tel_add(struct nb_tel *t, const struct nb_sample *s);
/*
 * Copy recent sample number @n. Returns false if it is overwritten or not yet
 * written. Any thread may call it.
 */
bool nb_tel_recent(const struct nb_tel *t, uint64_t n, struct nb_tel_recent *out);
/*
 * Reset all counts. Rows keep their keys and tags, because other threads may be
 * adding.
 */
void nb_tel_clear(struct nb_tel *t);
/* Forget all keys and tags. No thread may be adding. */
void nb_tel_forget(struct nb_tel *t);

/*
 * Returns the factor from algorithm bandwidth to bus bandwidth (nccl-tests'
 * PERFORMANCE.md), or 0 if the number of ranks is not known.
 */
double nb_tel_bus_factor(uint32_t func, int32_t ranks);

#endif
