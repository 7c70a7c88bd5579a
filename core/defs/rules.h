// SPDX-License-Identifier: MIT
/*
 * Each row is a rule that a program can break.
 *
 * name:     enumerator NB_RULE_<name>;
 * class:    class of the rejection, a row of findings.h;
 * required: what the rule requires;
 * known:    what was found instead;
 * hint:     advice; "" for the advice of the class.
 *
 * The texts are templates. A word in braces stands for a fact of the refusal
 * (struct nb_refusal); core/bpf/verify/report/words.h has a row for each.
 */

RULE(INSN, ENCODING,
     "an instruction of RFC 9669 or of Linux", "{name}", "{text}")
RULE(SLOTS, ENCODING, "1 to {limit} slots", "{count} slots", "")
RULE(MAP_INDEX, ENCODING, "a map index below {limit}", "map index {count}", "")
RULE(MAP_ADDRESS, ENCODING,
     "the address of a value in an array map", "map {map} is of another type", "")
RULE(JUMP_MIDDLE, JUMP_LDDW,
     "a jump to the first slot of an instruction",
     "slot {number} is the second half of the 16-byte load at slot {to}", "")
RULE(JUMP_RANGE, JUMP_RANGE,
     "a jump to a slot from 0 to {limit}", "the jump goes to slot {number}", "")
RULE(JUMP_FUNC, JUMP_RANGE,
     "a jump inside its own function",
     "the jump goes to slot {number}, which is in another function", "")
RULE(FUNCS, FUNCS, "at most {limit} functions", "the program has more", "")
RULE(CALL_TARGET, CALL_TARGET,
     "a call to a function in slots 0 to {limit}", "it calls slot {number}", "")
RULE(FALL_OFF, FALL_OFF,
     "exit or a jump as the function's last instruction",
     "after slot {slot} the function {name} ends", "")
RULE(UNREACHABLE, UNREACHABLE,
     "a path from the program's start to every instruction", "nothing leads to slot {slot}", "")
RULE(RECURSION, RECURSION,
     "no function that calls itself, directly or through others",
     "function {name} is called while it runs", "")
RULE(STACK_DEPTH, STACK_DEPTH,
     "at most {limit} bytes for the frames of a call chain", "{size} bytes: {chain}", "")
RULE(CALL_DEPTH, CALL_DEPTH, "at most {limit} frames", "this call is one more", "")
RULE(CALLBACK_DEPTH, CALL_DEPTH,
     "at most {limit} frames", "the call of the callback is one more", "")

RULE(UNINIT, UNINIT, "{r} written before it is read", "{r}: never written on this path", "")
RULE(UNINIT_CALL, UNINIT,
     "{r} written before it is read",
     "{r}: never written on this path, or lost by a call (r1-r5 do not survive calls)", "")
RULE(FRAME_POINTER, FRAME_POINTER, "r10 only read: it is the frame pointer", "{value}", "")
RULE(SHIFT, SHIFT, "a shift count from 0 to {limit}", "the constant is {number}", "")
RULE(NULL_ARITH, NULL_ARITH, "{r} tested against NULL before it is moved", "{value}", "")
RULE(HANDLE_ARITH, HANDLE_ARITH, "a map or function in {r} left unchanged", "{value}", "")
RULE(PTR_32, PTR_32, "a number in {r} for the {width}-bit operation {insn}", "{value}", "")
RULE(PTR_OP, PTR_OP, "a number in {r} for {insn}", "{value}", "")
RULE(PTR_PTR, PTR_PTR, "a number in {r} to add to the pointer in r{number}", "{value}", "")
RULE(MOVE_CONSTANT, PTR_RANGE,
     "{pointer} moved by a number with a minimum (signed) between -2^29 and 2^29",
     "the pointer is moved by {number} to offset {to}", "")
RULE(MOVE, PTR_RANGE,
     "{pointer} moved by a number with a minimum (signed) between -2^29 and 2^29",
     "{value}", "")
RULE(MOVE_NEGATIVE, PTR_RANGE,
     "{pointer} moved by a number with a minimum (signed) between -2^29 and 2^29",
     "{value}", "the number may be negative: use an unsigned type, or test i >= 0 too")
RULE(RET_POINTER, RET_POINTER, "a number in r0 at exit", "{value}", "")

RULE(NULLABLE_LOOKUP, NULLABLE,
     "{r} tested against NULL before it is dereferenced", "{value}",
     "bpf_map_lookup_elem on {map} returns NULL when there is no such element: "
     "add if (!v) return 0;")
RULE(NULLABLE_RECORD, NULLABLE,
     "{r} tested against NULL before it is dereferenced", "{value}",
     "the reservation at {where} returns NULL when the ring buffer is full: "
     "add if (!e) return 0;")
