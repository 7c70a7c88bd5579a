// SPDX-License-Identifier: MIT
/*
 * The rules that a program can break, and what is said about each.
 *
 * RULE(name, word, text, required, known, hint)
 *   name:     enumerators NB_RULE_<name> and NB_FIND_<name>, its class;
 *   word:     stable word of the class in the JSON form;
 *   text:     what the class means, without the details of the program;
 *   required: what the rule requires;
 *   known:    what was found instead;
 *   hint:     advice.
 *
 * VARIANT(name, class, required, known, hint): enumerator NB_RULE_<name>, a rule
 * of the same class as the RULE above it. "" stands for that row's text.
 *
 * The last three are templates. A word in braces stands for a fact of the refusal
 * (struct nb_refusal); core/bpf/verify/report/words.h has a row for each.
 */
#ifndef RULE
#define RULE(name, word, text, required, known, hint)
#endif
#ifndef VARIANT
#define VARIANT(name, class, required, known, hint)
#endif

/* Rules about values and registers */
RULE(UNINIT, "uninit", "a register is read before it is written",
	"{r} written before it is read", "{r}: never written on this path",
	"give the variable a value on every path; if it has one, clang removed undefined "
	"behaviour: look for an index past an array's end")
VARIANT(UNINIT_RETURN, UNINIT, "", "", "end the function with a return statement: return 0;")
VARIANT(UNINIT_CALL, UNINIT,
	"", "{r}: never written on this path, or lost by a call (r1-r5 do not survive calls)", "")
RULE(STACK_UNINIT, "stack_uninit", "stack bytes are read before they are written",
	"all of r10{first} to r10{last} written before",
	"the bytes at r10{number} to r10{to} were never written{frame}",
	"initialise the whole variable, padding included: struct key k = {};")
VARIANT(STACK_UNINIT_BYTE, STACK_UNINIT, "", "the byte at r10{number} was never written{frame}", "")
VARIANT(STACK_UNINIT_ARG, STACK_UNINIT,
	"all {size} bytes of the {part} of map {map}{of_type} written",
	"{missing} of the {part} at {r}{member}: never written", "")
VARIANT(STACK_PADDING, STACK_UNINIT,
	"all {size} bytes of the {part} of map {map}{of_type} written",
	"{missing} of the {part} at {r}, which are padding between members: never written",
	"padding counts too: clear the variable first: {struct_type} k = {}; "
	"or __builtin_memset(&k, 0, sizeof(k));")
RULE(NOT_POINTER, "not_pointer", "a plain number is used as an address",
	"a pointer to memory in {r}", "{value}",
	"only pointers from the context, the stack and map look-ups can be dereferenced")
VARIANT(NULL_POINTER, NOT_POINTER, "", "", "the pointer is NULL on this path")
RULE(NULLABLE, "nullable", "a pointer that may be NULL is dereferenced",
	"{r} tested against NULL before it is dereferenced", "{value}",
	"bpf_map_lookup_elem returns NULL when map {map} has no such element: "
	"add if (!v) return 0;")
VARIANT(NULLABLE_RECORD, NULLABLE,
	"", "",
	"the reservation at {where} returns NULL when the ring buffer is full: "
	"add if (!e) return 0;")
RULE(NULL_ARITH, "null_arith", "arithmetic on a pointer that may be NULL",
	"{r} tested against NULL before it is moved", "{value}",
	"test the pointer first: if (!v) return 0;")
RULE(PTR_OP, "pointer_op", "an operation that pointers do not allow",
	"a number in {r} for {insn}", "{value}",
	"only add a bounded number to a pointer, or subtract one")
RULE(PTR_PTR, "pointer_sum", "two pointers are added",
	"a number in {r} to add to the pointer in r{number}", "{value}",
	"the sum of two addresses is no address: add a number to one of them")
RULE(PTR_32, "pointer_32", "32-bit arithmetic on a 64-bit pointer",
	"a number in {r} for the {width}-bit operation {insn}", "{value}",
	"keep an address in a pointer or in a 64-bit variable")
RULE(PTR_RANGE, "pointer_range", "a pointer is moved by a number without useful bounds",
	"{pointer} moved by a number with a minimum (signed) between -2^29 and 2^29", "{value}",
	"bound the index before adding it: if (i >= N) return 0;")
