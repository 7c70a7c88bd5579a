// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_PROFILER_TELEMETRY_H
#define NB_PLUGIN_PROFILER_TELEMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/jobseg/hist.h"

/*
 * Measured times: a row of histograms for each function, power of two of the
 * size, algorithm and protocol. NCCL's threads write rows without locks. A
 * reader's sums may differ by a few samples.
 */
enum nb_tel_kind {
	NB_TEL_ENQUEUE, /* NCCL's own work on the CPU */
	NB_TEL_KERNEL,	/* longest channel of its kernels */
	NB_TEL_NETWORK, /* first start to last end of its proxy operations */
	NB_TEL_EXEC,	/* duration: the better of the two above */
	NB_TEL_NKINDS
};

/* The source of NB_TEL_EXEC's time. */
enum nb_tel_source {
	NB_SOURCE_NONE,
	NB_SOURCE_GPU,	      /* the GPU's time stamps */
	NB_SOURCE_KERNEL_CPU, /* kernel times seen by the CPU (v3) */
	NB_SOURCE_PROXY,
	NB_NSOURCES
};
const char *nb_tel_source_word(unsigned source);
/* "all_reduce", "send"; NULL for other numbers. */
const char *nb_tel_func_word(uint32_t func);

struct nb_tel_time {
	uint64_t count, sum_ns, max_ns; /* accessed atomically */
	uint32_t hist[NB_HIST_BUCKETS]; /* accessed atomically */
};

/* Any thread, no lock. */
void nb_tel_time_add(struct nb_tel_time *t, uint64_t ns);
/* Reset the counts. Other threads may be adding. */
void nb_tel_time_clear(struct nb_tel_time *t);

struct nb_tel_row {
	uint64_t key; /* atomic; 0: free; nb_tel_key */
	uint64_t bytes_last, channels_last;
	uint64_t bytes_sum; /* bytes of the samples in NB_TEL_EXEC */
	uint64_t source;    /* enum nb_tel_source of the last sample */
	struct nb_tel_time time[NB_TEL_NKINDS];
};

enum { NB_TEL_ROWS = 256, NB_TEL_RECENT = 1024, NB_TEL_NO_WORD = 255 };

/* A recent sample, for comparing ranks. Atomic. */
struct nb_tel_recent {
	uint64_t whole; /* the sample's number + 1; 0: being written */
	uint64_t key, seq, ns;
};

struct nb_tel {
	uint64_t full; /* atomic: samples for which there was no row */
	uint64_t next; /* atomic: samples recorded */
	struct nb_tel_row row[NB_TEL_ROWS];
	struct nb_tel_recent recent[NB_TEL_RECENT];
};

/* A completed collective, send or receive. */
struct nb_sample {
	uint64_t comm_id, seq, bytes, start_ns;
	uint64_t ns[NB_TEL_NKINDS];
	bool has[NB_TEL_NKINDS];
	uint32_t func, algo, proto, channels; /* 255: not known */
	int32_t rank, ranks, nodes, peer;
	uint32_t source;
};

static inline uint64_t nb_tel_key(uint32_t func, uint64_t bytes, uint32_t algo,
				  uint32_t proto)
{
	uint64_t bucket = 63 - (uint64_t)__builtin_clzll(bytes | 1);

	return UINT64_C(1) << 63 | (uint64_t)(func & 255) << 24 | bucket << 16 |
	       (algo & 255) << 8 | (proto & 255);
}

/* Any thread, no lock. */
void nb_tel_add(struct nb_tel *t, const struct nb_sample *s);
/* Copy recent sample number @n; false: overwritten or not written yet. Any
 * thread. */
bool nb_tel_recent(const struct nb_tel *t, uint64_t n,
		   struct nb_tel_recent *out);
/* Reset all counts. Rows keep their keys, since other threads may be adding. */
void nb_tel_clear(struct nb_tel *t);

/*
 * Bus bandwidth is algorithm bandwidth times this (nccl-tests' PERFORMANCE.md);
 * 0 where the number of ranks is not known.
 */
double nb_tel_bus_factor(uint32_t func, int32_t ranks);

#endif
