// SPDX-License-Identifier: MIT
#ifndef NB_LOAD_FRONT_H
#define NB_LOAD_FRONT_H

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdint.h>

#include "core/image/image.h"
#include "core/load/elf.h"

/* The passes of the front end over one object, for object.c alone. */

/* A function of the object: bytes [off, off + size) of a section. */
struct nb_obj_func {
	const char *name;
	uint32_t sec, off, size;
	bool global;
};

/* What the object says about one slot of a section of code. */
struct nb_obj_slot {
	uint32_t rel;	    /* its relocation, plus 1; 0: none */
	uint32_t func;	    /* the function that begins here, plus 1; 0: none */
	uint32_t func_type; /* BTF id of its FUNC; 0: none */
	struct nb_line line; /* the line that begins here; file NULL: none */
};

struct nb_obj_code {
	uint32_t sec;
	uint32_t relsec; /* the section of its relocations; 0: none */
	struct nb_obj_slot *slots;
	uint32_t nslots;
};

/* Where a map lies in the object. */
struct nb_obj_place {
	uint32_t sec;
	uint64_t off; /* in .maps; data sections: 0 */
};

struct nb_front {
	struct nb_arena arena; /* owns all memory below but obj */
	struct nb_elf elf;
	struct nb_view btf_bytes, ext; /* .BTF and .BTF.ext; empty: none */
	struct bpf_object *obj;
	const struct btf *btf; /* owned by obj; NULL: none */

	struct nb_map_spec maps[NB_IMAGE_MAX_MAPS];
	struct nb_obj_place places[NB_IMAGE_MAX_MAPS];
	uint32_t nmaps;

	struct nb_obj_code *code; /* one for each section; slots NULL: none */
	struct nb_obj_func *funcs;
	uint32_t nfuncs;

	struct nb_prog progs[NB_IMAGE_MAX_PROGS];
	uint32_t nprogs;
	struct nb_ctx_field *ctx_fields;
	uint32_t nctx_fields;
	struct nb_name *names;
	uint32_t nnames;
	struct nb_map_elem *elems;
	uint32_t nelems;
};

/*
 * maps.c - libbpf's reading of the map definitions, and the data sections
 * Wants: elf checked. Leaves: obj, btf, maps, places.
 */
int nb_front_maps(struct nb_front *f, struct nb_err *err);
/* The map at byte @off of section @sec, anywhere in a data section; -1: none.
 */
int nb_front_map_at(const struct nb_front *f, uint32_t sec, uint64_t off);

/*
 * code.c - sections of code, their functions and relocations
 * Wants: elf. Leaves: code (rel, func), funcs.
 */
int nb_front_code(struct nb_front *f, struct nb_err *err);
/* Number of the function that begins at byte @off of section @sec; -1: none. */
int64_t nb_front_func_at(const struct nb_front *f, uint32_t sec, int64_t off);
/* The helper that an extern function is; NULL: no helper. */
const struct nb_helper_spec *nb_front_extern(const char *name);

/*
 * info.c - what BTF says of code and contexts
 * Wants: btf, code. Leaves: code (func_type, line).
 */
int nb_front_info(struct nb_front *f, struct nb_err *err);
/* The type @id without const, typedef and the like; NULL: no such type. */
const struct btf_type *nb_front_bare(const struct btf *btf, uint32_t id);
/* Wants: btf, progs. Leaves: ctx_fields. */
int nb_front_ctx(struct nb_front *f, struct nb_err *err);
/*
 * names.c - what the source calls the parts of keys and values
 * Wants: btf, maps. Leaves: names.
 */
int nb_front_names(struct nb_front *f, struct nb_err *err);
/* Fill @to from BTF id @type; @to keeps its value if @type is 0. */
void nb_front_sig(const struct nb_front *f, struct nb_func *to, uint32_t type,
		  enum nb_hook hook);

/*
 * link.c - each program with the functions that it reaches
 * Wants: maps, code with info. Leaves: progs.
 */
int nb_front_link(struct nb_front *f, struct nb_err *err);

/*
 * elems.c - initial elements of maps that hold programs
 * Wants: maps, progs. Leaves: elems.
 */
int nb_front_elems(struct nb_front *f, struct nb_err *err);

/*
 * Words of declaration tags on maps, without their prefix; a row without a word
 * ends the list. Where two words have the same tag, objects are written with
 * the first.
 */
#define NB_TAG_PREFIX "ncclbpf:"
struct nb_map_tag {
	const char *word;
	uint32_t tag; /* NB_MAPF_* */
};
extern const struct nb_map_tag nb_map_tags[];

int nb_front_nomem(struct nb_err *err);

#endif