VARIANT(MOVE_CONSTANT, PTR_RANGE, "", "the pointer is moved by {number} to offset {to}", "")
VARIANT(MOVE_NEGATIVE, PTR_RANGE,
	"", "", "the number may be negative: use an unsigned type, or test i >= 0 too")
RULE(HANDLE_ARITH, "handle_arith", "arithmetic on a map handle",
	"a map or function in {r} left unchanged", "{value}",
	"use bpf_map_lookup_elem to get a pointer to a value")
RULE(FRAME_POINTER, "frame_pointer", "the frame pointer r10 is written",
	"r10 only read: it is the frame pointer", "{value}",
	"copy r10 to another register first")
RULE(SHIFT, "shift_width", "a shift by a constant as wide as the operand or wider",
	"a shift count from 0 to {limit}", "the constant is {number}",
	"shift by 0 to 63, in 32-bit arithmetic by 0 to 31")
RULE(RET_POINTER, "return_pointer", "the program returns an address",
	"a number in r0 at exit", "{value}",
	"return a number")

/* Rules about memory accesses */
RULE(MAP_BOUNDS, "map_bounds", "an access outside a map's value",
	"{bytes} within {memory}: offset 0 to {last_offset}", "{access}",
	"check the index against the number of elements before using it")
VARIANT(MAP_TOO_LARGE, MAP_BOUNDS, "at most all of {memory}", "", "")
VARIANT(MAP_SHORT, MAP_BOUNDS,
	"{size} bytes for the {part} of map {map}{of_type}",
	"{r} points to {memory}, at offset {span}",
	"pass {size} bytes: a variable of the map's type")
RULE(MAP_READONLY, "map_read_only", "a store into a read-only map",
	"a map that programs may write", "map {map} is read-only (BPF_F_RDONLY_PROG)",
	"only the shell changes it; copy what you need to a variable, "
	"or use a map without BPF_F_RDONLY_PROG")
VARIANT(MAP_MERGED, MAP_READONLY,
	"", "map {map} is merged over the processes: controllers only read it", "")
VARIANT(MAP_CONSTANT, MAP_READONLY, "", "map {map} is read-only (constant data)", "")
RULE(MAP_WRITEONLY, "map_write_only", "a load from a write-only map",
	"a map that programs may read", "map {map} has BPF_F_WRONLY_PROG",
	"leave BPF_F_WRONLY_PROG out of the map, or read it from the shell")
RULE(MAP_COHERENT, "map_coherent", "a store into a coherent map",
	"a map that programs may write", "map {map} is coherent",
	"coherent maps change only at a fence: let the shell or a controller change it, "
	"or use a map without __coherent")
RULE(MAP_REPLICATED, "map_replicated", "a replicated map is used as its kind does not allow",
	"a look-up on hook tuner or profiler/coll_api", "map {map} is replicated",
	"other hooks run at different moments on each rank: use a map without __replicated there")
VARIANT(MAP_REPLICATED_HELPER, MAP_REPLICATED,
	"a look-up of an element", "",
	"find the element with bpf_map_lookup_elem, then read and write it through the pointer")
VARIANT(MAP_REPLICATED_READ, MAP_REPLICATED,
	"a map that programs on this hook may write", "",
	"NCCL may ask the tuners of some ranks only: let a program on profiler/coll_api write it")
VARIANT(MAP_REPLICATED_STORE, MAP_REPLICATED,
	"a plain store of a number", "",
	"one thread writes the map, so atomic operations are not needed; "
	"let helpers write to a variable, and store that")
RULE(MEM_BOUNDS, "memory_bounds", "an access outside the program's memory",
	"{bytes} within {memory}: offset 0 to {last_offset}", "{access}",
	"compare the offset with the size of the memory first")
VARIANT(MEM_TOO_LARGE, MEM_BOUNDS, "at most all of {memory}", "", "")
VARIANT(MEM_SHORT, MEM_BOUNDS,
	"{size} bytes for the {part} of map {map}{of_type}",
	"{r} points to {memory}, at offset {span}",
	"pass {size} bytes: a variable of the map's type")
RULE(STACK_BOUNDS, "stack_bounds", "an access outside the stack frame",
	"{bytes} at r10-{limit} to r10-{size}", "the access is at offset {span} from r10",
	"a frame has 512 bytes below r10")
VARIANT(STACK_SHORT, STACK_BOUNDS,
	"{part} of map {map} is {size} bytes",
	"{variable} has at most {room}: {r} points to r10-{limit}, and the frame ends at r10",
	"give the variable a type of {size} bytes")
