// SPDX-License-Identifier: MIT
#ifndef NB_LOAD_BTF_H
#define NB_LOAD_BTF_H

#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/view.h"

enum {
	NB_BTF_MAX_TYPES = 1 << 17,
	NB_BTF_MAX_DEPTH = 32,
	/* Largest number of types inside one type, with all levels counted. */
	NB_BTF_MAX_WALK = 1 << 16,
	/* Largest number of variables in all sections; libbpf searches each of
	   them. */
	NB_BTF_MAX_VARS = 1024,
	NB_BTF_MAX_NAME = 255
};

/*
 * nb_btf_check - check that a .BTF section is well-formed
 * @v:   the section
 * @off: its place in the file, for err->at
 * @a:   scratch memory
 *
 * Checks the header, strings, each type's form, every name and type reference,
 * and the kinds of referenced types. No type may contain itself, and chains
 * have at most NB_BTF_MAX_DEPTH types. Limits keep look-ups and walks short.
 * Returns 0, NB_E_BTF, NB_E_LIMIT or NB_E_NOMEM. Source: the kernel's
 * Documentation/bpf/btf.rst.
 */
int nb_btf_check(struct nb_view v, uint32_t off, struct nb_arena *a, struct nb_err *err);

/* Return the string section of a checked .BTF section. */
struct nb_view nb_btf_strings(struct nb_view v);

/* The parts of .BTF.ext. */
enum nb_btf_part { NB_BTF_FUNC_INFO, NB_BTF_LINE_INFO, NB_BTF_CORE_RELO, NB_BTF_NPARTS };

/*
 * nb_btf_ext_check - check that a .BTF.ext section is well-formed
 * @v:       the section
 * @strings: those of .BTF
 */
int nb_btf_ext_check(struct nb_view v, struct nb_view strings, uint32_t off, struct nb_err *err);

/*
 * nb_btf_ext_each - call @fn for each record of a part of a checked .BTF.ext
 * @fn: gets the name of the section that the record is about and a view of
 *      the record, as long as the part's record size; a result other than 0
 *      ends the walk
 *
 * Returns the last result of @fn, or 0 if there was no record.
 */
typedef int nb_btf_record_fn(void *arg, const char *section, struct nb_view record);
int nb_btf_ext_each(struct nb_view v, struct nb_view strings, enum nb_btf_part part,
		    nb_btf_record_fn *fn, void *arg);

#endif
