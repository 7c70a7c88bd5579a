// SPDX-License-Identifier: MIT
#ifndef NB_MAP_MAP_H
#define NB_MAP_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/map/cpu.h"
#include "core/spec/spec.h"

struct nb_map;

/* Bounds of the work that an operation on one key does: keys that share a
 * bucket of a hash (one more is refused with -ENOSPC), elements that an update
 * of a full LRU hash passes. The verifier's costs follow from them. */
enum { NB_MAP_CHAIN_MAX = 32, NB_MAP_LRU_STEPS = 1024 };

/* Flags of an update (values of linux/bpf.h). */
enum { NB_ANY = 0, NB_NOEXIST = 1, NB_EXIST = 2 };

/* What a map is made from; image/ maps its specs onto this. */
struct nb_map_def {
	const char *name; /* copied, at most 63 bytes */
	uint32_t type;	  /* enum nb_map_type */
	uint32_t key_size, value_size, max_entries, flags;
};

/*
 * nb_map_def_check - is there such a map?
 *
 * The rules of each type, for images and maps alike; limits of images are
 * narrower. 0 or NB_E_MAPDEF, with words that name the map. Pure.
 */
enum {
	NB_MAP_NAME = 64,   /* bytes, with the NUL */
	NB_PREFIX_MAX = 256 /* bytes of an LPM trie's prefix */
};
int nb_map_def_check(const struct nb_map_def *def, struct nb_err *err);

/*
 * nb_map_plan - bytes of memory that nb_map_new takes for @def on a host with
 * @ncpus possible CPUs
 *
 * Allocates nothing. UINT64_MAX where they do not fit in 64 bits. Errors of
 * nb_map_new, but for its limits.
 */
int nb_map_plan(uint64_t *size, const struct nb_map_def *def, uint32_t ncpus,
		struct nb_err *err);

/*
 * nb_map_new - make an empty map (arrays: all elements present, zeroed)
 *
 * All memory is taken here; nothing later allocates. *@out has one reference.
 * 0, NB_E_MAPDEF (what the kernel answers with EINVAL or E2BIG), NB_E_LIMIT
 * (over NB_MAP_MAX_BYTES), NB_E_NOMEM.
 */
enum { NB_MAP_MAX_BYTES = 256 << 20 };
int nb_map_new(struct nb_map **out, const struct nb_map_def *def,
	       struct nb_err *err);
/*
 * A new map with the same definition and a snapshot of the elements. Others
 * may write meanwhile: keys that stay are in it, each bucket of a hash as it
 * was at one moment. Errors of nb_map_new.
 */
int nb_map_clone(struct nb_map **out, const struct nb_map *from,
		 struct nb_err *err);
/*
 * Give a hash a random hash function, so that nobody can choose keys that share
 * a bucket; before its first key. Other types ignore it, clones inherit it.
 * Hashes that are not seeded have one function for all, and elements of equal
 * maps come in one order everywhere (docs/adr/0011-hash-seeds.md).
 */
void nb_map_seed(struct nb_map *m);
struct nb_map *nb_map_get(struct nb_map *m); /* NULL gives NULL */
void nb_map_put(struct nb_map *m);	     /* NULL is fine */

/* The value's lock is at @lock - 1; 0: it has none. Before others see @m;
 * clones have it too. */
void nb_map_set_lock(struct nb_map *m, uint32_t lock);

const struct nb_map_def *nb_map_definition(const struct nb_map *m);
/* Elements present: arrays max_entries, hashes the count now. */
uint32_t nb_map_count(const struct nb_map *m);
/* Bytes of memory it holds. */
size_t nb_map_memory(const struct nb_map *m);

/*
 * The program side: what the helpers call. Any thread, concurrently with
 * everything else; never allocates, never sleeps, no system call. Error
 * numbers are the kernel's, negative (-ENOENT, -EEXIST, -E2BIG, -EINVAL,
 * -EBUSY when a bucket stays busy).
 *
 * lookup: pointer to the value, key and value sizes of the definition, or
 * NULL. It stays readable and writable as long as the map lives; the element
 * may be deleted and reused meanwhile, as in the kernel's preallocated hash.
 * @cpu: below nb_ncpus(), only per-CPU types look at it.
 */
void *nb_map_lookup(struct nb_map *m, const void *key, uint32_t cpu);
int nb_map_update(struct nb_map *m, const void *key, const void *value,
		  uint64_t flags, uint32_t cpu);
int nb_map_delete(struct nb_map *m, const void *key);