VARIANT(STACK_SHORT_TYPE, STACK_BOUNDS,
	"{part} of map {map} is {size} bytes ({type})",
	"{variable} has at most {room}: {r} points to r10-{limit}, and the frame ends at r10",
	"declare the variable with the map's type: {type} {declared}")
RULE(STACK_ALIGN, "stack_align", "a misaligned stack access",
	"an offset that is a multiple of {size}", "the access is at offset {span} from r10",
	"do not pack the struct; copy odd bytes with __builtin_memcpy")
RULE(STACK_PARTIAL, "stack_partial", "a pointer on the stack is read in part",
	"8 bytes at a known offset to read the pointer at r10{number}",
	"{size} bytes are read at offset {span}",
	"read all 8 bytes")
RULE(STACK_ESCAPE, "stack_escape", "the address of a frame outlives the frame",
	"a pointer that lives as long as the caller's frame", "{value}",
	"let the caller own the memory")
VARIANT(RET_STACK, STACK_ESCAPE, "a return value that outlives the function", "", "")
RULE(STACK_DEPTH, "stack_depth", "the frames of a call chain take too much stack",
	"at most {limit} bytes for the frames of a call chain", "{size} bytes: {chain}",
	"keep less on the stack, for example in a per-CPU array map")
RULE(CTX_BOUNDS, "ctx_bounds", "an access outside the context",
	"offset 0 to {limit} of struct {ctx}", "the access is at offset {number}",
	"access fields by name: ctx->bytes")
RULE(CTX_ALIGN, "ctx_align", "a misaligned access to the context",
	"an offset that is a multiple of {size}", "offset {number}, in field {name}",
	"access fields by name: ctx->bytes; do not cast the context")
RULE(CTX_FIELD, "ctx_field", "an access that is not inside one context field",
	"an access inside one field",
	"{size} bytes at offset {number}; field {name} ends at {limit}",
	"read one field at a time: ctx->bytes; do not cast the context")
VARIANT(CTX_PADDING, CTX_FIELD, "", "offset {number} is padding", "")
RULE(CTX_NEWER, "ctx_newer", "a context field that this ncclbpf does not have",
	"a field of struct {ctx} as this ncclbpf has it ({limit} bytes)",
	"field {name} is not known to this ncclbpf: the policy was built for a newer one",
	"update ncclbpf, or build the policy against the older ncclbpf_policy.h")
RULE(CTX_READONLY, "ctx_read_only", "a store into an input field of the context",
	"an output field of struct {ctx}", "{name} is an input",
	"only outputs can be assigned; copy the input to a variable and change the copy")
VARIANT(CTX_NO_OUTPUT, CTX_READONLY,
	"an output field; struct {ctx} has none", "",
	"programs of this hook only observe; a program that chooses for NCCL has SEC(\"tuner\") "
	"and struct ncclbpf_tuner")
RULE(CTX_PARTIAL, "ctx_partial", "a store that does not cover its output field",
	"all {limit} bytes of {name} in one store",
	"{size} bytes are stored at offset {number} of the field",
	"assign the whole field: ctx->channels = n")
RULE(CTX_VARIABLE, "ctx_variable", "the context is accessed at an offset that is not constant",
	"a constant offset into the context", "{value}",
	"name the field; a variable index into the context has no meaning")
RULE(CTX_ATOMIC, "ctx_atomic", "an atomic operation on the context",
	"memory that other threads may share: the stack or a map's value", "{value}",
	"assign to the field instead (ctx->channels = n): no other thread uses this context")
RULE(ATOMIC_ALIGN, "atomic_align", "a misaligned atomic operation",
	"an offset that is a multiple of {size}", "the access is at offset {span}",
	"give the counter a type of its size, outside packed structs")
RULE(RDONLY, "read_only", "a store into read-only memory",
	"memory that the program may write", "{value}",
	"copy the data to a variable and change the copy")
RULE(POINTER_STORE, "pointer_store", "an address is stored where a number belongs",
	"8 bytes at a known offset to store the pointer in {r}",
	"{size} bytes are stored at offset {span}",
	"store the number that the address points to; an address means nothing outside this run")
VARIANT(OUTPUT_POINTER, POINTER_STORE, "a number for an output field", "{value}", "")

