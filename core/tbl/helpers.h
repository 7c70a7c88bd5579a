// SPDX-License-Identifier: MIT
/*
 * One row a helper; numbers are those of bpf-helpers(7), so that objects of
 * any BPF compiler mean the same here.
 *
 * id, name   number and name (policies call bpf_<name>)
 * ret        what r0 holds: NB_RET_<ret> (VALUE_OR_NULL: of the map in r1;
 *            VOID: nothing; ELEM: a number to read, NULL at the end)
 * a1..a5     NB_ARG_<a>:
 *            NONE   not an argument, may hold anything
 *            ANY    an initialised scalar
 *            OPT    anything, also nothing: the caller may leave it out
 *            MAP    a map handle
 *            KEY    readable memory of the map's key size
 *            VALUE  readable memory of the map's value size
 *            FILL   writable memory of the map's value size, need not be
 *                   initialised; of a bloom filter like VALUE
 *            MEM    readable memory, as many bytes as the next argument says
 *            OUT    writable memory, likewise; need not be initialised
 *            SIZE   a bounded size of 1 byte or more for the argument before
 *            SIZE0  the same, 0 allowed
 *            CTX    the hook's context
 *            FUNC   a callback: the address of a static function
 *            PASS   anything initialised, handed to the callback
 *            ITER0  8 aligned bytes of stack that become an iterator
 *            ITER   such an iterator
 * maps       map types that the MAP argument may have: NB_MAPS_<maps> of
 *            core/spec/spec.h; NONE where there is no such argument
 * label      coherence of r0: NB_LABEL_COHERENT, NB_LABEL_LOCAL, or MAP: as
 *            the map is (a local map's content is local data)
 * effect     NB_EFFECT_NONE, NB_EFFECT_WRITES_MAP (refused on read-only and
 *            coherent maps); CALLS: runs the FUNC any number of times, TAIL:
 *            goes on in another program; ITER_NEW, ITER_NEXT, ITER_END:
 *            begin, step and end an iterator. Engines lower CALLS and TAIL
 *            themselves; the others have bodies in core/exec/helpers.c
 * doc        one line for the reference page
 */
/*     id name                  ret            a1   a2     a3     a4   a5   maps    label     effect      doc */
HELPER(1, map_lookup_elem,      VALUE_OR_NULL, MAP, KEY,   NONE,  NONE, NONE, LOOKUP,  MAP,      NONE,       "pointer to the element's value, or NULL")
HELPER(2, map_update_elem,      SCALAR,        MAP, KEY,   VALUE, ANY,  NONE, UPDATE,  LOCAL,    WRITES_MAP, "store an element; flags BPF_ANY, BPF_NOEXIST, BPF_EXIST; 0 or a negative errno")
HELPER(3, map_delete_elem,      SCALAR,        MAP, KEY,   NONE,  NONE, NONE, UPDATE,  LOCAL,    WRITES_MAP, "remove an element; 0 or -ENOENT")
HELPER(5, ktime_get_ns,         SCALAR,        NONE, NONE, NONE,  NONE, NONE, NONE,    LOCAL,    NONE,       "CLOCK_MONOTONIC in nanoseconds")
HELPER(6, trace_printk,         SCALAR,        MEM, SIZE,  OPT,   OPT,  OPT,  NONE,    LOCAL,    NONE,       "format at most three values into the policy's trace ring; %d %u %x %p with l or ll, %%; length or a negative errno")
HELPER(7, get_prandom_u32,      SCALAR,        NONE, NONE, NONE,  NONE, NONE, NONE,    LOCAL,    NONE,       "pseudo-random 32 bits")
HELPER(8, get_smp_processor_id, SCALAR,        NONE, NONE, NONE,  NONE, NONE, NONE,    LOCAL,    NONE,       "CPU the program runs on; fixed for one run")
HELPER(12, tail_call,           VOID,          CTX,  MAP,  ANY,   NONE, NONE, PROGS,   LOCAL,    TAIL,       "go on in the program that the program array names, and never return; without such an element, go on here")
HELPER(87, map_push_elem,       SCALAR,        MAP, VALUE, ANY,   NONE, NONE, PUSH,    LOCAL,    WRITES_MAP, "add a value; flags BPF_ANY, BPF_EXIST: in place of the oldest when full; 0, -E2BIG, -EBUSY")
HELPER(88, map_pop_elem,        SCALAR,        MAP, FILL,  NONE,  NONE, NONE, POP,     LOCAL,    WRITES_MAP, "take a value out; 0, -ENOENT (empty, the value is zeroed), -EBUSY")
HELPER(89, map_peek_elem,       SCALAR,        MAP, FILL,  NONE,  NONE, NONE, PUSH,    MAP,      NONE,       "copy the value that pop would take, or ask a bloom filter for one; 0, -ENOENT")
HELPER(164, for_each_map_elem,  SCALAR,        MAP,  FUNC, PASS,  ANY,  NONE, EACH,    COHERENT, CALLS,      "call fn(map, key, value, ctx) for each element until it returns 1; flags 0; number of calls or a negative errno")
HELPER(181, loop,               SCALAR,        ANY,  FUNC, PASS,  ANY,  NONE, NONE,    COHERENT, CALLS,      "call fn(i, ctx) for i from 0 to n - 1 until it returns 1; flags 0; number of calls, -E2BIG (n over 2^23) or -EINVAL")
HELPER(195, map_lookup_percpu_elem, VALUE_OR_NULL, MAP, KEY, ANY,  NONE, NONE, PERCPU,  MAP,      NONE,       "pointer to the element's value of a CPU, or NULL, also where there is no such CPU")
/* Kernel functions of open-coded iterators; the numbers are ours. */
HELPER(0x10001, iter_num_new,     SCALAR,      ITER0, ANY, ANY,   NONE, NONE, NONE,    COHERENT, ITER_NEW,   "begin an iterator over the numbers from start to end - 1; 0, -EINVAL or -E2BIG, and then it is empty; always ended by bpf_iter_num_destroy")
HELPER(0x10002, iter_num_next,    ELEM,        ITER, NONE, NONE,  NONE, NONE, NONE,    COHERENT, ITER_NEXT,  "pointer to the next number, or NULL")
HELPER(0x10003, iter_num_destroy, VOID,        ITER, NONE, NONE,  NONE, NONE, NONE,    COHERENT, ITER_END,   "end an iterator")

#undef HELPER
