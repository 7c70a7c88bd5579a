// SPDX-License-Identifier: MIT
/*
 * One row a map type; numbers are Linux's (enum bpf_map_type).
 *
 * name   enumerator NB_MAP_<name>
 * id     BPF_MAP_TYPE_<name>
 * word   name for people and on the wire
 * ops    the type's operations: const struct nb_map_ops nb_map_<ops>_ops
 * flags  map_flags a definition may carry
 * doc    one line for the reference page
 */
/*      name          id word            ops           flags                                                                    doc */
MAPTYPE(HASH,         1, "hash",         hash,         NB_F_NO_PREALLOC | NB_F_RDONLY_PROG | NB_F_WRONLY_PROG,                  "keys of any bytes; look-ups never lock or allocate")
MAPTYPE(ARRAY,        2, "array",        array,        NB_F_MMAPABLE | NB_F_RDONLY_PROG | NB_F_WRONLY_PROG,                     "indices 0 to max_entries - 1, all present from the start, zeroed")
MAPTYPE(PERCPU_ARRAY, 6, "percpu_array", percpu_array, NB_F_RDONLY_PROG | NB_F_WRONLY_PROG,                                     "an array for each possible CPU; programs see the one they run on")

#undef MAPTYPE
