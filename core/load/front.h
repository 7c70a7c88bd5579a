// SPDX-License-Identifier: MIT
#ifndef NB_LOAD_FRONT_H
#define NB_LOAD_FRONT_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdint.h>

#include "core/bpf/image/image.h"
#include "core/load/elf.h"

/* The passes of the front end over one object, used by object.c alone. */

/* A function of the object: bytes [off, off + size) of a section. */
struct nb_obj_func {
	const char *name;
	uint32_t sec, off, size;
	bool global;
};

/* Facts in the object about one slot of a code section. */
struct nb_obj_slot {
	uint32_t rel; /* Index of the slot's relocation, plus 1; 0: none. */
	/* Number of the function that begins here, plus 1; 0 for none. */
	uint32_t func;
	/* The source line that begins here; its file is NULL for none. */
	struct nb_line line;
};

struct nb_obj_code {
	uint32_t sec;
	uint32_t relsec; /* Section with this section's relocations; 0: none. */
	struct nb_obj_slot *slots;
	uint32_t nslots;
};

/* The place of a map in the object. */
struct nb_obj_place {
	uint32_t sec;
	uint64_t off; /* Offset in .maps; 0 for data sections. */
};

struct nb_front {
	struct nb_arena arena; /* Owns all memory below except obj. */
	struct nb_elf elf;
	/* The sections .BTF and .BTF.ext; empty if missing. */
	struct nb_view btf_bytes, ext;
	struct bpf_object *obj;
	const struct btf *btf; /* Owned by obj; NULL if there is no BTF. */

	struct nb_map_spec maps[NB_IMAGE_MAX_MAPS];
	struct nb_obj_place places[NB_IMAGE_MAX_MAPS];
	uint32_t nmaps;

	/* Code of each section; its slots are NULL if the section has none. */
	struct nb_obj_code *code;
	struct nb_obj_func *funcs;
	uint32_t nfuncs;

	struct nb_prog progs[NB_IMAGE_MAX_PROGS];
	uint32_t nprogs;
	struct nb_ctx_field *ctx_fields;
	uint32_t nctx_fields;
	struct nb_name *names;
	uint32_t nnames;
};

/*
 * maps.c - read the map definitions with libbpf, and the data sections
 *
 * Requires: elf checked. Sets: obj, btf, maps, places.
 */
int nb_front_maps(struct nb_front *f, struct nb_err *err);
/* Return the map at byte @off of section @sec (in a data section, at any
 * byte); -1 for none. */
int nb_front_map_at(const struct nb_front *f, uint32_t sec, uint64_t off);

/*
 * code.c - find code sections, their functions and relocations
 *
 * Requires: elf. Sets: code (rel, func), funcs.
 */
int nb_front_code(struct nb_front *f, struct nb_err *err);
/* Return the number of the function that begins at byte @off of section
 * @sec; -1 for none. */
int64_t nb_front_func_at(const struct nb_front *f, uint32_t sec, int64_t off);
/* Return the helper that an extern function names; NULL if it is no helper. */
const struct nb_helper_spec *nb_front_extern(const char *name);

/*
 * info.c - read from BTF the facts about code and contexts
 *
 * Requires: btf, code. Sets: code (line).
 */
int nb_front_info(struct nb_front *f, struct nb_err *err);
/* Return the type @id without const, typedef and the like; NULL if there is
 * no such type. */
const struct btf_type *nb_front_bare(const struct btf *btf, uint32_t id);
/* Read the fields of the contexts. Requires: btf, progs. Sets: ctx_fields. */
int nb_front_ctx(struct nb_front *f, struct nb_err *err);
/*
 * names.c - read the source's names for parts of keys and values
 *
 * Requires: btf, maps. Sets: names.
 */
int nb_front_names(struct nb_front *f, struct nb_err *err);
/*
 * link.c - link each program with the functions that it reaches
 *
 * Requires: maps, code with info. Sets: progs.
 */
int nb_front_link(struct nb_front *f, struct nb_err *err);

int nb_front_nomem(struct nb_err *err);

#endif
