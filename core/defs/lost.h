// SPDX-License-Identifier: MIT
/*
 * One row a reason why an event of NCCL's profiler does not count (docs/tracing.md).
 *
 * word   of it in answers
 * level  of the line that says it once: WARN where measurements are missing
 *        or wrong, INFO where NCCL may do so
 * text   "N events …"
 */
/*   name      word               level  text */
LOST(CONTEXT,  "no_context",      INFO, "of a communicator that is gone, or of none")
LOST(FULL,     "slots_full",      WARN, "that began while as many were open as there are places")
LOST(STALE,    "stale_handle",    INFO, "of what is not known any more, or never was")
LOST(TWICE,    "stopped_twice",   WARN, "stopped that had been stopped")
LOST(ORDER,    "out_of_order",    INFO, "told after the end of what they belong to, as in a replay of a graph")
LOST(FOREIGN,  "foreign_parent",  INFO, "with a parent in another process: taken by themselves")
LOST(CLOCK,    "bad_gpu_clock",   WARN, "whose time ends before it begins")
LOST(SIZE,     "absurd_size",     WARN, "of more bytes than there can be")
LOST(CUT,      "never_completed", INFO, "begun and never ended, or whose parts never came")
#undef LOST