/* Rules about calls of helpers */
RULE(HELPER, "helper_unknown", "a helper that does not exist here",
	"a helper that this ncclbpf offers", "helper number {number}",
	"docs/reference.md lists the helpers; others of the kernel do not exist inside a job")
VARIANT(HELPER_KERNEL, HELPER, "", "bpf_{name}, helper {number} of Linux", "")
VARIANT(HELPER_DYNPTR, HELPER,
	"", "bpf_{name}, helper {number} of Linux",
	"dynptrs are not supported: use bpf_ringbuf_reserve with a constant size")
VARIANT(HELPER_LOCK, HELPER,
	"", "bpf_{name}, helper {number} of Linux",
	"locks are not supported: use atomic operations, such as __sync_fetch_and_add")
VARIANT(HELPER_TAIL, HELPER,
	"", "bpf_{name}, helper {number} of Linux",
	"tail calls are not supported: call a static function, or put several policies on the hook")
VARIANT(HELPER_HOOK, HELPER,
	"a helper of this hook", "{helper} on {hook}",
	"the helper needs the decision of a SEC(\"tuner\") program")
RULE(ARG_MAP, "arg_map", "the argument is not a map",
	"a map in {r} for {helper}", "{value}",
	"pass the address of a map: &name")
RULE(MAP_KIND, "map_kind", "the helper does not support this type of map",
	"a map of type {map_types} in {r} for {helper}", "map {map} is of type {map_type}",
	"docs/reference.md says which helpers go with which map types")
RULE(ARG_SCALAR, "arg_scalar", "the argument is not a number",
	"a number in {r} for {helper}", "{value}",
	"pass the number itself, not its address")
VARIANT(SIZE_SCALAR, ARG_SCALAR, "a size in {r} for {helper}", "", "")
RULE(ARG_MEM, "arg_memory", "the argument is not a pointer to memory",
	"{argument} for {helper} in {r}: a pointer to {size} bytes", "{value}",
	"pass the address of a variable or of a map value")
VARIANT(ARG_STRING, ARG_MEM,
	"a constant string with its NUL in {r} for {helper}", "",
	"write the string as static const char fmt[] = \"...\";")
RULE(ARG_NULL, "arg_null", "the argument may be NULL",
	"{argument} for {helper} in {r}: a pointer to {size} bytes", "{value}",
	"test the pointer first: if (!v) return 0;")
RULE(ARG_SIZE, "arg_size", "the size given to a helper is not bounded by the memory",
	"a size with a known upper bound in {r} for {helper}", "{value}",
	"pass a constant size, or bound it first: if (n > sizeof(buffer)) return 0;")
VARIANT(SIZE_NEGATIVE, ARG_SIZE, "", "", "the size may be negative: use an unsigned type")
RULE(ARG_ZERO, "arg_zero", "the size given to a helper may be 0",
	"a size of 1 or more in {r} for {helper}", "{value}",
	"test the size first: if (!size) return 0;")
RULE(ARG_CTX, "arg_context", "the argument is not the context",
	"the context in {r} for {helper}", "{value}",
	"pass ctx as the program got it")
RULE(CALLBACK, "callback", "the argument is not a callback",
	"a function of the program in {r} for {helper}", "{value}",
	"pass the name of a function of the policy")
VARIANT(CALLBACK_PLACE, CALLBACK,
	"a callback that is named in the function that calls {helper}", "",
	"name the callback where the helper is called, not in a caller")
RULE(ITER, "iterator", "the argument is not an initialised iterator",
	"an initialised iterator for {helper} in {r}", "{value}",
	"initialise the iterator with bpf_iter_num_new on every path, and destroy it once")
VARIANT(ITER_PLACE, ITER, "8 aligned bytes of stack for {helper} in {r}", "", "")
VARIANT(ITER_TAKEN, ITER,
	"8 bytes of stack that hold no iterator for {helper} in {r}",
	"{value}, where another iterator is not yet destroyed",
	"call bpf_iter_num_destroy on it first, or use another variable")
RULE(ITER_LEAK, "iterator_leak", "an iterator is not ended on every path",
	"every iterator destroyed with bpf_iter_num_destroy by this point",
	"{ref}, still held here",
	"ncclbpf_for ends its iterator by itself, also at break and return")
RULE(CALLBACK_RETURN, "callback_return", "a callback returns something other than 0 or 1",
	"0 (continue) or 1 (stop) in r0 at a callback's exit", "{value}",
	"return 0 to continue, 1 to stop")

