// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_FORMAT_H
#define NB_IMAGE_FORMAT_H

#include <stdint.h>

#include "core/bpf/image/image.h"

/*
 * The bytes of an image, for reader and writer only; docs/image.md describes
 * them for others. All numbers are 32-bit little-endian unless a size is
 * given. A string is an offset into the string section, where offset 0 is the
 * empty string; the strings are in the order of strcmp, each once.
 *
 * header: magic[8] version size name nsections, then for each section, all of
 * them and in this order: kind offset size records. Sections begin at
 * multiples of 8 and follow each other with zero bytes between.
 */
#define NB_IMAGE_MAGIC "\x7fNCCLBPF"
enum { NB_IMAGE_VERSION = 6, NB_IMAGE_HEADER = 24, NB_IMAGE_SECTION = 16 };

enum nb_section {
	NB_SEC_MAPS,
	NB_SEC_DATA, /* Initial values of the maps that have one, in order. */
	NB_SEC_PROGS,
	/* Slots of all programs in order; funcs and lines likewise. */
	NB_SEC_SLOTS,
	NB_SEC_FUNCS,
	NB_SEC_LINES,
	NB_SEC_CTX,
	NB_SEC_BTF,
	NB_SEC_STRINGS,
	NB_SEC_NAMES,
	NB_NSECTIONS
};

enum { NB_IMAGE_FIRST = NB_IMAGE_HEADER + NB_NSECTIONS * NB_IMAGE_SECTION };

/* The type of a field, in the image and in C. */
enum nb_field_kind {
	NB_FIELD_END, /* The end of the list of fields. */
	/* The field is a number; in C it is a uint32_t or an enum. */
	NB_FIELD_NUMBER,
	NB_FIELD_STRING, /* The field is a string; in C it is a const char *. */
	/* The field is the hook's word as a string; in C it is an enum
	 * nb_hook. */
	NB_FIELD_HOOK
};

struct nb_field {
	enum nb_field_kind kind;
	uint32_t off; /* Offset in the struct */
};

/* The records of a section, in the image and as a C struct. */
struct nb_record {
	uint32_t size; /* Bytes of a record in the image. */
	/* Bytes of the struct; 0 if the section is plain bytes. */
	uint32_t mem_size;
	struct nb_field fields[13];
};

/* The records, indexed by enum nb_section. */
extern const struct nb_record nb_records[NB_NSECTIONS];

#endif
