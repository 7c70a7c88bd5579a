// SPDX-License-Identifier: MIT
/*
 * One row a hook: a point where policy programs run.
 *
 * name      enumerator NB_HOOK_<name>
 * word      its name, and the ELF section of its programs: SEC("word") or
 *           SEC("word/anything")
 * ctx       struct ncclbpf_<ctx>, rows in core/tbl/hook_<ctx>.h
 * coherent  NB_COHERENT: outputs and verdict must not depend on local data
 * doc       one line
 */
HOOK(TUNER, "tuner", tuner, NB_COHERENT, "before each collective: choose algorithm, protocol and number of channels")

#undef HOOK
