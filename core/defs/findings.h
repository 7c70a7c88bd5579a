// SPDX-License-Identifier: MIT
/*
 * Each row is a class of rejection.
 *
 * name: enumerator NB_FIND_<name>;
 * word: stable word of the JSON form;
 * text: what the class means, without the details of the program;
 * hint: general advice; "" if advice depends on the details.
 */
/* The columns are name, word, text and hint. */
/* Findings about values and registers */
FINDING(UNINIT, "uninit", "a register is read before it is written",
	"give the variable a value on every path")
FINDING(STACK_UNINIT, "stack_uninit", "stack bytes are read before they are written",
	"initialise the whole variable, padding included: struct key k = {};")
FINDING(NOT_POINTER, "not_pointer", "a plain number is used as an address",
	"only pointers from the context, the stack and map look-ups can be dereferenced")
FINDING(NULLABLE, "nullable", "a pointer that may be NULL is dereferenced",
	"test the pointer first: if (!v) return 0;")
FINDING(NULL_ARITH, "null_arith", "arithmetic on a pointer that may be NULL",
	"test the pointer first: if (!v) return 0;")
FINDING(PTR_OP, "pointer_op", "an operation that pointers do not allow",
	"only add a bounded number to a pointer, or subtract one")
FINDING(PTR_PTR, "pointer_sum", "two pointers are added",
	"the sum of two addresses is no address: add a number to one of them")
FINDING(PTR_32, "pointer_32", "32-bit arithmetic on a 64-bit pointer",
	"keep an address in a pointer or in a 64-bit variable")
FINDING(PTR_RANGE, "pointer_range", "a pointer is moved by a number without useful bounds",
	"bound the index before adding it: if (i >= N) return 0;")
FINDING(HANDLE_ARITH, "handle_arith", "arithmetic on a map handle",
	"use bpf_map_lookup_elem to get a pointer to a value")
FINDING(FRAME_POINTER, "frame_pointer", "the frame pointer r10 is written",
	"copy r10 to another register first")
FINDING(SHIFT, "shift_width", "a shift by a constant as wide as the operand or wider",
	"shift by 0 to 63, in 32-bit arithmetic by 0 to 31")
FINDING(RET_POINTER, "return_pointer", "the program returns an address",
	"return a number")
/* Findings about memory accesses */
FINDING(MAP_BOUNDS, "map_bounds", "an access outside a map's value",
	"check the index against the number of elements before using it")
FINDING(MAP_READONLY, "map_read_only", "a store into a read-only map",
	"only the shell changes it; "
	"copy what you need to a variable, or use a map without BPF_F_RDONLY_PROG")
FINDING(MAP_WRITEONLY, "map_write_only", "a load from a write-only map",
	"leave BPF_F_WRONLY_PROG out of the map, or read it from the shell")
FINDING(MAP_COHERENT, "map_coherent", "a store into a coherent map",
	"coherent maps change only at a fence: "
	"let the shell or a controller change it, or use a map without __coherent")
FINDING(MEM_BOUNDS, "memory_bounds", "an access outside the program's memory",
	"compare the offset with the size of the memory first")
FINDING(STACK_BOUNDS, "stack_bounds", "an access outside the stack frame",
	"a frame has 512 bytes below r10")
FINDING(STACK_ALIGN, "stack_align", "a misaligned stack access",
	"do not pack the struct; copy odd bytes with __builtin_memcpy")
FINDING(STACK_PARTIAL, "stack_partial", "a pointer on the stack is read in part",
	"read all 8 bytes")
FINDING(STACK_ESCAPE, "stack_escape", "the address of a frame outlives the frame",
	"let the caller own the memory")
FINDING(STACK_DEPTH, "stack_depth", "the frames of a call chain take too much stack",
	"keep less on the stack, for example in a per-CPU array map")
FINDING(CTX_BOUNDS, "ctx_bounds", "an access outside the context",
	"access fields by name: ctx->bytes")
FINDING(CTX_ALIGN, "ctx_align", "a misaligned access to the context",
	"access fields by name: ctx->bytes; do not cast the context")
FINDING(CTX_FIELD, "ctx_field", "an access that is not inside one context field",
	"read one field at a time: ctx->bytes; do not cast the context")
FINDING(CTX_NEWER, "ctx_newer", "a context field that this ncclbpf does not have",
	"update ncclbpf, or build the policy against the older ncclbpf_policy.h")
FINDING(CTX_READONLY, "ctx_read_only", "a store into an input field of the context",
	"only outputs can be assigned; copy the input to a variable and change the copy")
FINDING(CTX_PARTIAL, "ctx_partial", "a store that does not cover its output field",
	"assign the whole field: ctx->channels = n")
FINDING(CTX_VARIABLE, "ctx_variable", "the context is accessed at an offset that is not constant",
	"name the field; a variable index into the context has no meaning")
FINDING(CTX_ATOMIC, "ctx_atomic", "an atomic operation on the context",
	"assign to the field instead (ctx->channels = n): no other thread uses this context")
FINDING(ATOMIC_ALIGN, "atomic_align", "a misaligned atomic operation",
	"give the counter a type of its size, outside packed structs")
FINDING(RDONLY, "read_only", "a store into read-only memory",
	"copy the data to a variable and change the copy")
FINDING(POINTER_STORE, "pointer_store", "an address is stored where a number belongs",
	"store the number that the address points to; an address means nothing outside this run")
/* Findings about calls of helpers */
FINDING(HELPER, "helper_unknown", "a helper that does not exist here", "")
FINDING(ARG_MAP, "arg_map", "the argument is not a map",
	"pass the address of a map: &name")
