// SPDX-License-Identifier: MIT
/*
 * Reasons why the profiler does not measure an event (docs/tracing.md).
 *
 * word:  name of the reason in replies;
 * level: level of its log line, which appears once: WARN if measurements are
 *        missing or wrong, INFO if NCCL is allowed to do this;
 * text:  continues "N events".
 */
/* The columns are name, word, level and text. */
LOST(CONTEXT,  "no_context",      INFO, "without a live communicator")
LOST(FULL,     "slots_full",      WARN, "not measured: the table of open events is full")
LOST(STALE,    "stale_handle",    INFO,
	"with a handle that NCCL has released, or that the profiler never returned")
LOST(TWICE,    "stopped_twice",   WARN, "stopped twice")
LOST(ORDER,    "out_of_order",    INFO,
	"reported after the end of their parent, as in a replayed CUDA graph")
LOST(FOREIGN,  "foreign_parent",  INFO,
	"whose parent is in another process: measured without the parent")
LOST(CLOCK,    "bad_gpu_clock",   WARN, "whose GPU clock shows an end before the start")
LOST(SIZE,     "absurd_size",     WARN, "with an impossible number of bytes")
LOST(CUT,      "never_completed", INFO, "that never ended, or of which a part is missing")
#undef LOST