/* Rules about resources that a program must release */
RULE(REF_LEAK, "reference_leak", "a reservation is not released",
	"all reservations released by this point", "{ref}, still held here",
	"call bpf_ringbuf_submit or bpf_ringbuf_discard on every path, also before an early return")
VARIANT(REF_LEAK_CALLBACK, REF_LEAK,
	"all reservations of a callback released before it returns", "", "")
RULE(RELEASED_USE, "use_after_release", "memory is used after its release",
	"memory in {r} that is not released yet", "{r}: its memory was released at {where}",
	"submit or discard the record last; copy the data that is needed later before that")
RULE(RELEASE_TWICE, "release_twice", "a reservation is released twice",
	"a reservation released once", "{r}: released before, at {where}",
	"return, or set the pointer to NULL, after the first release")
RULE(RELEASE_MOVED, "release_moved", "a moved pointer is released",
	"{r} as it was {ref}", "{value}",
	"keep and release the pointer that bpf_ringbuf_reserve returned")
RULE(RELEASE_NULL, "release_null", "a pointer that may be NULL is released",
	"in {r} for {helper} the pointer returned by bpf_ringbuf_reserve, tested against NULL",
	"{value}",
	"test the pointer first: if (!e) return 0; a reservation that failed needs no release")
RULE(RELEASE_OTHER, "release_other", "a pointer is released that was not reserved",
	"in {r} for {helper} the pointer returned by bpf_ringbuf_reserve, tested against NULL",
	"{value}",
	"release the pointer that bpf_ringbuf_reserve returned")
RULE(REF_CALLBACK, "callback_release", "a callback releases its caller's reservation",
	"a reservation made in the same call of the callback", "{r}: {ref}, outside the callback",
	"release the reservation in the function that calls bpf_loop, after the loop")
RULE(RESERVE_SIZE, "reserve_size", "the size to reserve is not a constant",
	"a constant size in {r} for {helper}", "{value}",
	"reserve sizeof(struct), or use bpf_ringbuf_output for a size known at run time")
RULE(REF_COUNT, "references", "too many references are held at once",
	"at most {limit} references held at once",
	"this reference is one more; the first was {ref}",
	"release each reservation before the next")
RULE(OBJECT_READ, "object_read", "stack bytes of an iterator are read",
	"bytes outside iterators", "the bytes from r10{number} on are part of an iterator, {ref}",
	"read the number through the pointer that bpf_iter_num_next returns")
RULE(OBJECT_WRITE, "object_write", "stack bytes of an iterator are overwritten",
	"the bytes unchanged until bpf_iter_num_destroy",
	"the bytes from r10{number} on are part of an iterator, {ref}",
	"call bpf_iter_num_destroy first")

/* Rules about control flow */
RULE(ENCODING, "encoding", "an invalid instruction",
	"an instruction of RFC 9669 or of Linux", "{name}",
	"compile with clang -target bpf -mcpu=v3; the bytes may be damaged")
VARIANT(SLOTS, ENCODING, "1 to {limit} slots", "{count} slots", "")
VARIANT(MAP_INDEX, ENCODING, "a map index below {limit}", "map index {count}", "")
VARIANT(MAP_ADDRESS, ENCODING,
	"the address of a value in an array map of one element", "map {map} is another map", "")
RULE(JUMP_RANGE, "jump_range", "a jump out of its function",
	"a jump to a slot from 0 to {limit}", "the jump goes to slot {number}",
	"compilers never emit such a jump: in hand-written code, check the offset")
VARIANT(JUMP_FUNC, JUMP_RANGE,
	"a jump inside its own function",
	"the jump goes to slot {number}, which is in another function", "")
RULE(JUMP_LDDW, "jump_middle", "a jump into the middle of an instruction",
	"a jump to the first slot of an instruction",
	"slot {number} is the second half of the 16-byte load at slot {to}",
	"compilers never emit such a jump: a 64-bit constant takes two slots")
RULE(FALL_OFF, "fall_off", "a path runs past the last instruction",
	"exit or a jump as the function's last instruction",
	"after slot {slot} the function {name} ends",
	"end every path with exit")
RULE(UNREACHABLE, "unreachable", "an unreachable instruction",
	"a path from the program's start to every instruction", "nothing leads to slot {slot}",
	"remove it")
