// SPDX-License-Identifier: MIT
/*
 * Each row is a hook: a point where policy programs run.
 *
 * name:     enumerator NB_HOOK_<name>;
 * word:     its name, and the ELF section of its programs: SEC("word") or
 *           SEC("word/anything");
 * ctx:      struct ncclbpf_<ctx>, rows in core/defs/hook_<ctx>.h;
 * coherent: NB_COHERENT: outputs, verdict and replicated maps must not depend
 *           on rank-local data; 0: the hook has none of them;
 * doc:      one line for the reference page.
 */
HOOK(TUNER, "tuner", tuner, NB_COHERENT,
	"before each collective: choose algorithm, protocol, number of channels and chunk size")
HOOK(COLL_DONE, "profiler/coll_done", coll_done, 0, "after each collective: its duration, if known")
HOOK(P2P_DONE, "profiler/p2p_done", p2p_done, 0, "after each send or receive")
HOOK(PROXY_STEP, "profiler/proxy_step", proxy_step, 0,
	"after each chunk that went over the network")
HOOK(KERNEL_CH, "profiler/kernel_ch", kernel_ch, 0, "after each channel of a kernel")
HOOK(GROUP, "profiler/group", group, 0, "after each plan of a group was enqueued")
HOOK(NET_LISTEN, "net/listen", net_listen, 0, "after the net plugin created a listener")
HOOK(NET_CONNECT, "net/connect", net_connect, 0,
	"when connecting begins, and when the connection is made")
HOOK(NET_ACCEPT, "net/accept", net_accept, 0, "after a peer's connection was accepted")
HOOK(NET_ISEND, "net/isend", net_isend, 0, "after a send was posted")
HOOK(NET_IRECV, "net/irecv", net_irecv, 0, "after a receive was posted")
HOOK(NET_TEST, "net/test", net_test, 0, "when a send, receive or flush is done")
HOOK(NET_CLOSE, "net/close", net_close, 0, "before a connection or listener is closed")
HOOK(VERBS_QP, "verbs/qp", verbs_qp, 0,
	"when a queue pair is created, before and after its state changes, before it is destroyed")
HOOK(VERBS_POST, "verbs/post", verbs_post, 0, "after work requests were posted")
HOOK(VERBS_DONE, "verbs/done", verbs_done, 0, "for each completion")
HOOK(VERBS_EVENT, "verbs/event", verbs_event, 0, "for each asynchronous event of an adapter")
HOOK(VERBS_MR, "verbs/mr", verbs_mr, 0,
	"after a memory region was registered, before it is deregistered")
HOOK(CONTROLLER, "controller", controller, 0,
	"at an interval, in one process of the host: "
	"the program reads merged local maps and changes coherent maps")
HOOK(ENV, "env", env, 0,
	"when NCCL looks up a variable, if NCCL_ENV_PLUGIN names ncclbpf: "
	"keep, replace or hide its value")
HOOK(GIN_CONNECT, "gin/connect", gin_connect, 0,
	"before the ranks of a GIN collComm connect, and after all ranks are connected")
HOOK(GIN_PUT, "gin/put", gin_put, 0,
	"before a kernel's put or signal is sent: the program may hold it back")
HOOK(GIN_DONE, "gin/done", gin_done, 0, "when a kernel's put, signal, get or flush is done")
HOOK(GIN_SIGNAL, "gin/signal", gin_signal, 0, "when this rank has applied a peer's signal")
HOOK(GIN_CLOSE, "gin/close", gin_close, 0, "before a GIN collComm is closed")
HOOK(COLL_API, "profiler/coll_api", coll_api, NB_COHERENT,
	"at each call of a collective, in the same order on all ranks: "
	"the program changes replicated maps")

#undef HOOK
