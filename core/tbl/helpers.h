// SPDX-License-Identifier: MIT
/*
 * One row a helper; numbers are those of bpf-helpers(7), so that objects of
 * any BPF compiler mean the same here.
 *
 * id, name   number and name (policies call bpf_<name>)
 * ret        what r0 holds: NB_RET_<ret> (VALUE_OR_NULL: of the map in r1)
 * a1..a5     NB_ARG_<a>:
 *            NONE   not an argument, may hold anything
 *            ANY    an initialised scalar
 *            OPT    anything, also nothing: the caller may leave it out
 *            MAP    a map handle
 *            KEY    readable memory of the map's key size
 *            VALUE  readable memory of the map's value size
 *            MEM    readable memory, as many bytes as the next argument says
 *            OUT    writable memory, likewise; need not be initialised
 *            SIZE   a bounded size of 1 byte or more for the argument before
 *            SIZE0  the same, 0 allowed
 *            CTX    the hook's context
 * maps       map types that the MAP argument may have: NB_MAPS_<maps> of
 *            core/spec/spec.h; NONE where there is no such argument
 * label      coherence of r0: NB_LABEL_COHERENT, NB_LABEL_LOCAL, or MAP: as
 *            the map is (a local map's content is local data)
 * effect     NB_EFFECT_NONE, NB_EFFECT_WRITES_MAP (refused on read-only and
 *            coherent maps)
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

#undef HELPER
