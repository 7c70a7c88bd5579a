// SPDX-License-Identifier: MIT
#ifndef NB_IMAGE_IMAGE_H
#define NB_IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/bpf/isa/insn.h"
#include "core/bpf/map/map.h"
#include "core/spec/spec.h"

/*
 * The policy image: the one form in which a policy reaches a job. This file
 * defines its form in memory; docs/image.md describes the bytes. Its digest
 * is the SHA-256 of all of its bytes. Writer and reader check the limits
 * below.
 */
enum {
	NB_IMAGE_MAX_SIZE = 8 << 20, /* Largest image in bytes. */
	NB_IMAGE_MAX_MAPS = 64,
	NB_IMAGE_MAX_PROGS = 32,
	/* Slots of one program, subprograms included. */
	NB_IMAGE_MAX_SLOTS = 131072,
	NB_IMAGE_MAX_FUNCS = 256, /* Functions of one program */
	NB_IMAGE_NAME = 64,	  /* Bytes of a name, with its NUL. */
	NB_IMAGE_MAX_KEY = 512,
	NB_IMAGE_MAX_NAMES = 4096,
	NB_IMAGE_MAX_LEVEL = 8, /* Nesting of the names of map parts. */
	NB_IMAGE_MAX_VALUE = 64 << 10,
	NB_IMAGE_MAX_DATA = 1 << 20 /* Bytes of a read-only data section. */
};

/* Origin of a map: a definition in .maps, or a data section. */
enum nb_map_origin { NB_ORIGIN_DEFINED, NB_ORIGIN_RODATA, NB_ORIGIN_DATA, NB_ORIGIN_BSS };

enum {
	/* Tag "ncclbpf:coherent": programs only read the map, it changes
	 * only at fences, and its content counts as coherent. */
	NB_MAPF_COHERENT = 1,
	/* Tag "ncclbpf:shared": policies of a process that have this tag
	 * share the map if name and shape are equal. */
	NB_MAPF_SHARED = 2,
	/* Tags "ncclbpf:sum" or "ncclbpf:histogram", and "ncclbpf:max":
	 * controllers see the map merged over the processes of the host.
	 * Each 8 bytes of a value are merged on their own. */
	NB_MAPF_SUM = 4,
	NB_MAPF_MAX = 8,
	NB_MAPF_MERGED = NB_MAPF_SUM | NB_MAPF_MAX,
	/* Tag "ncclbpf:host": the host writes the map, and programs only
	 * read it (core/bpf/map/host.h). */
	NB_MAPF_HOST = 16,
	/* Tag "ncclbpf:replicated": an array with contents for each
	 * communicator. Programs on profiler/coll_api write it alike on all
	 * ranks, and its content counts as coherent. */
	NB_MAPF_REPLICATED = 32
};

struct nb_map_spec {
	const char *name;	       /* For example "limits" or ".rodata". */
	uint32_t type;		       /* Map type, an enum nb_map_type. */
	uint32_t key_size, value_size; /* Sizes of key and value in bytes. */
	uint32_t max_entries;
	uint32_t flags; /* NB_F_* bits of the kernel. */
	uint32_t tags;	/* NB_MAPF_* bits of the tags. */
	enum nb_map_origin origin;
	/* Type ids in the image's BTF; 0 for none. */
	uint32_t btf_key, btf_value;
	/* Data sections: initial value of element 0, value_size bytes; NULL
	 * for .bss and defined maps. */
	const unsigned char *init;
};

/* Can programs take addresses inside the map's value (LDDW_MAP_VALUE)? */
static inline bool nb_map_has_address(const struct nb_map_spec *m)
{
	return m->type == NB_MAP_ARRAY && m->max_entries == 1 && !(m->tags & NB_MAPF_REPLICATED);
}

/* A source line. It applies from slot @pc up to the next record's slot. */
struct nb_line {
	uint32_t pc;
	uint32_t line, col; /* Line and column from 1; 0 if unknown. */
	const char *file;
	const char *text; /* The text of the line; may be "". */
};

/* A function of a program: slots [start, end). Function 0 is the entry. */
struct nb_func {
	const char *name;
	uint32_t start, end;
};

/*
 * A program: its entry function, then each function that it reaches, once.
 * Calls are relative (LDDW_FUNC and CALL_LOCAL as in struct nb_insn); maps are
 * indices into the image's maps.
 */
