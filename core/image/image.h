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
#include "core/isa/insn.h"
#include "core/map/map.h"
#include "core/spec/spec.h"

/*
 * The policy image: the one form in which a policy reaches a job. This file
 * is its meaning in memory; docs/image.md describes the bytes. Its digest is
 * the SHA-256 of all of its bytes. Limits, checked by writer and reader:
 */
enum {
	NB_IMAGE_MAX_SIZE = 8 << 20, /* bytes of an image */
	NB_IMAGE_MAX_MAPS = 64,
	NB_IMAGE_MAX_PROGS = 32,
	NB_IMAGE_MAX_SLOTS = 131072, /* of one program, subprograms included */
	NB_IMAGE_MAX_FUNCS = 256,    /* of one program */
	NB_IMAGE_NAME = 64,	     /* bytes of a name, NUL included */
	NB_IMAGE_MAX_KEY = 512,
	NB_IMAGE_MAX_NAMES = 4096,
	NB_IMAGE_MAX_LEVEL = 8,	    /* of a name */
	NB_IMAGE_MAX_ELEMS = 65536, /* initial elements of all maps */
	NB_IMAGE_MAX_VALUE = 64 << 10,
	NB_IMAGE_MAX_DATA = 1 << 20 /* of a read-only data section */
};

/*
 * Origin of a map: a definition in .maps, or a data section. INNER is no map:
 * it defines what the elements of a map of maps are like.
 */
enum nb_map_origin {
	NB_ORIGIN_DEFINED,
	NB_ORIGIN_RODATA,
	NB_ORIGIN_DATA,
	NB_ORIGIN_BSS,
	NB_ORIGIN_INNER
};

enum {
	/* tag "ncclbpf:coherent": programs only read the map, it changes only
	 * at fences, and its content counts as coherent */
	NB_MAPF_COHERENT = 1,
	/* tag "ncclbpf:shared": policies of a process that have this tag share
	 * the map if name and shape are equal */
	NB_MAPF_SHARED = 2,
	/* tags "ncclbpf:sum" or "ncclbpf:histogram", and "ncclbpf:max":
	 * controllers see the map merged over the processes of the host, each 8
	 * bytes of a value by themselves */
	NB_MAPF_SUM = 4,
	NB_MAPF_MAX = 8,
	NB_MAPF_MERGED = NB_MAPF_SUM | NB_MAPF_MAX,
	/* tag "ncclbpf:host": the host writes the map, programs only read it
	 * (core/map/host.h) */
	NB_MAPF_HOST = 16
};

struct nb_map_spec {
	const char *name;	       /* "limits", ".rodata" */
	uint32_t type;		       /* enum nb_map_type */
	uint32_t key_size, value_size; /* bytes */
	uint32_t max_entries;
	uint32_t flags; /* NB_F_* */
	uint32_t tags;	/* NB_MAPF_* */
	enum nb_map_origin origin;
	uint32_t btf_key, btf_value; /* type ids in the image's BTF; 0: none */
	/* maps of maps: the map of the image that is the inner definition, plus
	 * 1; 0: none */
	uint32_t inner;
	uint32_t lock; /* offset of the value's lock, plus 1; 0: none */
	/* data sections: initial value of element 0, value_size bytes; NULL for
	 * .bss and defined maps */
	const unsigned char *init;
};

/* An initial element of a map whose values are programs or maps. */
struct nb_map_elem {
	uint32_t map;	/* number of the image's map */
	uint32_t key;	/* the index, or a hash key of 4 bytes */
	uint32_t value; /* number of the image's program or map */
};

/* A source line. It applies from slot @pc up to the next record's slot. */
struct nb_line {
	uint32_t pc;
	uint32_t line, col; /* from 1; 0 unknown */
	const char *file;
	const char *text; /* the line itself, may be "" */
};

enum nb_linkage { NB_FUNC_STATIC, NB_FUNC_GLOBAL };

/* The type of an argument of a global function, by BTF. */
enum nb_func_arg {
	NB_FARG_SCALAR,
	NB_FARG_CTX,
	NB_FARG_MEM, /* or NULL */
	NB_FARG_OTHER,
	NB_FARG_NONNULL, /* memory, never NULL: tag "arg:nonnull" */
	NB_NFARGS
};

struct nb_func_sig {
	uint8_t nargs;	      /* at most 5 */
	uint8_t arg[5];	      /* enum nb_func_arg */
	uint32_t mem_size[5]; /* bytes, of MEM and NONNULL */
	bool returns_scalar;
	bool returns_other; /* an address or a struct; neither flag: void */
};

/* Is argument @i memory of mem_size bytes? */
static inline bool nb_func_takes_memory(const struct nb_func_sig *sig,
					unsigned i)
{
	return sig->arg[i] == NB_FARG_MEM || sig->arg[i] == NB_FARG_NONNULL;
}

/* A function of a program: slots [start, end). Function 0 is the entry. */
struct nb_func {
	const char *name;
	uint32_t start, end;
	enum nb_linkage linkage; /* static where BTF is missing */
	bool has_sig;
	struct nb_func_sig sig;
};

/*
 * A program: its entry function, then each function that it reaches, once.
 * Calls are relative (LDDW_FUNC and CALL_LOCAL as in struct nb_insn); maps are
 * indices into the image's maps.
 */
