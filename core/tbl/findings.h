// SPDX-License-Identifier: MIT
/*
 * One row a class of rejection.
 *
 * name  enumerator NB_FIND_<name>
 * word  stable word of the JSON form
 * text  what the class means, a sentence without subject's details
 * hint  general advice; "" where only the details can advise
 */
/*      name            word                 text                                                               hint */
/* values and registers */
FINDING(UNINIT,         "uninit",            "a register is read before it is written",                         "give the variable a value on every path")
FINDING(STACK_UNINIT,   "stack_uninit",      "stack bytes are read before they are written",                    "initialise the whole variable, padding included: struct key k = {};")
FINDING(NOT_POINTER,    "not_pointer",       "a plain number is used as an address",                            "only pointers from the context, the stack and map look-ups can be followed")
FINDING(NULLABLE,       "nullable",          "a pointer that may be NULL is followed",                          "test it first: if (!v) return 0;")
FINDING(NULL_ARITH,     "null_arith",        "arithmetic on a pointer that may be NULL",                        "test it first: if (!v) return 0;")
FINDING(PTR_OP,         "pointer_op",        "an operation that pointers do not allow",                         "only + and - of a bounded number keep a pointer usable")
FINDING(PTR_PTR,        "pointer_sum",       "two pointers are added",                                          "")
FINDING(PTR_32,         "pointer_32",        "32-bit arithmetic on a 64-bit pointer",                           "")
FINDING(PTR_RANGE,      "pointer_range",     "a pointer is moved by a number without useful bounds",            "bound the index before adding it: if (i >= N) return 0;")
FINDING(HANDLE_ARITH,   "handle_arith",      "arithmetic on a map handle",                                      "use bpf_map_lookup_elem to get a pointer to a value")
FINDING(FRAME_POINTER,  "frame_pointer",     "the frame pointer r10 is written",                                "copy it to another register first")
FINDING(SHIFT,          "shift_width",       "a shift by a constant as wide as the operand or wider",           "shift by 0 to 63, in 32-bit arithmetic by 0 to 31")
FINDING(DIV_ZERO,       "div_zero",          "a division by the constant 0",                                    "")
FINDING(RET_POINTER,    "return_pointer",    "the program returns an address",                                  "return a number")
/* memory */
FINDING(MAP_BOUNDS,     "map_bounds",        "an access outside a map's value",                                 "check the index against the number of elements before using it")
FINDING(MAP_READONLY,   "map_read_only",     "a store into a map that programs only read",                      "")
FINDING(MAP_WRITEONLY,  "map_write_only",    "a load from a map that programs only write",                      "")
FINDING(MAP_COHERENT,   "map_coherent",      "a store into a coherent map",                                     "coherent maps change only at a fence: let the shell or a controller change it, or use a map without __coherent")
FINDING(MEM_BOUNDS,     "memory_bounds",     "an access outside the program's memory",                          "")
FINDING(STACK_BOUNDS,   "stack_bounds",      "an access outside the stack frame",                               "a frame has 512 bytes below r10")
FINDING(STACK_ALIGN,    "stack_align",       "a misaligned stack access",                                       "")
FINDING(STACK_PARTIAL,  "stack_partial",     "a pointer on the stack is read in part",                          "read all 8 bytes")
FINDING(STACK_ESCAPE,   "stack_escape",      "the address of a frame outlives it",                              "let the caller own the memory")
FINDING(STACK_DEPTH,    "stack_depth",       "the frames of a call chain take too much stack",                  "keep less on the stack, for example in a per-CPU array map")
FINDING(CTX_BOUNDS,     "ctx_bounds",        "an access outside the context",                                   "")
FINDING(CTX_ALIGN,      "ctx_align",         "a misaligned access to the context",                              "")
FINDING(CTX_FIELD,      "ctx_field",         "an access that is not inside one context field",                  "")
FINDING(CTX_NEWER,      "ctx_newer",         "a context field that this ncclbpf does not have",                 "update ncclbpf, or build the policy against the older ncclbpf_policy.h")
FINDING(CTX_READONLY,   "ctx_read_only",     "a store into an input field of the context",                      "only outputs can be assigned; copy the input to a variable and change that")
FINDING(CTX_PARTIAL,    "ctx_partial",       "a store that does not cover its output field",                    "assign the whole field: ctx->channels = n")
FINDING(CTX_VARIABLE,   "ctx_variable",      "the context is accessed at an offset that is not constant",       "name the field; a variable index into the context has no meaning")
FINDING(CTX_ATOMIC,     "ctx_atomic",        "an atomic operation on the context",                              "")
FINDING(ATOMIC_ALIGN,   "atomic_align",      "a misaligned atomic operation",                                   "")
FINDING(ATOMIC_VALUE,   "atomic_value",      "an atomic operation with a pointer as operand",                   "")
FINDING(RDONLY,         "read_only",         "a store into memory that programs only read",                     "copy it to a variable and change that")
FINDING(POINTER_STORE,  "pointer_store",     "an address is stored where a number belongs",                     "")
/* helpers */
FINDING(HELPER,         "helper_unknown",    "a helper that does not exist here",                               "")
FINDING(ARG_MAP,        "arg_map",           "a helper wants a map",                                            "pass the address of a map: &name")
FINDING(MAP_KIND,       "map_kind",          "a helper is given a map of a type that it does not work on",      "docs/policies.md says which helpers go with which map types")
FINDING(ARG_SCALAR,     "arg_scalar",        "a helper wants a number",                                         "")
FINDING(ARG_MEM,        "arg_memory",        "a helper wants memory",                                           "pass the address of a variable or of a map value")
FINDING(ARG_NULL,       "arg_null",          "a helper wants memory and gets NULL or a pointer not yet tested", "test it first: if (!v) return 0;")
FINDING(ARG_SIZE,       "arg_size",          "the size given to a helper is not bounded by the memory",         "pass a constant size, or bound it first: if (n > sizeof(buffer)) return 0;")
FINDING(ARG_ZERO,       "arg_zero",          "the size given to a helper may be 0",                             "")
FINDING(ARG_CTX,        "arg_context",       "a helper wants the context",                                      "")
FINDING(CALLBACK,       "callback",          "a helper wants a callback",                                       "pass the name of a static function of the policy")
FINDING(TAIL_CALL,      "tail_call",         "a tail call where none can be made",                              "make it in the program itself, with nothing held")
FINDING(CALLBACK_RETURN, "callback_return",  "a callback returns something other than 0 or 1",                  "return 0 to go on, 1 to stop")
/* control flow */
FINDING(ENCODING,       "encoding",          "bytes that are no instruction",                                   "")
FINDING(JUMP_RANGE,     "jump_range",        "a jump out of its function",                                      "")
FINDING(JUMP_LDDW,      "jump_middle",       "a jump into the middle of an instruction",                        "")
FINDING(FALL_OFF,       "fall_off",          "a way runs past the last instruction",                            "end every path with exit")
FINDING(UNREACHABLE,    "unreachable",       "an instruction that nothing reaches",                             "remove it")
FINDING(CALL_TARGET,    "call_target",       "a call outside the program",                                      "")
FINDING(CALL_DEPTH,     "call_depth",        "calls nest too deep",                                             "at most 8 frames; inline some functions")
FINDING(RECURSION,      "recursion",         "a function calls itself, perhaps through others",                 "use a bounded loop")
FINDING(FUNCS,          "functions",         "the program has too many functions",                              "")
FINDING(LOOP,           "endless_loop",      "a loop that nothing is known to end",                             "count passes in a local variable and stop at a constant: for (i = 0; i < N; i++)")
FINDING(COMPLEXITY,     "complexity",        "checking the program takes too many steps",                       "bound loops by smaller constants, or split the work")
FINDING(MEMORY,         "memory",            "checking the program takes too much memory",                      "bound loops by smaller constants, or split the work")
/* coherence: the decision must be the same on every rank */
FINDING(LOCAL_OUTPUT,   "local_output",      "an output depends on data that differs between ranks",            "ranks that answer differently hang the job; compute the answer from coherent inputs and from maps tagged __coherent, which programs only read")
FINDING(LOCAL_CONTROL,  "local_control",     "whether an output is written depends on data that differs between ranks", "ranks that answer differently hang the job; decide by coherent inputs and coherent maps")
FINDING(LOCAL_TAIL,     "local_tail_call",   "which program goes on depends on data that differs between ranks", "ranks that answer differently hang the job; choose the program by coherent data, out of a program array tagged __coherent")
FINDING(LOCAL_VERDICT,  "local_verdict",     "the return value depends on data that differs between ranks",     "return the same constant on every path")

#undef FINDING
