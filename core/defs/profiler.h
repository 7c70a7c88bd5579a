// SPDX-License-Identifier: MIT
/*
 * What NCCL tells a profiler, versions 1 to 7. The including file defines the
 * macros it wants.
 *
 * PROF_EVENT(name, bit, since, word)   an event type: its bit in the activation
 *         mask and the first version that has it
 * PROF_ABOVE(event, above)             a profiler that is told of event is also told of above
 * PROF_STATE(name, value, event)       a state of an event
 * PROF_FIELD(event, field, v1..v7)     offset of a field in the descriptor of
 *         each version, in bytes; -1: that version has no such field
 * PROF_COLL(word, name, coll, p2p)     a function's number, its name in NCCL,
 *         and the tuner's number for it; -1 for none
 * PROF_TYPE(number, name, bytes)       a data type
 */
#ifdef PROF_EVENT
PROF_EVENT(GROUP,         0,  1, "group")
PROF_EVENT(COLL,          1,  1, "coll")
PROF_EVENT(P2P,           2,  1, "p2p")
PROF_EVENT(PROXY_OP,      3,  1, "proxy_op")
PROF_EVENT(PROXY_STEP,    4,  1, "proxy_step")
PROF_EVENT(PROXY_CTRL,    5,  1, "proxy_ctrl")
PROF_EVENT(KERNEL_CH,     6,  3, "kernel_ch")
PROF_EVENT(NET_PLUGIN,    7,  3, "net_plugin")
PROF_EVENT(GROUP_API,     8,  5, "group_api")
PROF_EVENT(COLL_API,      9,  5, "coll_api")
PROF_EVENT(P2P_API,       10, 5, "p2p_api")
PROF_EVENT(KERNEL_LAUNCH, 11, 5, "kernel_launch")
PROF_EVENT(CE_COLL,       12, 6, "ce_coll")
PROF_EVENT(CE_SYNC,       13, 6, "ce_sync")
PROF_EVENT(CE_BATCH,      14, 6, "ce_batch")
PROF_EVENT(KERNEL_PHASE,  15, 7, "kernel_phase")
#undef PROF_EVENT
#endif
#ifdef PROF_ABOVE
PROF_ABOVE(COLL,          GROUP)
PROF_ABOVE(COLL,          COLL_API)
PROF_ABOVE(P2P,           GROUP)
PROF_ABOVE(P2P,           P2P_API)
PROF_ABOVE(PROXY_OP,      COLL)
PROF_ABOVE(PROXY_OP,      P2P)
PROF_ABOVE(PROXY_STEP,    PROXY_OP)
PROF_ABOVE(KERNEL_CH,     COLL)
PROF_ABOVE(KERNEL_CH,     P2P)
PROF_ABOVE(NET_PLUGIN,    PROXY_STEP)
PROF_ABOVE(COLL_API,      GROUP_API)
PROF_ABOVE(P2P_API,       GROUP_API)
PROF_ABOVE(KERNEL_LAUNCH, GROUP_API)
PROF_ABOVE(CE_COLL,       COLL_API)
PROF_ABOVE(CE_SYNC,       CE_COLL)
PROF_ABOVE(CE_BATCH,      CE_COLL)
PROF_ABOVE(KERNEL_PHASE,  KERNEL_CH)
#undef PROF_ABOVE
#endif
#ifdef PROF_STATE
PROF_STATE(SEND_GPU_WAIT,   8,  PROXY_STEP)
PROF_STATE(SEND_WAIT,       9,  PROXY_STEP)
PROF_STATE(RECV_WAIT,       10, PROXY_STEP)
PROF_STATE(RECV_FLUSH_WAIT, 11, PROXY_STEP)
PROF_STATE(RECV_GPU_WAIT,   12, PROXY_STEP)
PROF_STATE(OP_IN_PROGRESS,  19, PROXY_OP)
PROF_STATE(SEND_PEER_WAIT,  20, PROXY_STEP)
PROF_STATE(KERNEL_STOP,     22, KERNEL_CH)
#undef PROF_STATE
#endif
#ifdef PROF_FIELD
/*
 * The columns are event, field, v1, v2, v3, v4, v5, v6 and v7. Versions 5, 6 and 7
 * only append fields, so each can read the descriptors of the next.
 */
