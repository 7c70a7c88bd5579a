// SPDX-License-Identifier: MIT
/*
 * Each row is an error. Constants are -(number), so that 0 is success and every
 * failure is negative.
 *
 * name:   enumerator NB_E_<name>;
 * number: stable over releases: it travels over the control socket;
 * word:   stable code of the JSON form;
 * status: exit status of the shell (sysexits(3) from 64 on; 2: a bad verdict);
 * text:   what the code means, for help and documents.
 */
/* The columns are name, number, word, status and text. */
ERR(NOMEM,      1,    "no_memory",        70, "out of memory")
ERR(BUG,        2,    "internal",         70, "an internal check failed: a bug of ncclbpf")
ERR(ARG,        3,    "bad_argument",     64, "an argument is missing, unknown or out of range")
ERR(FORMAT,     4,    "malformed",        65, "the input does not have the form that it claims")
ERR(LIMIT,      5,    "over_limit",       65, "the input is larger than a stated limit")
ERR(VERSION,    6,    "version_mismatch", 76, "the other side speaks another version")
ERR(NOTSUP,     7,    "not_supported",    65, "the input requires a feature that this build lacks")
ERR(ELF,        8,    "bad_elf",          65, "not a BPF object file")
ERR(BTF,        9,    "bad_btf",          65, "the type information (BTF) is damaged")
ERR(RELOC,      10,   "bad_relocation",   65, "a relocation cannot be resolved")
ERR(SYMBOL,     11,   "unknown_symbol",   65, "a name is not defined in the object")
ERR(MAPDEF,     12,   "bad_map",          65, "a map definition is invalid")
ERR(HOOK,       13,   "unknown_hook",     65, "a program's section names no hook")
ERR(INSN,       14,   "bad_instruction",  65, "the bytes are not a valid instruction")
ERR(IMAGE,      15,   "bad_image",        65, "not a policy image, or a damaged one")
ERR(VERIFY,     16,   "verify_rejected",  2,  "the verifier refuses the program")
ERR(FULL,       17,   "map_full",         1,  "no room for one more element")
ERR(EXISTS,     18,   "exists",           1,  "the element or name exists already")
ERR(NOKEY,      19,   "no_such_key",      1,  "the map has no such element")
ERR(FLAGS,      20,   "bad_flags",        64, "the operation does not support these flags")
ERR(READONLY,   21,   "read_only",        77, "the object cannot be changed this way")
ERR(BUSY,       22,   "busy",             75, "a concurrent change is in progress; try again")
ERR(NOENT,      23,   "not_found",        1,  "no object of that name")
ERR(IO,         24,   "io",               74, "reading or writing failed")
ERR(NOINPUT,    25,   "no_input",         66, "the input cannot be read")
ERR(PERM,       26,   "not_permitted",    77, "the caller lacks the right to do this")
ERR(NOTARGET,   27,   "no_target",        69, "no process to attach to, or the process has exited")
ERR(TIMEOUT,    28,   "timed_out",        75, "no answer within the time allowed")
ERR(PROTOCOL,   29,   "protocol",         76, "the peer violates the protocol")
ERR(USAGE,      30,   "usage",            64, "the command line is invalid")
ERR(DISAGREE,   31,   "ranks_disagree",   2,  "ranks or processes differ where they must agree")
ERR(SETTING,    32,   "bad_setting",      78, "an environment variable or init file is wrong")
ERR(REFUSED,    33,   "refused",          2,
	"the change is refused, because it would not be safe now")
ERR(BIG,        34,   "too_big",          65,
	"the index of a map operation is beyond max_entries (E2BIG)")
ERR(STALE,      35,   "stale",            2,
	"the change is refused: the job has another generation than if_generation names")
ERR(STORE,      36,   "store_unavailable", 69,
	"no member of the store answers, or it has no leader")

#undef ERR
