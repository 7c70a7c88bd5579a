// SPDX-License-Identifier: MIT
#ifndef NB_LUA_VALUE_H
#define NB_LUA_VALUE_H

#include <bpf/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lua/core/support/support.h"
#include "lua/core/values/values.h"

/*
 * Functions of btf.c for decode.c and encode.c: types, and a walk over a value
 * by its type. nb_btf_check has checked the type information: ids exist,
 * members lie inside their struct, nesting is at most 32 deep.
 */

/* A conversion between bytes and a Lua value. */
struct nb_walk {
	lua_State *L;
	const struct btf *btf;
	bool exact; /* unsigned 64-bit numbers stay exact (boxed) */
	/* number of elements that the value may still contain */
	uint32_t budget;
	struct nb_err err;
	char path[160]; /* path of the current part for messages, such as
			   "limits[3].max" */
	size_t path_size;
};

/* Record the first error with the current path; returns false. */
bool nb_walk_fail(struct nb_walk *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Append ".name", or "[index]" where @name is NULL, to the path; returns the
 * size that nb_walk_leave restores. */
size_t nb_walk_enter(struct nb_walk *w, const char *name, int64_t index);
void nb_walk_leave(struct nb_walk *w, size_t size);
/* Count one element; false: the value has too many. */
bool nb_walk_count(struct nb_walk *w);

/*
 * Follow @id through typedefs, qualifiers and variables to the type itself;
 * *@id is set to its number. NULL: there is no such type.
 */
const struct btf_type *nb_btf_bare(const struct btf *btf, uint32_t *id);
const char *nb_btf_str(const struct btf *btf, uint32_t off);
/* Does a value of the type have fields? */
bool nb_btf_has_fields(const struct btf_type *t);
/* Is the type "char", so that an array of it is text? */
bool nb_btf_is_char(const struct btf *btf, uint32_t id);

/* A member of a struct or union, or a variable of a data section. */
struct nb_member {
	const char *name;
	uint32_t type;
	uint32_t bit, bits; /* offset and width in bits; width 0: the width of
			       the type */
};

struct nb_member nb_btf_member(const struct btf *btf, const struct btf_type *t, uint32_t i);
/* Get enumerator @i. *@value is signed if the enum is signed. */
const char *nb_btf_enumerator(const struct btf *btf, const struct btf_type *t, uint32_t i,
			      int64_t *value);
/*
 * Find the member @name of @t, also in unnamed members. Members of unnamed
 * members get their offset in @t.
 */
bool nb_btf_find(const struct btf *btf, const struct btf_type *t, const char *name,
		 struct nb_member *m);
/*
 * Fail because @t has no member @name. The message names the nearest member,
 * or all members.
 */
bool nb_walk_no_field(struct nb_walk *w, const struct btf_type *t, const char *name);

/* NCCL's words for the numbers of an enum or a field. */
struct nb_words {
	const char *enum_name; /* of ncclbpf_policy.h */
	/* name of plain integer fields that contain these numbers too */
	const char *field;
	const char *(*word)(int number);
	int (*number)(const char *word); /* returns -1 for an unknown word */
};

/* NCCL's words for an enum or a field; NULL: there are none. */
const struct nb_words *nb_words_of_enum(const char *enum_name);
const struct nb_words *nb_words_of_field(const char *field);

/* Push the field names of @t in their order, as a list. */
void nb_btf_push_order(lua_State *L, const struct btf *btf, const struct btf_type *t);

/*
 * decode.c - push the @size bytes at @bytes as a Lua value of type @id
 * @name: of the variable or field that holds the value, "" if none
 *
 * The object with the type information is argument 1 of the C function: its
 * uservalue keeps the order of fields. False: w->err says why.
 */
bool nb_value_push(struct nb_walk *w, uint32_t id, const void *bytes, size_t size,
		   const char *name);
/*
 * encode.c - store the Lua value at the top of the stack as type @id in @to,
 * which has @size zeroed bytes. @name: as for decode.c.
 */
bool nb_value_put(struct nb_walk *w, uint32_t id, unsigned char *to, size_t size, const char *name);

#endif
