// SPDX-License-Identifier: MIT
/*
 * Context of SEC("env"): struct ncclbpf_env. The program runs when NCCL looks
 * up a variable. Texts are padded with zero bytes to the size of their field;
 * words hold eight characters, the first in the lowest byte. Columns and ABI
 * rules: core/defs/hook_tuner.h.
 */
CONTEXT(env)
FIELD(env, name,    struct ncclbpf_text64,  IN,  LOCAL, "",
	"the variable's name", "getEnv name")
FIELD(env, value,   struct ncclbpf_text128, IN,  LOCAL, "",
	"value of the variable, overridden or from the environment, cut to 127 characters",
	"getenv, env set")
FIELD(env, length,  uint32_t,               IN,  LOCAL, "B",
	"length of the whole value in characters; 0 also if the variable is not set",
	"getenv, env set")
FIELD(env, is_set,  uint32_t,               IN,  LOCAL, "1",
	"1: the variable is set", "getenv, env set")
FIELD(env, answer,  uint32_t,               OUT, LOCAL, "1",
	"0: NCCL gets the value unchanged, 1: NCCL gets answer0 to answer7, "
	"2: NCCL finds the variable not set",
	"becomes getEnv's result")
FIELD(env, pad,     uint32_t,               IN,  LOCAL, "",
	"0", "")
FIELD(env, answer0, uint64_t,               OUT, LOCAL, "",
	"characters 0 to 7 of the new value", "becomes getEnv's result")
FIELD(env, answer1, uint64_t,               OUT, LOCAL, "",
	"characters 8 to 15", "becomes getEnv's result")
FIELD(env, answer2, uint64_t,               OUT, LOCAL, "",
	"characters 16 to 23", "becomes getEnv's result")
FIELD(env, answer3, uint64_t,               OUT, LOCAL, "",
	"characters 24 to 31", "becomes getEnv's result")
FIELD(env, answer4, uint64_t,               OUT, LOCAL, "",
	"characters 32 to 39", "becomes getEnv's result")
FIELD(env, answer5, uint64_t,               OUT, LOCAL, "",
	"characters 40 to 47", "becomes getEnv's result")
FIELD(env, answer6, uint64_t,               OUT, LOCAL, "",
	"characters 48 to 55", "becomes getEnv's result")
FIELD(env, answer7, uint64_t,               OUT, LOCAL, "",
	"characters 56 to 62 of the new value, and a zero byte", "becomes getEnv's result")
CONTEXT_END(env)
