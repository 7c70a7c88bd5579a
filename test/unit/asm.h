// SPDX-License-Identifier: MIT
#ifndef NB_TEST_UNIT_ASM_H
#define NB_TEST_UNIT_ASM_H

#include "core/isa/insn.h"

/*
 * nb_asm - assemble text (the syntax of bpf_conformance's data files:
 * mnemonics of core/defs/isa.h, %r0..%r10, [%r1+4], labels, +N targets, #
 * comments, one instruction a line) to slots
 * @out: up to @max slots; *@n gets the count
 *
 * 0, NB_E_FORMAT (err->at is the line, from 1) or NB_E_LIMIT.
 */
int nb_asm(struct nb_slot *out, size_t max, size_t *n, const char *text,
	   struct nb_err *err);

#endif