/* Types without keys: -ENOENT (empty; *@value is zeroed), -E2BIG (full and no
 * NB_EXIST among the flags, which replaces the oldest). */
int nb_map_push(struct nb_map *m, const void *value, uint64_t flags);
int nb_map_pop(struct nb_map *m, void *value);
int nb_map_peek(struct nb_map *m, void *value);

/*
 * The management side (shell, loader): values of per-CPU types are
 * nb_ncpus() values one after the other, each rounded up to 8 bytes, as the
 * bpf() system call has them. nb_map_user_value_size tells the total.
 */
size_t nb_map_user_value_size(const struct nb_map *m);
/*
 * 0, NB_E_NOKEY, NB_E_BUSY. A hash's value is one that was stored whole (but
 * for stores that programs make through pointers); an array's is read word by
 * word.
 */
int nb_map_read(const struct nb_map *m, const void *key, void *value,
		struct nb_err *err);
/*
 * 0, NB_E_FULL (hash), NB_E_BIG (index of an array), NB_E_EXISTS, NB_E_NOKEY,
 * NB_E_FLAGS, NB_E_BUSY (a bucket was busy for seconds), NB_E_NOTSUP (a ring
 * buffer has no elements), NB_E_ARG (no such program or map). May sleep.
 */
int nb_map_write(struct nb_map *m, const void *key, const void *value,
		 uint64_t flags, struct nb_err *err);
/*
 * nb_map_write_part - bytes @at to @at + @size of the value of an array's
 * element; the others stay, so that nothing that programs store there
 * meanwhile is lost
 *
 * 1, 2, 4 or 8 bytes at a multiple of their size are seen whole, others byte
 * by byte. 0, NB_E_BIG (index), NB_E_NOTSUP (type), NB_E_ARG (outside the
 * value, or its lock), NB_E_READONLY. Any thread.
 */
int nb_map_write_part(struct nb_map *m, const void *key, uint32_t at,
		      uint32_t size, const void *bytes, struct nb_err *err);
/* 0, NB_E_NOKEY, NB_E_FLAGS (arrays cannot delete), NB_E_BUSY, NB_E_NOTSUP */
int nb_map_erase(struct nb_map *m, const void *key, struct nb_err *err);
/*
 * Types without keys: nb_map_write adds a value, nb_map_read looks at the one
 * that is next (a bloom filter: says whether it has *@value), both ignore the
 * key. nb_map_take takes the next one out: 0, NB_E_NOKEY (empty), NB_E_BUSY,
 * NB_E_NOTSUP. nb_map_nth looks at the one that comes after @i others: 0 or
 * NB_E_NOKEY.
 */
int nb_map_take(struct nb_map *m, void *value, struct nb_err *err);
int nb_map_nth(const struct nb_map *m, uint32_t i, void *value);
/*
 * Walk: @key NULL starts; *@next (key_size bytes) gets the key after @key.
 * 0, or NB_E_NOKEY at the end. @next may be @key. An array's index outside
 * starts over, as in the kernel. A hash goes on from where @key would be,
 * present or not (the kernel starts over when it is not): so a walk ends
 * whatever others do meanwhile, and sees every key that stays.
 */
int nb_map_next(const struct nb_map *m, const void *key, void *next);

/*
 * From now on nb_map_write and nb_map_erase answer NB_E_READONLY; for data
 * that programs were verified and compiled with. Whoever makes the map calls
 * it, before others see it; clones are frozen as well.
 */
void nb_map_freeze(struct nb_map *m);

/*
 * Program arrays: values are numbers of programs, bit i of @programs for
 * program i; none before this.
 * Whoever makes the map calls it, before others see it; clones inherit it.
 */
void nb_map_set_programs(struct nb_map *m, uint32_t programs);
/* The program at @index, -1: none. For bpf_tail_call; any thread, no lock. */
int64_t nb_prog_array_at(const struct nb_map *m, uint32_t index);

/*
 * Maps of maps: values are numbers into @maps[0..n), n at most
 * NB_MAP_MAX_INNER; NULL where that map may not be an element. They are not
 * referenced: whoever makes the map keeps them as long. As above.
 */
enum { NB_MAP_MAX_INNER = 64 };
void nb_map_set_maps(struct nb_map *m, struct nb_map *const *maps, uint32_t n);

/*
 * For the interpreter and JIT: the address of element 0 of an array map
 * (data sections live there), NULL for others.
 */
void *nb_map_array_base(struct nb_map *m);

#endif