FINDING(MAP_KIND, "map_kind", "the helper does not support this type of map",
	"docs/policies.md says which helpers go with which map types")
FINDING(ARG_SCALAR, "arg_scalar", "the argument is not a number",
	"pass the number itself, not its address")
FINDING(ARG_MEM, "arg_memory", "the argument is not a pointer to memory",
	"pass the address of a variable or of a map value")
FINDING(ARG_NULL, "arg_null", "the argument may be NULL",
	"test the pointer first: if (!v) return 0;")
FINDING(ARG_SIZE, "arg_size", "the size given to a helper is not bounded by the memory",
	"pass a constant size, or bound it first: if (n > sizeof(buffer)) return 0;")
FINDING(ARG_ZERO, "arg_zero", "the size given to a helper may be 0",
	"test the size first: if (!n) return 0;")
FINDING(ARG_CTX, "arg_context", "the argument is not the context",
	"pass ctx as the program got it")
FINDING(CALLBACK, "callback", "the argument is not a callback",
	"pass the name of a function of the policy")
FINDING(ITER, "iterator", "the argument is not an initialised iterator", "")
FINDING(ITER_LEAK, "iterator_leak", "an iterator is not ended on every path",
	"ncclbpf_for ends its iterator by itself, also at break and return")
FINDING(CALLBACK_RETURN, "callback_return", "a callback returns something other than 0 or 1",
	"return 0 to continue, 1 to stop")
/* Findings about resources that a program must release */
FINDING(REF_LEAK, "reference_leak", "a reservation is not released",
	"call bpf_ringbuf_submit or bpf_ringbuf_discard on every path, also before an early return")
FINDING(RELEASED_USE, "use_after_release", "memory is used after its release",
	"submit or discard the record last; copy the data that is needed later before that")
FINDING(RELEASE_TWICE, "release_twice", "a reservation is released twice",
	"return, or set the pointer to NULL, after the first release")
FINDING(RELEASE_MOVED, "release_moved", "a moved pointer is released",
	"keep and release the pointer that bpf_ringbuf_reserve returned")
FINDING(RELEASE_NULL, "release_null", "a pointer that may be NULL is released",
	"test the pointer first: if (!e) return 0; a reservation that failed needs no release")
FINDING(RELEASE_OTHER, "release_other", "a pointer is released that was not reserved",
	"release the pointer that bpf_ringbuf_reserve returned")
FINDING(REF_CALLBACK, "callback_release", "a callback releases its caller's reservation",
	"release the reservation in the function that calls bpf_loop, after the loop")
FINDING(RESERVE_SIZE, "reserve_size", "the size to reserve is not a constant",
	"reserve sizeof(struct), or use bpf_ringbuf_output for a size known at run time")
FINDING(REF_COUNT, "references", "too many references are held at once",
	"release each reservation before the next")
FINDING(OBJECT_READ, "object_read", "stack bytes of an iterator are read",
	"read the number through the pointer that bpf_iter_num_next returns")
FINDING(OBJECT_WRITE, "object_write", "stack bytes of an iterator are overwritten",
	"call bpf_iter_num_destroy first")
/* Findings about control flow */
FINDING(ENCODING, "encoding", "an invalid instruction",
	"compile with clang -target bpf -mcpu=v3; the bytes may be damaged")
FINDING(JUMP_RANGE, "jump_range", "a jump out of its function",
	"compilers never emit such a jump: in hand-written code, check the offset")
FINDING(JUMP_LDDW, "jump_middle", "a jump into the middle of an instruction",
	"compilers never emit such a jump: a 64-bit constant takes two slots")
FINDING(FALL_OFF, "fall_off", "a path runs past the last instruction",
	"end every path with exit")
FINDING(UNREACHABLE, "unreachable", "an unreachable instruction",
	"remove it")
FINDING(CALL_TARGET, "call_target", "a call outside the program",
	"define the function in the same file")
FINDING(CALL_DEPTH, "call_depth", "calls nest too deep",
	"at most 8 frames; inline some functions")
FINDING(RECURSION, "recursion", "a function calls itself, perhaps through others",
	"use a bounded loop")
FINDING(FUNCS, "functions", "the program has too many functions",
	"let the compiler inline small functions: static __always_inline")
FINDING(LOOP, "endless_loop", "this loop has no bound",
	"count iterations in a local variable and stop at a constant: for (i = 0; i < N; i++)")
FINDING(COMPLEXITY, "complexity", "checking the program takes too many steps",
	"bound the loop by a smaller constant, or write it with ncclbpf_for: "
	"only a few iterations are verified then")
FINDING(POLICY_WORK, "policy_work", "checking the policy's programs takes too many steps",
	"bound loops by smaller constants, split the policy, or raise NCCLBPF_MAX_VERIFY")
FINDING(RUN_LENGTH, "run_length", "a run may take too many instructions",
	"call expensive helpers less often; let iterators run over smaller ranges")
FINDING(MEMORY, "memory", "checking the program takes too much memory",
	"bound the loop by a smaller constant, or write it with ncclbpf_for: "
	"only a few iterations are verified then")
/* Findings about coherence: the decision must be the same on every rank. */
FINDING(LOCAL_OUTPUT, "local_output", "an output depends on data that differs between ranks",
	"ranks that answer differently hang the job; "
	"compute the answer from coherent inputs and from maps tagged __coherent, "
	"which programs only read")
FINDING(LOCAL_CONTROL, "local_control",
	"whether an output is written depends on data that differs between ranks",
	"ranks that answer differently hang the job; decide by coherent inputs and coherent maps")
FINDING(LOCAL_VERDICT, "local_verdict",
	"the return value depends on data that differs between ranks",
	"return the same constant on every path")

#undef FINDING