RULE(NULL_POINTER, NOT_POINTER,
     "a pointer to memory in {r}", "{value}", "the pointer is NULL on this path")
RULE(NOT_POINTER, NOT_POINTER, "a pointer to memory in {r}", "{value}", "")
RULE(MAP_BOUNDS, MAP_BOUNDS,
     "{bytes} within {memory}: offset 0 to {last_offset}", "{access}", "{bound}")
RULE(MAP_TOO_LARGE, MAP_BOUNDS, "at most all of {memory}", "{access}", "{bound}")
RULE(MEM_BOUNDS, MEM_BOUNDS,
     "{bytes} within {memory}: offset 0 to {last_offset}", "{access}", "{bound}")
RULE(MEM_TOO_LARGE, MEM_BOUNDS, "at most all of {memory}", "{access}", "{bound}")
RULE(MAP_SHORT, MAP_BOUNDS,
     "{size} bytes for the {part} of map {map}{of_type}",
     "{r} points to {memory}, at offset {span}", "pass {size} bytes: a variable of the map's type")
RULE(MEM_SHORT, MEM_BOUNDS,
     "{size} bytes for the {part} of map {map}{of_type}",
     "{r} points to {memory}, at offset {span}", "pass {size} bytes: a variable of the map's type")
RULE(MAP_WRITEONLY, MAP_WRITEONLY,
     "a map that programs may read", "map {map} has BPF_F_WRONLY_PROG", "")
RULE(MAP_COHERENT, MAP_COHERENT,
     "a map that programs may write", "map {map} is coherent", "")
RULE(MAP_MERGED, MAP_READONLY,
     "a map that programs may write",
     "map {map} is merged over the processes: controllers only read it", "")
RULE(MAP_CONSTANT, MAP_READONLY,
     "a map that programs may write", "map {map} is read-only (constant data)", "")
RULE(MAP_READONLY, MAP_READONLY,
     "a map that programs may write", "map {map} is read-only (BPF_F_RDONLY_PROG)", "")
RULE(RDONLY, RDONLY, "memory that the program may write", "{value}", "")
RULE(ATOMIC_ALIGN, ATOMIC_ALIGN,
     "an offset that is a multiple of {size}", "the access is at offset {span}", "")

RULE(STACK_BOUNDS, STACK_BOUNDS,
     "{bytes} at r10-{limit} to r10-{size}", "the access is at offset {span} from r10", "")
RULE(STACK_SHORT, STACK_BOUNDS,
     "{part} of map {map} is {size} bytes",
     "{variable} has at most {room}: {r} points to r10-{limit}, and the frame ends at r10",
     "give the variable a type of {size} bytes")
RULE(STACK_SHORT_TYPE, STACK_BOUNDS,
     "{part} of map {map} is {size} bytes ({type})",
     "{variable} has at most {room}: {r} points to r10-{limit}, and the frame ends at r10",
     "declare the variable with the map's type: {type} {declared}")
RULE(STACK_UNINIT, STACK_UNINIT,
     "all of r10{first} to r10{last} written before",
     "the bytes at r10{number} to r10{to} were never written{frame}", "")
RULE(STACK_UNINIT_BYTE, STACK_UNINIT,
     "all of r10{first} to r10{last} written before",
     "the byte at r10{number} was never written{frame}", "")
RULE(STACK_UNINIT_ARG, STACK_UNINIT,
     "all {size} bytes of the {part} of map {map}{of_type} written",
     "{missing} of the {part} at {r}{member}: never written", "{too_small}")
RULE(STACK_PADDING, STACK_UNINIT,
     "all {size} bytes of the {part} of map {map}{of_type} written",
     "{missing} of the {part} at {r}, which are padding between members: never written",
     "padding counts too: clear the variable first: {struct_type} k = {}; "
     "or __builtin_memset(&k, 0, sizeof(k));")
RULE(STACK_ALIGN, STACK_ALIGN,
     "an offset that is a multiple of {size}", "the access is at offset {span} from r10", "")
RULE(STACK_PARTIAL, STACK_PARTIAL,
     "8 bytes at a known offset to read the pointer at r10{number}",
     "{size} bytes are read at offset {span}", "")
RULE(POINTER_SPILL, POINTER_STORE,
     "8 bytes at a known offset to store the pointer in {r}",
     "{size} bytes are stored at offset {span}", "")
RULE(STACK_ESCAPE, STACK_ESCAPE,
     "a pointer that lives as long as the caller's frame", "{value}", "")
RULE(RET_STACK, STACK_ESCAPE, "a return value that outlives the function", "{value}", "")

RULE(CTX_BOUNDS, CTX_BOUNDS,
     "offset 0 to {limit} of struct {ctx}", "the access is at offset {number}", "")
