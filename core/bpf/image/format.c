// SPDX-License-Identifier: MIT
/* The fields of each record of an image: the single description that reader
 * and writer follow. Fields are listed in the order of their bytes. */
#include "core/bpf/image/format.h"

#define NUMBER(type, field)                                                                       \
	{                                                                                         \
		NB_FIELD_NUMBER,                                                                  \
			offsetof(struct type, field) +                                            \
				0 * sizeof(char[sizeof(((struct type *)0)->field) == 4 ? 1 : -1]) \
	}
#define STRING(type, field)                                   \
	{                                                     \
		NB_FIELD_STRING, offsetof(struct type, field) \
	}

const struct nb_record nb_records[NB_NSECTIONS] = {
	[NB_SEC_MAPS] = { 40,
			  sizeof(struct nb_map_spec),
			  { STRING(nb_map_spec, name), NUMBER(nb_map_spec, type),
			    NUMBER(nb_map_spec, key_size), NUMBER(nb_map_spec, value_size),
			    NUMBER(nb_map_spec, max_entries), NUMBER(nb_map_spec, flags),
			    NUMBER(nb_map_spec, tags), NUMBER(nb_map_spec, origin),
			    NUMBER(nb_map_spec, btf_key), NUMBER(nb_map_spec, btf_value) } },
	[NB_SEC_DATA] = { .size = 1 },
	[NB_SEC_PROGS] = { 20,
			   sizeof(struct nb_prog),
			   { STRING(nb_prog, name), STRING(nb_prog, section),
			     NUMBER(nb_prog, nslots), NUMBER(nb_prog, nfuncs),
			     NUMBER(nb_prog, nlines) } },
	[NB_SEC_SLOTS] = { .size = NB_SLOT_SIZE },
	[NB_SEC_FUNCS] = { 12,
			   sizeof(struct nb_func),
			   { STRING(nb_func, name), NUMBER(nb_func, start),
			     NUMBER(nb_func, end) } },
	[NB_SEC_LINES] = { 20,
			   sizeof(struct nb_line),
			   { NUMBER(nb_line, pc), NUMBER(nb_line, line), NUMBER(nb_line, col),
			     STRING(nb_line, file), STRING(nb_line, text) } },
	[NB_SEC_CTX] = { 16,
			 sizeof(struct nb_ctx_field),
			 { { NB_FIELD_HOOK, offsetof(struct nb_ctx_field, hook) },
			   STRING(nb_ctx_field, name),
			   NUMBER(nb_ctx_field, off),
			   NUMBER(nb_ctx_field, size) } },
	[NB_SEC_BTF] = { .size = 1 },
	[NB_SEC_STRINGS] = { .size = 1 },
	[NB_SEC_NAMES] = { 28,
			   sizeof(struct nb_name),
			   { NUMBER(nb_name, map), NUMBER(nb_name, part), NUMBER(nb_name, level),
			     STRING(nb_name, name), NUMBER(nb_name, off), NUMBER(nb_name, size),
			     NUMBER(nb_name, elem) } },
};
