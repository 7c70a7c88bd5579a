// SPDX-License-Identifier: MIT
#ifndef NB_TEST_STANDIN_H
#define NB_TEST_STANDIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MAX_RANKS = 64, RING = 4096, MAX_COLLS = 5, MAX_ENV = 128 };

/* What the stand-in was asked to do; the options' texts are in usage. */
struct standin_opts {
	int ranks, nodes, abi, comms, groups;
	bool procs, threads, nvls, hang, events, split, grouped, help, stalls, rccl;
	int prof_abi;
	int colls[MAX_COLLS], ncolls;
	size_t min, max, factor;
	double seconds, noise, rank_us;
	long loops;
	int pause_ms;
	uint64_t ahead;
	uint64_t tags; /* calls have the application's tags 0 to this in turn */
	char *rank_env[MAX_ENV];
	int nrank_env;
	const char *report, *contend;
	const char *meet; /* NULL: all ranks are ours; else we are rank @rank */
	int rank;
	struct replay *table;
	struct odd {
		int rank, every; /* 0: nothing odd */
	} probe, calls_only;
	struct {
		int rank;
		const char *until; /* this file exists; NULL: no windows */
	} windows;
	struct {
		unsigned algos; /* bits of algorithms; 0: no call selects any */
		int rank;	/* whose calls do; -1: those of all */
	} offer;
};

extern struct standin_opts opt;

/* Read the arguments into opt; false: one of them is wrong. */
bool standin_options(int argc, char **argv);
void standin_usage(FILE *f);
/* Say in NCCLBPF_TIMES where times come from; @table: a file, NULL for none. */
void standin_label(const char *table);

#endif
