// SPDX-License-Identifier: MIT
/*
 * Each row is a helper; numbers are those of bpf-helpers(7), so that objects of
 * any BPF compiler mean the same here.
 *
 * id, name:  number and name (policies call bpf_<name>);
 * ret:       what r0 holds: NB_RET_<ret> (VALUE_OR_NULL: of the map in r1;
 *            VOID: nothing; ELEM: a number to read, NULL at the end;
 *            SAMPLE_OR_NULL: ALLOC bytes to release);
 * a1..a5:    NB_ARG_<a>:
 *            NONE   not an argument, may hold anything
 *            ANY    an initialised value; of a pointer the address as a
 *                   number, or a refusal if the effect is CALLS or ITER_…
 *            OPT    anything, even uninitialised: the caller may omit it
 *            MAP    a map handle
 *            KEY    readable memory of the map's key size
 *            VALUE  readable memory of the map's value size
 *            MEM    readable memory, as many bytes as the next argument says
 *            MEM0   like MEM; NULL if the size is 0
 *            OUT    writable memory, likewise; need not be initialised
 *            OUT8   writable memory of 8 bytes, likewise
 *            STR    a constant string with its NUL, in read-only data
 *            SIZE   a bounded size of 1 byte or more for the argument before
 *            SIZE0  the same, 0 allowed
 *            CTX    the hook's context
 *            FUNC   a callback: the address of a static function
 *            CALLBACK_CTX  any initialised value, passed to the callback
 *            ITER0  8 aligned bytes of stack that become an iterator
 *            ITER   such an iterator
 *            ALLOC  a constant size
 *            SAMPLE the pointer that a reservation returned, to be released;
 * maps:      map types that the MAP argument may have: NB_MAPS_<maps> of
 *            core/spec/spec.h; NONE if there is no such argument;
 * label:     coherence of r0: NB_LABEL_COHERENT, NB_LABEL_LOCAL, or MAP: as
 *            the map is (a local map's content is local data);
 * success:   what decides, besides the arguments, whether the call succeeds:
 *            NB_SUCCESS_<success>. Success is NULL or not, 0 or an error, or
 *            whether callbacks run. r0 is rank-local if these data are:
 *            ARGS      the arguments alone, on every host alike
 *            ELEMENTS  the elements of the map; local if the map is local
 *                      and programs add elements to it
 *            CPUS      the number of possible CPUs of the host
 *            PROCESS   this process: its other threads, how full a ring
 *                      buffer is, whether there is a trace ring;
 * effect:    NB_EFFECT_NONE, NB_EFFECT_WRITES_MAP (refused on read-only and
 *            coherent maps, except that controllers update and delete
 *            elements of coherent maps); CALLS: runs the FUNC any
 *            number of times; ITER_NEW, ITER_NEXT, ITER_END: begin, step and
 *            end an iterator. Engines execute CALLS themselves;
 *            core/bpf/exec/run/helpers.c implements the others;
 * cost:      weight of the call in addition to its instruction, for no bytes
 *            and no further work; a unit is about a nanosecond
 *            (make bench-weights);
 * work:      NB_WORK_<work>, which adds to the cost
 *            (core/bpf/verify/feature/helper_cost.c):
 *            NONE     nothing but the bytes of the arguments
 *            SEARCH   the key is searched for in a bucket
 *            STORE    the same, and an update of the map may do more
 *            BUCKETS  all buckets of the map are visited
 *            FORMAT   the characters of a format are read
 *            DIGITS   the digits of a number are read;
 * doc:       one line for the reference page.
 */
/* The columns are id, name, ret, a1, a2, a3, a4, a5, maps, label, success, effect, cost, work and
 * doc. */
HELPER(1, map_lookup_elem, VALUE_OR_NULL, MAP, KEY, NONE, NONE, NONE,
	EACH, MAP, ELEMENTS, NONE, 0, SEARCH,
	"look up an element; returns a pointer to its value, or NULL")
HELPER(2, map_update_elem, SCALAR, MAP, KEY, VALUE, ANY, NONE,
	EACH, LOCAL, PROCESS, WRITES_MAP, 0, STORE,
	"store an element; flags are BPF_ANY, BPF_NOEXIST or BPF_EXIST; "
	"returns 0 or a negative errno")
HELPER(3, map_delete_elem, SCALAR, MAP, KEY, NONE, NONE, NONE,
	EACH, LOCAL, PROCESS, WRITES_MAP, 0, SEARCH,
	"remove an element; returns 0 or -ENOENT")
HELPER(5, ktime_get_ns, SCALAR, NONE, NONE, NONE, NONE, NONE,
	NONE, LOCAL, ARGS, NONE, 32, NONE,
	"CLOCK_MONOTONIC in nanoseconds")
HELPER(6, trace_printk, SCALAR, MEM, SIZE, OPT, OPT, OPT,
	NONE, LOCAL, PROCESS, NONE, 224, FORMAT,
	"format at most three values into the policy's trace ring; "
	"formats are %d %i %u %x, also with l or ll, %p %c and %%; "
	"returns the length or a negative errno")
HELPER(7, get_prandom_u32, SCALAR, NONE, NONE, NONE, NONE, NONE,
	NONE, LOCAL, ARGS, NONE, 3, NONE,
	"pseudo-random 32 bits")
HELPER(8, get_smp_processor_id, SCALAR, NONE, NONE, NONE, NONE, NONE,
	NONE, LOCAL, ARGS, NONE, 0, NONE,
	"return the CPU on which the program runs; it stays the same for one run")