PROF_FIELD(COLL,       comm,       32,  32,  32,  -1,  -1,  -1,  -1)
PROF_FIELD(COLL,       seq,        40,  40,  40,  24,  24,  24,  24)
PROF_FIELD(COLL,       func,       48,  48,  48,  32,  32,  32,  32)
PROF_FIELD(COLL,       count,      72,  72,  72,  56,  56,  56,  56)
PROF_FIELD(COLL,       root,       80,  80,  80,  64,  64,  64,  64)
PROF_FIELD(COLL,       datatype,   84,  88,  88,  72,  72,  72,  72)
PROF_FIELD(COLL,       channels,   104, 104, 96,  80,  80,  80,  80)
PROF_FIELD(COLL,       algo,       106, 112, 104, 88,  88,  88,  88)
PROF_FIELD(COLL,       proto,      107, 120, 112, 96,  96,  96,  96)
PROF_FIELD(COLL,       group,      -1,  -1,  -1,  -1,  104, 104, 104)
PROF_FIELD(COLL,       symmetric,  -1,  -1,  -1,  -1,  -1,  -1,  120)
PROF_FIELD(COLL,       tag,        -1,  -1,  -1,  -1,  -1,  -1,  128)
PROF_FIELD(P2P,        comm,       32,  32,  32,  -1,  -1,  -1,  -1)
PROF_FIELD(P2P,        func,       40,  40,  40,  24,  24,  24,  24)
PROF_FIELD(P2P,        datatype,   56,  56,  56,  40,  40,  40,  40)
PROF_FIELD(P2P,        count,      64,  64,  64,  48,  48,  48,  48)
PROF_FIELD(P2P,        peer,       72,  72,  72,  56,  56,  56,  56)
/*
 * Version 4 is not read, because NCCL 2.28 and later do not fill this field of
 * version 4.
 */
PROF_FIELD(P2P,        channels,   -1,  -1,  -1,  -1,  60,  60,  60)
PROF_FIELD(P2P,        group,      -1,  -1,  -1,  -1,  64,  64,  64)
PROF_FIELD(P2P,        tag,        -1,  -1,  -1,  -1,  -1,  -1,  72)
PROF_FIELD(PROXY_OP,   pid,        24,  24,  24,  24,  24,  24,  24)
PROF_FIELD(PROXY_OP,   channel,    28,  28,  28,  28,  28,  28,  28)
PROF_FIELD(PROXY_OP,   peer,       32,  32,  32,  32,  32,  32,  32)
PROF_FIELD(PROXY_OP,   is_send,    44,  44,  44,  44,  44,  44,  44)
PROF_FIELD(PROXY_STEP, step,       24,  24,  24,  24,  24,  24,  24)
PROF_FIELD(KERNEL_CH,  channel,    -1,  -1,  24,  24,  24,  24,  24)
PROF_FIELD(KERNEL_CH,  timer,      -1,  -1,  -1,  32,  32,  32,  32)
PROF_FIELD(COLL_API,   func,       -1,  -1,  -1,  -1,  24,  24,  24)
PROF_FIELD(COLL_API,   count,      -1,  -1,  -1,  -1,  32,  32,  32)
PROF_FIELD(COLL_API,   datatype,   -1,  -1,  -1,  -1,  40,  40,  40)
PROF_FIELD(COLL_API,   root,       -1,  -1,  -1,  -1,  48,  48,  48)
PROF_FIELD(P2P_API,    func,       -1,  -1,  -1,  -1,  24,  24,  24)
PROF_FIELD(P2P_API,    count,      -1,  -1,  -1,  -1,  32,  32,  32)
PROF_FIELD(P2P_API,    datatype,   -1,  -1,  -1,  -1,  40,  40,  40)
#undef PROF_FIELD
#endif
#ifdef PROF_FUNC
/* The columns are number, name, word and coll. */
PROF_FUNC(0,     "Broadcast",     "broadcast",     0)
PROF_FUNC(1,     "Reduce",        "reduce",        1)
PROF_FUNC(2,     "AllGather",     "allgather",     2)
PROF_FUNC(3,     "ReduceScatter", "reducescatter", 3)
PROF_FUNC(4,     "AllReduce",     "allreduce",     4)
PROF_FUNC(5,     "SendRecv",      "sendrecv",      -1)
PROF_FUNC(6,     "Send",          "send",          -1)
PROF_FUNC(7,     "Recv",          "recv",          -1)
#undef PROF_FUNC
#endif
#ifdef PROF_TYPE
PROF_TYPE(0,  "ncclInt8",      1)
PROF_TYPE(1,  "ncclUint8",     1)
PROF_TYPE(2,  "ncclInt32",     4)
PROF_TYPE(3,  "ncclUint32",    4)
PROF_TYPE(4,  "ncclInt64",     8)
PROF_TYPE(5,  "ncclUint64",    8)
PROF_TYPE(6,  "ncclFloat16",   2)
PROF_TYPE(7,  "ncclFloat32",   4)
PROF_TYPE(8,  "ncclFloat64",   8)
PROF_TYPE(9,  "ncclBfloat16",  2)
PROF_TYPE(10, "ncclFloat8e4m3", 1)
PROF_TYPE(11, "ncclFloat8e5m2", 1)
#undef PROF_TYPE
#endif