RULE(CALL_TARGET, "call_target", "a call outside the program",
	"a call to a function in slots 0 to {limit}", "it calls slot {number}",
	"define the function in the same file")
RULE(CALL_DEPTH, "call_depth", "calls nest too deep",
	"at most {limit} frames", "this call is one more",
	"at most 8 frames; inline some functions")
VARIANT(CALLBACK_DEPTH, CALL_DEPTH, "", "the call of the callback is one more", "")
RULE(RECURSION, "recursion", "a function calls itself, perhaps through others",
	"no function that calls itself, directly or through others",
	"function {name} is called while it runs",
	"use a bounded loop")
RULE(FUNCS, "functions", "the program has too many functions",
	"at most {limit} functions", "the program has more",
	"let the compiler inline small functions: static __always_inline")
RULE(LOOP, "endless_loop", "this loop has no bound",
	"a value that changes in each iteration of the loop at {loop} and ends it",
	"an iteration changes nothing that decides whether the loop ends{exit}",
	"count iterations in a local variable and stop at a constant: for (i = 0; i < N; i++)")
RULE(COMPLEXITY, "complexity", "checking the program takes too many steps",
	"a verdict within {limit} instructions", "paths met {count} times at {loop}{branch}",
	"{simpler}")
VARIANT(LOOP_STEPS, COMPLEXITY,
	"an end of the loop at {loop} within {limit} instructions",
	"{arrivals}{change}{branch}{exit}", "")
VARIANT(LOOP_PATHS, COMPLEXITY,
	"at most {limit} branches that the loop at {loop} leaves undecided",
	"{arrivals}{change}{branch}{exit}", "")
VARIANT(PATHS, COMPLEXITY, "at most {limit} undecided branches on a path", "", "")
RULE(POLICY_WORK, "policy_work", "checking the policy's programs takes too many steps",
	"verdicts on all programs of the policy within {limit} instructions walked",
	"the verifier walked {count} instructions of the policy's earlier programs; "
	"this program used the rest and had reached {loop}{branch}",
	"bound loops by smaller constants, split the policy, or raise NCCLBPF_MAX_VERIFY")
RULE(RUN_LENGTH, "run_length", "a run may take too many instructions",
	"at most {limit} instructions, calls included, "
	"until the next iteration of a loop that the run counts",
	"calls of {count} instructions add up to more",
	"call expensive helpers less often; let iterators run over smaller ranges")
VARIANT(RUN_ITER_STEPS, RUN_LENGTH,
	"at most {limit} iterator steps, where up to {size} instructions follow each",
	"up to {count} steps", "")
RULE(MEMORY, "memory", "checking the program takes too much memory",
	"at most {limit} bytes", "{count} slots",
	"bound the loop by a smaller constant, or write it with ncclbpf_for: "
	"only a few iterations are verified then")
VARIANT(MEMORY_STATES, MEMORY,
	"at most {limit} bytes for states",
	"{number} instructions walked, {count} states kept{branch}", "{simpler}")

/* Rules about coherence: the decision must be the same on every rank. */
RULE(LOCAL_OUTPUT, "local_output", "an output depends on data that differs between ranks",
	"a value for ctx->{name} that is equal on all ranks", "{value}; local since {where}",
	"ranks that answer differently hang the job; "
	"compute the answer from coherent inputs and from maps tagged __coherent, "
	"which programs only read")
RULE(LOCAL_CONTROL, "local_control",
	"whether an output is written depends on data that differs between ranks",
	"ctx->{name} written on all ranks or on none",
	"the branch at {where} depends on local data and decides whether this runs",
	"ranks that answer differently hang the job; decide by coherent inputs and coherent maps")
RULE(LOCAL_STATE, "local_state", "a replicated map depends on data that differs between ranks",
	"a value for map {map} that is equal on all ranks", "{value}; local since {where}",
	"ranks that store different values answer differently later, which hangs the job; "
	"compute the value from coherent inputs and from maps tagged __coherent or __replicated")
VARIANT(LOCAL_STATE_CONTROL, LOCAL_STATE,
	"map {map} written on all ranks or on none",
	"the branch at {where} depends on local data and decides whether this runs", "")
RULE(LOCAL_VERDICT, "local_verdict", "the return value depends on data that differs between ranks",
	"a return value that is equal on all ranks",
	"the return value depends on local data since {where}",
	"return the same constant on every path")

#undef RULE
#undef VARIANT