struct nb_prog {
	const char *name;    /* Name of the C function */
	const char *section; /* Section name, for example "tuner". */
	enum nb_hook hook;
	const struct nb_slot *slots;
	uint32_t nslots;
	const struct nb_func *funcs;
	uint32_t nfuncs;	     /* Number of functions, at least 1. */
	const struct nb_line *lines; /* Line records, in the order of pc. */
	uint32_t nlines;
};

/*
 * A field of a context struct as the policy was compiled against it, so that an
 * older plugin can name the fields that it lacks.
 */
struct nb_ctx_field {
	enum nb_hook hook;
	const char *name;
	uint32_t off, size;
};

/*
 * The source's name for some bytes of a map's key or value, for messages.
 * The first record of a key or value has level 0: all its bytes, with the
 * name of its type. Then come its members (in data sections: variables),
 * each followed by its own members one level deeper.
 */
enum nb_name_part { NB_NAME_KEY, NB_NAME_VALUE };

struct nb_name {
	uint32_t map;	/* Number of the map in the image; ascending. */
	uint32_t part;	/* An enum nb_name_part; ascending within one map. */
	uint32_t level; /* Nesting, at most NB_IMAGE_MAX_LEVEL. */
	/* For example "limits"; "" for a dimension of an array. */
	const char *name;
	uint32_t off;  /* Offset in an element of the container. */
	uint32_t size; /* Size of the part in bytes, at least 1. */
	/* Size of an element of an array in bytes; else equal to size. */
	uint32_t elem;
};

struct nb_image {
	/* Name of the policy: its file name without the suffix. */
	const char *name;
	uint8_t digest[NB_SHA256_SIZE];
	/* The digest that the image has if all parameters (param.h) have their defaults: images
	 * with the same base differ in the values of parameters alone. */
	uint8_t base[NB_SHA256_SIZE];
	const struct nb_map_spec *maps;
	uint32_t nmaps;
	const struct nb_prog *progs;
	uint32_t nprogs; /* Number of programs, at least 1. */
	const struct nb_ctx_field *ctx_fields;
	uint32_t nctx_fields;
	const struct nb_name *names;
	uint32_t nnames;
	const unsigned char *btf; /* BTF, for the shell; NULL for none. */
	uint32_t btf_size;
	const unsigned char *bytes; /* The whole image, @size bytes. */
	size_t size;
	/* Memory of the image; private to image.c. */
	struct nb_arena arena;
};

/*
 * nb_image_write - write @in (except its digest, base, bytes, size and arena) to
 * @out
 *
 * Canonical: equal content gives equal bytes. It rejects what nb_image_read
 * would reject, with the same message; err->at is the number of the record.
 * Returns 0, NB_E_LIMIT, NB_E_NOMEM, NB_E_IMAGE, NB_E_MAPDEF, NB_E_HOOK or
 * NB_E_INSN.
 */
int nb_image_write(struct nb_buf *out, const struct nb_image *in, struct nb_err *err);

/*
 * nb_image_read - check and read an image
 * @bytes: @size untrusted bytes, copied
 *
 * Free *@out with nb_image_free. Checks the structure: lengths, indices,
 * limits, names, that every slot decodes, and map definitions against their
 * type. nb_verify checks the safety of the programs. On failure *@out is NULL:
 * NB_E_IMAGE (err->at is the offset), NB_E_MAPDEF, NB_E_HOOK, NB_E_INSN (its
 * content), NB_E_VERSION, NB_E_LIMIT or NB_E_NOMEM. Pure; any thread.
 */
int nb_image_read(struct nb_image **out, const void *bytes, size_t size, struct nb_err *err);
void nb_image_free(struct nb_image *img);

/* Do the bytes begin with an image's signature? */
bool nb_image_is(const void *bytes, size_t size);

/* Return the index of the map named @name, or -1. */
int nb_image_map(const struct nb_image *img, const char *name);

/* Return the line record for slot @pc, or NULL. */
const struct nb_line *nb_prog_line(const struct nb_prog *p, uint32_t pc);
/* Return the function that holds slot @pc. */
const struct nb_func *nb_prog_func(const struct nb_prog *p, uint32_t pc);

/* Return the definition for nb_map_new. */
struct nb_map_def nb_map_spec_def(const struct nb_map_spec *s);

/*
 * nb_map_spec_check - check whether an image may define this map
 *
 * For writer, reader and loader: it applies nb_map_def_check, then the limits
 * of images, tags and data sections. Returns 0, NB_E_MAPDEF or
 * NB_E_LIMIT.
 */
int nb_map_spec_check(const struct nb_map_spec *m, struct nb_err *err);

#endif