struct nb_prog {
	const char *name;    /* C function name */
	const char *section; /* "tuner" */
	enum nb_hook hook;
	const struct nb_slot *slots;
	uint32_t nslots;
	const struct nb_func *funcs;
	uint32_t nfuncs;	     /* at least 1 */
	const struct nb_line *lines; /* ascending pc */
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
 * The source's name for some bytes of a map's key or value, for messages. The
 * first record of a key or value has level 0: all its bytes, with the name of
 * its type. Then come its members (in data sections: variables), each followed
 * by its own members one level deeper.
 */
enum nb_name_part { NB_NAME_KEY, NB_NAME_VALUE };

struct nb_name {
	uint32_t map;	  /* number of the image's map; ascending */
	uint32_t part;	  /* enum nb_name_part; of one map, ascending */
	uint32_t level;	  /* at most NB_IMAGE_MAX_LEVEL */
	const char *name; /* "limits"; "" for a dimension of an array */
	uint32_t off;	  /* offset in an element of its container */
	uint32_t size;	  /* bytes of the part, 1 or more */
	uint32_t elem;	  /* bytes of an element of an array; else size */
};

struct nb_image {
	const char *name; /* of the policy: its file, without suffix */
	uint8_t digest[NB_SHA256_SIZE];
	const struct nb_map_spec *maps;
	uint32_t nmaps;
	const struct nb_prog *progs;
	uint32_t nprogs; /* at least 1 */
	const struct nb_ctx_field *ctx_fields;
	uint32_t nctx_fields;
	const struct nb_map_elem *elems; /* by map, then by key */
	uint32_t nelems;
	const struct nb_name *names;
	uint32_t nnames;
	const unsigned char *btf; /* BTF, for the shell; NULL: none */
	uint32_t btf_size;
	const unsigned char *bytes; /* the image itself */
	size_t size;
	/* private to image.c */
	struct nb_arena arena;
};

/*
 * nb_image_write - write @in (digest, bytes, size, arena ignored) to @out
 *
 * Canonical: equal content gives equal bytes. What nb_image_read would refuse
 * is refused here in the same words; err->at is the number of the record.
 * 0, NB_E_LIMIT, NB_E_NOMEM, NB_E_IMAGE, NB_E_MAPDEF, NB_E_HOOK, NB_E_INSN.
 */
int nb_image_write(struct nb_buf *out, const struct nb_image *in,
		   struct nb_err *err);

/*
 * nb_image_read - check and read an image
 * @bytes: @size untrusted bytes, copied
 *
 * *@out is freed with nb_image_free. Checks everything that is structure:
 * lengths, indices, limits, names, that every slot decodes, map definitions
 * against their type. Safety of the programs is nb_verify's. NULL on failure:
 * NB_E_IMAGE (err->at is the offset), NB_E_MAPDEF, NB_E_HOOK, NB_E_INSN (its
 * content), NB_E_VERSION, NB_E_LIMIT, NB_E_NOMEM.
 * Pure; any thread.
 */
int nb_image_read(struct nb_image **out, const void *bytes, size_t size,
		  struct nb_err *err);
void nb_image_free(struct nb_image *img);

/* Do the bytes begin with an image's signature? */
bool nb_image_is(const void *bytes, size_t size);

/* Index of the map named @name, or -1. */
int nb_image_map(const struct nb_image *img, const char *name);

/* The line record for slot @pc, or NULL. */
const struct nb_line *nb_prog_line(const struct nb_prog *p, uint32_t pc);
/* The function that holds slot @pc. */
const struct nb_func *nb_prog_func(const struct nb_prog *p, uint32_t pc);

/*
 * Does a hook run program @prog by itself? Programs that are initial elements
 * of program arrays are there for tail calls alone, unless all programs are:
 * then all run.
 */
bool nb_image_runs(const struct nb_image *img, uint32_t prog);

/*
 * Programs that tail calls may go to, bit i for program i: the initial elements
 * of program arrays, or all programs where there are none.
 */
uint32_t nb_image_targets(const struct nb_image *img);

/*
 * Programs that elements of program array @map may name, bit i for program i:
 * targets whose hook is that of a program that uses the map. A tail call to
 * any other program falls through. All targets where no program uses the map.
 */
uint32_t nb_image_callable(const struct nb_image *img, uint32_t map);

/*
 * Can map @i of @img be an element of map @outer, a map of maps? Like the
 * kernel: if type, sizes, flags and lock equal those of the inner definition,
 * and for arrays the number of elements too. Also both must be coherent or both
 * local. Merged maps cannot: a controller would find the map of one process.
 */
bool nb_image_may_hold(const struct nb_image *img, uint32_t outer, uint32_t i);

/* The definition for nb_map_new. */
struct nb_map_def nb_map_spec_def(const struct nb_map_spec *s);

/*
 * nb_map_spec_check - may an image define this map?
 *
 * For writer, reader and loader: nb_map_def_check, then the limits of images,
 * tags, data sections and locks. 0, NB_E_MAPDEF, NB_E_LIMIT.
 */
int nb_map_spec_check(const struct nb_map_spec *m, struct nb_err *err);

#endif
