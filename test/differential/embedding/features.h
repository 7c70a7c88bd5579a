// SPDX-License-Identifier: MIT
/*
 * What has to occur in programs that are accepted and run, or state embedding
 * says nothing of it. One row a feature: FEATURE(name, words).
 */
FEATURE(SPILL1, "fills of 1 byte")
FEATURE(SPILL2, "fills of 2 bytes")
FEATURE(SPILL4, "fills of 4 bytes")
FEATURE(SPILL8, "fills of 8 bytes")
FEATURE(ATOMIC, "atomics")
FEATURE(MAY_GOTO, "may_goto")
FEATURE(NULLED, "pointers minus themselves")
FEATURE(CALL, "calls of functions")
FEATURE(LOOP, "iterations of bpf_loop")
FEATURE(EACH, "iterations of bpf_for_each_map_elem")
FEATURE(ITER, "numbers of an iterator")
FEATURE(ITER_END, "iterators at their end")
FEATURE(RESERVE, "records reserved")
FEATURE(RESERVE_NULL, "reservations that found no room")
FEATURE(SAMPLE_USE, "accesses to a reserved record")
FEATURE(SUBMIT, "records submitted")
FEATURE(DISCARD, "records discarded")
FEATURE(ARRAY, "values of arrays")
FEATURE(HASH, "values of hashes")
FEATURE(PERCPU_ARRAY, "values of per-CPU arrays")
FEATURE(LRU, "values of LRU hashes")
FEATURE(OTHER_CPU, "values of another CPU")
FEATURE(UPDATE, "updates")
FEATURE(DELETE, "deletions")
FEATURE(OUTPUT, "records written whole")
FEATURE(TEXT, "numbers read from text, text printed")
FEATURE(COST, "NCCL's costs")
FEATURE(STATE, "stores into replicated maps")

#undef FEATURE