HELPER(105, strtol, SCALAR, MEM, SIZE, ANY, OUT8, NONE,
	NONE, COHERENT, ARGS, NONE, 0, DIGITS,
	"parse a signed number after blanks; flags is the base: 0 (as C writes it), 8, 10 or 16; "
	"returns the number of characters read, "
	"or -EINVAL (no number) or -ERANGE with the number 0")
HELPER(106, strtoul, SCALAR, MEM, SIZE, ANY, OUT8, NONE,
	NONE, COHERENT, ARGS, NONE, 0, DIGITS,
	"parse an unsigned number like bpf_strtol; a sign gives -EINVAL")
HELPER(130, ringbuf_output, SCALAR, MAP, MEM, SIZE0, ANY, NONE,
	RINGBUF, LOCAL, PROCESS, NONE, 0, NONE,
	"append a record; flags are 0, BPF_RB_NO_WAKEUP or BPF_RB_FORCE_WAKEUP; "
	"returns 0, -EAGAIN (full) or -EINVAL")
HELPER(131, ringbuf_reserve, SAMPLE_OR_NULL, MAP, ALLOC, ANY, NONE, NONE,
	RINGBUF, LOCAL, PROCESS, NONE, 0, NONE,
	"reserve a record of constant size; flags must be 0; returns a pointer or NULL; "
	"submit or discard the record on every path")
HELPER(132, ringbuf_submit, VOID, SAMPLE, ANY, NONE, NONE, NONE,
	NONE, LOCAL, ARGS, NONE, 0, NONE,
	"submit the completed record; flags as for bpf_ringbuf_output")
HELPER(133, ringbuf_discard, VOID, SAMPLE, ANY, NONE, NONE, NONE,
	NONE, LOCAL, ARGS, NONE, 0, NONE,
	"discard the reserved record; flags as for bpf_ringbuf_output")
HELPER(134, ringbuf_query, SCALAR, MAP, ANY, NONE, NONE, NONE,
	RINGBUF, LOCAL, ARGS, NONE, 0, NONE,
	"return the number of bytes that the flag names: BPF_RB_AVAIL_DATA, "
	"BPF_RB_RING_SIZE, BPF_RB_CONS_POS or BPF_RB_PROD_POS; 0 for other flags")
HELPER(164, for_each_map_elem, SCALAR, MAP, FUNC, CALLBACK_CTX, ANY, NONE,
	EACH, COHERENT, ELEMENTS, CALLS, 0, BUCKETS,
	"call fn(map, key, value, ctx) for each element until it returns 1; flags must be 0; "
	"returns the number of calls or a negative errno")
HELPER(165, snprintf, SCALAR, OUT, SIZE0, STR, MEM0, SIZE0,
	NONE, COHERENT, ARGS, NONE, 384, FORMAT,
	"format at most 12 numbers of 8 bytes into text; formats of bpf_trace_printk; "
	"returns the length of the whole text with the NUL, even if only a part fits, or -EINVAL")
HELPER(181, loop, SCALAR, ANY, FUNC, CALLBACK_CTX, ANY, NONE,
	NONE, COHERENT, ARGS, CALLS, 0, NONE,
	"call fn(i, ctx) for i from 0 to n - 1 until it returns 1; flags must be 0; "
	"returns the number of calls, -E2BIG (n over 2^23) or -EINVAL")
HELPER(195, map_lookup_percpu_elem, VALUE_OR_NULL, MAP, KEY, ANY, NONE, NONE,
	PERCPU, MAP, CPUS, NONE, 0, SEARCH,
	"return a pointer to the element's value on the given CPU, "
	"or NULL if there is no such element or CPU")
/* Kernel functions of open-coded iterators; the numbers are ours. */
HELPER(0x10001, iter_num_new, SCALAR, ITER0, ANY, ANY, NONE, NONE,
	NONE, COHERENT, ARGS, ITER_NEW, 0, NONE,
	"begin an iterator over the numbers from start to end - 1; "
	"returns 0, or -EINVAL or -E2BIG with an empty iterator; "
	"always end it with bpf_iter_num_destroy")
HELPER(0x10002, iter_num_next, ELEM, ITER, NONE, NONE, NONE, NONE,
	NONE, COHERENT, ARGS, ITER_NEXT, 0, NONE,
	"return a pointer to the next number, or NULL at the end")
HELPER(0x10003, iter_num_destroy, VOID, ITER, NONE, NONE, NONE, NONE,
	NONE, COHERENT, ARGS, ITER_END, 0, NONE,
	"end an iterator")
/* NCCL's costs and wide arithmetic; the numbers are ours. */
HELPER(0x20001, nccl_cost, SCALAR, CTX, ANY, ANY, NONE, NONE,
	NONE, COHERENT, ARGS, NONE, 0, NONE,
	"return the time in ns that NCCL predicts for an algorithm and a protocol "
	"in the current collective; -1: not offered, or not known")
HELPER(0x20002, nccl_cheapest_proto, SCALAR, CTX, ANY, NONE, NONE, NONE,
	NONE, COHERENT, ARGS, NONE, 64, NONE,
	"return the fastest protocol for an algorithm by NCCL's predictions; "
	"-1: none is offered, or costs are not known")
HELPER(0x20003, nccl_cheapest_algo, SCALAR, CTX, ANY, NONE, NONE, NONE,
	NONE, COHERENT, ARGS, NONE, 64, NONE,
	"return the fastest algorithm for a protocol (-1: for any protocol) by NCCL's predictions; "
	"-1: none is offered, or costs are not known")
HELPER(0x20004, mul_div, SCALAR, ANY, ANY, ANY, NONE, NONE,
	NONE, COHERENT, ARGS, NONE, 8, NONE,
	"a * b / c with a product of 128 bits, rounded down; "
	"2^64 - 1 if the result does not fit or c is 0")

#undef HELPER
