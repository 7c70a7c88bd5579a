// SPDX-License-Identifier: MIT
/*
 * Context of SEC("controller"): struct ncclbpf_controller.
 * core/defs/hook_coll_done.h explains columns and ABI rules. Times are those of
 * CLOCK_MONOTONIC, except for wall_ns.
 */
CONTEXT(controller)
FIELD(controller, now_ns,      uint64_t, IN,  LOCAL, "ns",
	"when this run began, by the clock of bpf_ktime_get_ns", "CLOCK_MONOTONIC")
FIELD(controller, since_ns,    uint64_t, IN,  LOCAL, "ns",
	"time since the previous run of this process; 0 in the first run", "the plugin")
FIELD(controller, run,         uint64_t, IN,  LOCAL, "1",
	"number of this run, from 0, counted by the elected process", "the plugin")
FIELD(controller, generation,  uint64_t, IN,  LOCAL, "1",
	"number of the generation that new communicators begin with", "job segment")
FIELD(controller, changes,     uint64_t, IN,  LOCAL, "1",
	"number of changes that this process's controllers have committed", "the plugin")
FIELD(controller, failures,    uint64_t, IN,  LOCAL, "1",
	"number of changes that could not be committed", "the plugin")
FIELD(controller, processes,   uint32_t, IN,  LOCAL, "1",
	"number of the job's processes, of all sites", "job segment, agent")
FIELD(controller, missing,     uint32_t, IN,  LOCAL, "1",
	"processes of the job that did not answer in time: their last values are merged, or none",
	"the plugin")
FIELD(controller, ranks,       uint32_t, IN,  LOCAL, "1",
	"number of ranks of all communicators with an identity on this host", "job segment")
FIELD(controller, comms,       uint32_t, IN,  LOCAL, "1",
	"number of communicators with an identity on this host", "job segment")
FIELD(controller, interval_ns, uint64_t, OUT, LOCAL, "ns",
	"time until the next run, 20 ms to 1 hour; "
	"starts as NCCLBPF_CONTROLLER_MS or as the value that the previous run set",
	"becomes the timer")
FIELD(controller, wall_ns,     uint64_t, IN,  LOCAL, "ns",
	"when this run began, in UTC since 1970: for times of day; this clock may jump",
	"CLOCK_REALTIME")
CONTEXT_END(controller)
