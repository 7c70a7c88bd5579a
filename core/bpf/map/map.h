// SPDX-License-Identifier: MIT
#ifndef NB_MAP_MAP_H
#define NB_MAP_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/bpf/map/cpu.h"
#include "core/bpf/map/def.h"
#include "core/spec/spec.h"

struct nb_map;

/*
 * Bounds of the work of one operation, for the verifier's costs: keys that
 * share a hash bucket (one more is -ENOSPC), and elements that an update of
 * a full LRU hash passes.
 */
enum { NB_MAP_CHAIN_MAX = 32, NB_MAP_LRU_STEPS = 1024 };

/* Largest number of bytes of the replicated maps of one communicator. */
enum { NB_MAP_MAX_STATE = 4096 };

/* Flags of an update (values of linux/bpf.h). */
enum { NB_ANY = 0, NB_NOEXIST = 1, NB_EXIST = 2 };

/*
 * nb_map_plan - bytes of memory that nb_map_new takes for @def on a host with
 * @ncpus possible CPUs
 *
 * Allocates nothing. *@size is UINT64_MAX if they do not fit in 64 bits.
 * Returns 0 or NB_E_MAPDEF.
 */
int nb_map_plan(uint64_t *size, const struct nb_map_def *def, uint32_t ncpus, struct nb_err *err);

/*
 * nb_map_new - make an empty map (arrays: all elements present, zeroed)
 *
 * Allocates all memory; no later operation allocates. *@out has one reference.
 * Returns 0, NB_E_MAPDEF (the kernel's EINVAL or E2BIG), NB_E_LIMIT (over
 * NB_MAP_MAX_BYTES) or NB_E_NOMEM.
 */
enum { NB_MAP_MAX_BYTES = 256 << 20 };
int nb_map_new(struct nb_map **out, const struct nb_map_def *def, struct nb_err *err);
/*
 * Create a map with the same definition and a snapshot of the elements.
 * Other threads may write meanwhile: the copy has all keys that stay, and
 * each bucket of a hash as it was at one moment, or empty if the bucket never
 * stood still. Returns the errors of nb_map_new.
 */
int nb_map_clone(struct nb_map **out, const struct nb_map *from, struct nb_err *err);
/*
 * Give a hash a random hash function, so that nobody can choose keys that share
 * a bucket. Call it before the first key. Other types ignore it; clones inherit
 * it. Hashes without a seed share one function, so that maps with equal keys
 * have equally full buckets everywhere (docs/adr/0011-hash-seeds.md).
 */
void nb_map_seed(struct nb_map *m);
/* Take a reference; NULL gives NULL. */
struct nb_map *nb_map_get(struct nb_map *m);
void nb_map_put(struct nb_map *m); /* Drop a reference; @m may be NULL. */

const struct nb_map_def *nb_map_definition(const struct nb_map *m);
/* Return the number of elements present; for arrays max_entries. */
uint32_t nb_map_count(const struct nb_map *m);
/* Return the bytes of memory that the map has allocated. */
size_t nb_map_memory(const struct nb_map *m);

/*
 * Functions of the management side (shell, loader). A value of a per-CPU
 * type is nb_ncpus() values one after the other, each rounded up to 8
 * bytes, as in the bpf() system call: nb_map_user_value_size bytes in all.
 */
size_t nb_map_user_value_size(const struct nb_map *m);
/*
 * Copy a value. A hash's value is one that an update stored whole, plus
 * stores of programs through pointers; an array's value is read word by
 * word. Returns 0, NB_E_NOKEY or NB_E_BUSY.
 */
int nb_map_read(const struct nb_map *m, const void *key, void *value, struct nb_err *err);
/*
 * Store a value. Returns 0, NB_E_FULL (hash), NB_E_BIG (index of an array),
 * NB_E_EXISTS, NB_E_NOKEY, NB_E_FLAGS, NB_E_BUSY (a bucket was busy for
 * seconds) or NB_E_NOTSUP (a ring buffer has no elements). May sleep.
 */
int nb_map_write(struct nb_map *m, const void *key, const void *value, uint64_t flags,
		 struct nb_err *err);
/*
 * nb_map_write_part - store bytes @at to @at + @size of an array's value
 *
 * The other bytes stay, so that no concurrent store of a program to them is
 * lost. Programs see 1, 2, 4 or 8 bytes at a multiple of their size change at
 * once, others byte by byte. Returns 0, NB_E_BIG (index), NB_E_NOTSUP (type),
 * NB_E_ARG (outside the value) or NB_E_READONLY. Any thread.
 */
int nb_map_write_part(struct nb_map *m, const void *key, uint32_t at, uint32_t size,
		      const void *bytes, struct nb_err *err);
/* Delete an element. Returns 0, NB_E_NOKEY, NB_E_FLAGS (arrays cannot
 * delete), NB_E_BUSY or NB_E_NOTSUP. */
int nb_map_erase(struct nb_map *m, const void *key, struct nb_err *err);
/*
 * Copy the key after @key (NULL: the first) to @next, key_size bytes; @next
 * may be @key. Returns 0, or NB_E_NOKEY at the end. An array's index
 * outside starts over, as in the kernel. A hash continues from the position
 * of @key, present or not (the kernel starts over if it is absent). So an
 * iteration ends whatever other threads do meanwhile, and returns every key
 * that stays.
 */
int nb_map_next(const struct nb_map *m, const void *key, void *next);

/*
 * nb_map_replicate - give each communicator contents of its own
 * @off: place of element 0 in the communicator's memory (struct nb_run.state)
 *
 * @m is an array. Programs without such memory use the map's own contents, which
 * nb_map_read and nb_map_write mean, too. Call it before a program is bound to
 * the map. Clones have the same place. Returns the bytes that the map takes in
 * each communicator's memory.
 */
size_t nb_map_replicate(struct nb_map *m, size_t off);

/*
 * Create a map with the contents that replicated map @m has in the memory @state
 * of a communicator, whose programs may write meanwhile: each 8 bytes are as they
 * were at one moment. Returns the errors of nb_map_new.
 */
int nb_map_of_state(struct nb_map **out, const struct nb_map *m, unsigned char *state,
		    struct nb_err *err);

/*
 * Make nb_map_write and nb_map_erase fail with NB_E_READONLY: programs were
 * verified and compiled with these contents. Call it before other threads see
 * the map. Clones are frozen as well.
 */
void nb_map_freeze(struct nb_map *m);

/* Return the address of element 0 of an array map, such as a data section;
 * NULL if the map has another type. */
void *nb_map_array_base(struct nb_map *m);

#endif