RULE(CTX_NEWER, CTX_NEWER,
     "a field of struct {ctx} as this ncclbpf has it ({limit} bytes)",
     "field {name} is not known to this ncclbpf: the policy was built for a newer one", "")
RULE(CTX_VARIABLE, CTX_VARIABLE, "a constant offset into the context", "{value}", "")
RULE(CTX_ALIGN, CTX_ALIGN,
     "an offset that is a multiple of {size}", "offset {number}, in field {name}", "")
RULE(CTX_FIELD, CTX_FIELD,
     "an access inside one field",
     "{size} bytes at offset {number}; field {name} ends at {limit}", "")
RULE(CTX_PADDING, CTX_FIELD,
     "an access inside one field", "offset {number} is padding", "")
RULE(CTX_READONLY, CTX_READONLY,
     "an output field of struct {ctx}", "{name} is an input ({text})", "")
RULE(CTX_NO_OUTPUT, CTX_READONLY,
     "an output field; struct {ctx} has none", "{name} is an input ({text})",
     "programs of this hook only observe; "
     "a program that chooses for NCCL has SEC(\"tuner\") and struct ncclbpf_tuner")
RULE(CTX_PARTIAL, CTX_PARTIAL,
     "all {limit} bytes of {name} in one store",
     "{size} bytes are stored at offset {number} of the field", "")
RULE(CTX_ATOMIC, CTX_ATOMIC,
     "memory that other threads may share: the stack or a map's value", "{value}", "")
RULE(OUTPUT_POINTER, POINTER_STORE, "a number for an output field", "{value}", "")

RULE(HELPER, HELPER,
     "a helper that this ncclbpf offers", "helper number {number}",
     "docs/policies.md lists the helpers; others of the kernel do not exist inside a job")
RULE(HELPER_KERNEL, HELPER,
     "a helper that this ncclbpf offers", "bpf_{name}, helper {number} of Linux",
     "docs/policies.md lists the helpers; others of the kernel do not exist inside a job")
RULE(HELPER_DYNPTR, HELPER,
     "a helper that this ncclbpf offers", "bpf_{name}, helper {number} of Linux",
     "dynptrs are not supported: use bpf_ringbuf_reserve with a constant size")
RULE(HELPER_LOCK, HELPER,
     "a helper that this ncclbpf offers", "bpf_{name}, helper {number} of Linux",
     "locks are not supported: use atomic operations, such as __sync_fetch_and_add")
RULE(HELPER_TAIL, HELPER,
     "a helper that this ncclbpf offers", "bpf_{name}, helper {number} of Linux",
     "tail calls are not supported: call a static function, or put several policies on the hook")
RULE(HELPER_HOOK, HELPER,
     "a helper of this hook", "{helper} on {hook}",
     "the helper needs the decision of a SEC(\"tuner\") program")
RULE(ARG_MAP, ARG_MAP, "a map in {r} for {helper}", "{value}", "")
RULE(MAP_KIND, MAP_KIND,
     "a map of type {map_types} in {r} for {helper}", "map {map} is of type {map_type}", "")
RULE(ARG_SCALAR, ARG_SCALAR, "a number in {r} for {helper}", "{value}", "")
RULE(ARG_CTX, ARG_CTX, "the context in {r} for {helper}", "{value}", "")
RULE(ARG_MEM, ARG_MEM,
     "{argument} for {helper} in {r}: a pointer to {size} bytes", "{value}", "")
RULE(ARG_NULL, ARG_NULL,
     "{argument} for {helper} in {r}: a pointer to {size} bytes", "{value}", "")
RULE(ARG_STRING, ARG_MEM,
     "a constant string with its NUL in {r} for {helper}", "{value}",
     "write the string as static const char fmt[] = \"...\";")
RULE(SIZE_SCALAR, ARG_SCALAR, "a size in {r} for {helper}", "{value}", "")
RULE(SIZE, ARG_SIZE,
     "a size with a known upper bound in {r} for {helper}", "{value}",
     "compare the size with the size of the memory first")
RULE(SIZE_NEGATIVE, ARG_SIZE,
     "a size with a known upper bound in {r} for {helper}", "{value}",
     "the size may be negative: use an unsigned type")
RULE(SIZE_ZERO, ARG_ZERO,
     "a size of 1 or more in {r} for {helper}", "{value}",
     "test the size first: if (!size) return 0;")

RULE(CALLBACK, CALLBACK, "a function of the program in {r} for {helper}", "{value}", "")
RULE(CALLBACK_PLACE, CALLBACK,
     "a callback that is named in the function that calls {helper}", "{value}",
     "name the callback where the helper is called, not in a caller")
RULE(CALLBACK_RETURN, CALLBACK_RETURN,
     "0 (continue) or 1 (stop) in r0 at a callback's exit", "{value}", "")
