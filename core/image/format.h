// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_FORMAT_H
#define NB_IMAGE_FORMAT_H

#include <stdint.h>

#include "core/image/image.h"

/*
 * The bytes of an image, for reader and writer alone; docs/image.md is the
 * description for others. All numbers are 32-bit little-endian unless a
 * size is given. A string is an offset into the string section, where
 * offset 0 is the empty string; the strings stand in the order of strcmp,
 * each once.
 *
 * header: magic[8] version size name nsections, then for each section, all
 * of them and in this order: kind offset size records. Sections begin at
 * multiples of 8 and follow each other with zero bytes between.
 */
#define NB_IMAGE_MAGIC "\x7fNCCLBPF"
enum { NB_IMAGE_VERSION = 2, NB_IMAGE_HEADER = 24, NB_IMAGE_SECTION = 16 };

enum nb_section {
	NB_SEC_MAPS,  /* name type key value max_entries flags tags origin
			 btf_key btf_value inner lock */
	NB_SEC_DATA,  /* initial values of the maps that have one, in order */
	NB_SEC_PROGS, /* name section nslots nfuncs nlines */
	NB_SEC_SLOTS, /* of all programs, in order; so are funcs and lines */
	NB_SEC_FUNCS, /* name start end, bytes: linkage has_sig scalar nargs
			 arg[5] 0[3], mem_size[5] */
	NB_SEC_LINES, /* pc line col file text */
	NB_SEC_CTX,   /* hook name off size */
	NB_SEC_BTF,
	NB_SEC_STRINGS,
	NB_SEC_ELEMS, /* map key value */
	NB_SEC_NAMES, /* map part level name off size elem */
	NB_NSECTIONS
};

enum { NB_IMAGE_FIRST = NB_IMAGE_HEADER + NB_NSECTIONS * NB_IMAGE_SECTION };

/* Bytes of a record of each section. */
static const uint32_t nb_record_size[NB_NSECTIONS] = {
	[NB_SEC_MAPS] = 48,  [NB_SEC_DATA] = 1,	  [NB_SEC_PROGS] = 20,
	[NB_SEC_SLOTS] = 8,  [NB_SEC_FUNCS] = 44, [NB_SEC_LINES] = 20,
	[NB_SEC_CTX] = 16,   [NB_SEC_BTF] = 1,	  [NB_SEC_STRINGS] = 1,
	[NB_SEC_ELEMS] = 12, [NB_SEC_NAMES] = 28,
};

#endif
