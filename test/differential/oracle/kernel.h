// SPDX-License-Identifier: MIT
#ifndef NB_TEST_KERNEL_H
#define NB_TEST_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/bpf/image/image.h"

/*
 * The running kernel's verifier through raw bpf(2). Programs are loaded as raw
 * tracepoints: their context is 96 bytes of memory that may only be read.
 * Nothing is attached or run.
 */
struct kernel {
	int fds[NB_IMAGE_MAX_MAPS];
	uint32_t nmaps;
	char log[256 << 10]; /* what it said of the last refusal */
	int error;	     /* and its errno, negative */
};

/* Make the maps. 0, or a negative errno: bpf() is not permitted. */
int kernel_open(struct kernel *k, const struct nb_map_spec *maps, uint32_t n);
void kernel_close(struct kernel *k);

/*
 * Does it take the program? Map indices in @slots become its own. 1 or 0; a
 * negative errno when it did not judge (no memory, or 0.2 s were not enough).
 * After 0, k->log ends with the reason.
 */
int kernel_judge(struct kernel *k, const struct nb_slot *slots, uint32_t n);

/* The line of the log that says why, of the last refusal. */
const char *kernel_reason(const struct kernel *k, char *line, uint32_t size);
/* The same of any log of the verifier; "" when there is none. */
const char *kernel_log_reason(const char *log, char *line, uint32_t size);

/* The slot it complained of, as far as the log tells; else -1. */
int64_t kernel_slot(const struct kernel *k);
int64_t kernel_log_slot(const char *log);

#endif
