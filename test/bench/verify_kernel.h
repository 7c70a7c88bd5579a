// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERIFY_KERNEL_H
#define NB_TEST_VERIFY_KERNEL_H

#include <stdint.h>

#include "core/bpf/image/image.h"

/*
 * A program of an image as the running kernel gets it: as a SYSCALL program,
 * whose context may be read and written as the tuner's. Its maps have the
 * kernel's numbers, its iterators are the kernel's functions, callbacks have
 * their BTF, and helpers that only we have are bpf_get_prandom_u32: a number
 * nobody knows as well. Nothing is run.
 */
struct kernel_prog {
	struct nb_slot *slots; /* heap */
	uint32_t n;
	int fds[NB_IMAGE_MAX_MAPS];
	uint32_t nmaps;
	int btf; /* 0: none */
	struct kernel_func {
		uint32_t slot, type;
	} funcs[NB_IMAGE_MAX_FUNCS];
	uint32_t nfuncs;
	unsigned stand_ins; /* calls of such helpers */
	char why[100];	    /* it does not take it: in its words */
};

/*
 * Make it and load it once. 0; a negative errno: the kernel does not take it,
 * @k->why says more. kernel_prog_close in any case.
 */
int kernel_prog_open(struct kernel_prog *k, const struct nb_image *img, const struct nb_prog *prog);
/* Verify and compile: a descriptor, or a negative errno. */
int kernel_prog_load(const struct kernel_prog *k);
void kernel_prog_close(struct kernel_prog *k);

#endif
