// SPDX-License-Identifier: MIT
/*
 * Each row is a map type; numbers are Linux's (enum bpf_map_type).
 *
 * name:   enumerator NB_MAP_<name>;
 * id:     BPF_MAP_TYPE_<name>;
 * word:   name for people and on the wire;
 * ops:    the type's operations: const struct nb_map_ops nb_map_<ops>_ops;
 * keys:   NB_KEYS_<keys>:
 *         INDEX   a number of 4 bytes, 0 to max_entries - 1
 *         BYTES   any bytes
 *         RING    no key and no value: records of any size;
 * traits: 0 or NB_TRAIT_*: PERCPU (a value for each CPU), LOCAL (cannot be
 *         coherent: programs change it or it depends on the CPU), LRU
 *         (elements not used lately make room for new ones);
 * flags:  map_flags that a definition may have;
 * doc:    one line for the reference page.
 */
/* The columns are name, id, word, ops, keys, traits, flags and doc. */
MAPTYPE(HASH, 1, "hash", hash, BYTES,
	0, NB_F_NO_PREALLOC | NB_F_RDONLY_PROG | NB_F_WRONLY_PROG,
	"keys of any bytes; look-ups never lock or allocate")
MAPTYPE(ARRAY, 2, "array", array, INDEX,
	0, NB_F_MMAPABLE | NB_F_RDONLY_PROG | NB_F_WRONLY_PROG,
	"indices 0 to max_entries - 1, all present from the start, zeroed")
MAPTYPE(PERCPU_ARRAY, 6, "percpu_array", percpu_array, INDEX,
	NB_TRAIT_LOCAL | NB_TRAIT_PERCPU, NB_F_RDONLY_PROG | NB_F_WRONLY_PROG,
	"an array with a value for each possible CPU; "
	"a program sees the value of the CPU on which it runs")
MAPTYPE(LRU_HASH, 9, "lru_hash", lru_hash, BYTES,
	NB_TRAIT_LOCAL | NB_TRAIT_LRU, NB_F_NO_COMMON_LRU | NB_F_RDONLY_PROG | NB_F_WRONLY_PROG,
	"a hash that is never full: a new key replaces a key that was not looked up lately; "
	"BPF_F_NO_COMMON_LRU has no effect")
MAPTYPE(RINGBUF, 27, "ringbuf", ringbuf, RING,
	NB_TRAIT_LOCAL, 0,
	"records of any size in order, many writers; "
	"max_entries is its size in bytes, a power of two from 4096 on")

#undef MAPTYPE