RULE(ITER, ITER,
     "an initialised iterator for {helper} in {r}", "{value}",
     "initialise the iterator with bpf_iter_num_new on every path, and destroy it once")
RULE(ITER_PLACE, ITER, "8 aligned bytes of stack for {helper} in {r}", "{value}", "")
RULE(ITER_TAKEN, ITER,
     "8 bytes of stack that hold no iterator for {helper} in {r}",
     "{value}, where another iterator is not yet destroyed",
     "call bpf_iter_num_destroy on it first, or use another variable")
RULE(ITER_LEAK, ITER_LEAK,
     "every iterator destroyed with bpf_iter_num_destroy by this point",
     "{ref}, still held here", "")

RULE(REF_LEAK, REF_LEAK,
     "all reservations released by this point", "{ref}, still held here", "")
RULE(REF_LEAK_CALLBACK, REF_LEAK,
     "all reservations of a callback released before it returns",
     "{ref}, still held here", "")
RULE(REF_COUNT, REF_COUNT,
     "at most {limit} references held at once",
     "this reference is one more; the first was {ref}", "")
RULE(REF_CALLBACK, REF_CALLBACK,
     "a reservation made in the same call of the callback", "{r}: {ref}, outside the callback", "")
RULE(RESERVE_SIZE, RESERVE_SIZE, "a constant size in {r} for {helper}", "{value}", "")
RULE(RELEASED_USE, RELEASED_USE,
     "memory in {r} that is not released yet",
     "{r}: its memory was released at {where}", "")
RULE(RELEASE_TWICE, RELEASE_TWICE,
     "a reservation released once", "{r}: released before, at {where}", "")
RULE(RELEASE_NULL, RELEASE_NULL,
     "in {r} for {helper} the pointer returned by bpf_ringbuf_reserve, tested against NULL",
     "{value}", "")
RULE(RELEASE_OTHER, RELEASE_OTHER,
     "in {r} for {helper} the pointer returned by bpf_ringbuf_reserve, tested against NULL",
     "{value}", "")
RULE(RELEASE_MOVED, RELEASE_MOVED, "{r} as it was {ref}", "{value}", "")
RULE(OBJECT_READ, OBJECT_READ,
     "bytes outside iterators",
     "the bytes from r10{number} on are part of an iterator, {ref}", "")
RULE(OBJECT_WRITE, OBJECT_WRITE,
     "the bytes unchanged until bpf_iter_num_destroy",
     "the bytes from r10{number} on are part of an iterator, {ref}", "")


RULE(LOOP, LOOP,
     "a value that changes in each iteration of the loop at {loop} and ends it",
     "an iteration changes nothing that decides whether the loop ends{exit}", "")
RULE(LOOP_STEPS, COMPLEXITY,
     "an end of the loop at {loop} within {limit} instructions",
     "paths reached its start {count} times{change}{exit}", "")
RULE(LOOP_PATHS, COMPLEXITY,
     "at most {limit} branches that the loop at {loop} leaves undecided",
     "paths reached its start {count} times{change}{exit}", "")
RULE(STEPS, COMPLEXITY,
     "a verdict within {limit} instructions", "paths met {count} times at {where}", "")
RULE(PATHS, COMPLEXITY,
     "at most {limit} undecided branches on a path", "paths met {count} times at {where}", "")
RULE(POLICY_WORK, POLICY_WORK,
     "verdicts on all programs of the policy within {limit} instructions walked",
     "the verifier walked {count} instructions of the policy's earlier programs; "
     "this program used the rest and had reached {where}",
     "")
RULE(MEMORY, MEMORY, "at most {limit} bytes", "{count} slots", "")
RULE(MEMORY_STATES, MEMORY,
     "at most {limit} bytes for states",
     "{size} instructions walked, {count} states kept", "")
RULE(RUN_FIRST, RUN_LENGTH,
     "at most {limit} instructions, calls included, until the next iteration of a loop that the "
     "run counts", "calls of {count} instructions add up to more", "")
RULE(RUN_ITER_STEPS, RUN_LENGTH,
     "at most {limit} iterator steps, where up to {size} instructions follow each",
     "up to {count} steps", "")

RULE(LOCAL_OUTPUT, LOCAL_OUTPUT,
     "a value for ctx->{name} that is equal on all ranks", "{value}; local since {where}", "")
RULE(LOCAL_CONTROL, LOCAL_CONTROL,
     "ctx->{name} written on all ranks or on none",
     "the branch at {where} depends on local data and decides whether this runs", "")
RULE(LOCAL_VERDICT, LOCAL_VERDICT,
     "a return value that is equal on all ranks",
     "the return value depends on local data since {where}", "")

#undef RULE
