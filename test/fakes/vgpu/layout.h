// SPDX-License-Identifier: MIT
// Where NCCL 2.28.9 keeps what a kernel launch says, on a 64-bit machine.
//
// Offsets of its internal structs, found by printing offsetof with that
// version's headers. Used only when ncclGetVersion() says LAYOUT_VERSION; for
// another version print them again and give it a table of its own.
#ifndef VGPU_LAYOUT_H
#define VGPU_LAYOUT_H

enum {
	LAYOUT_VERSION = 22809,
	MAX_CHANNELS = 64,

	// ncclDevKernelArgs; batches follow
	ARGS_COMM = 0,
	ARGS_CHANNEL_MASK = 8,
	ARGS_STORAGE = 16, // u8; 0: works in the arguments, else in the buffer
	ARGS_WORK_MASK = 20,
	ARGS_WORK_BUF = 24,
	ARGS_SIZE = 32,

	// ncclDevWorkBatch: u32 {nextJump:14, extends:1, type:2, func:15}
	BATCH_OFFSET = 4,
	BATCH_BITS = 8,
	BATCH_SIZE = 16,
	BATCH_JUMP_MASK = 0x3fff,
	BATCH_TYPE_SHIFT = 15,
	BATCH_FUNC_SHIFT = 17,

	// ncclDevWorkP2p
	P2P_SEND_BYTES = 16,
	P2P_RECV_BYTES = 24,
	P2P_SEND_RANK = 32,
	P2P_RECV_RANK = 36,
	P2P_FLAGS = 46,
	P2P_PROFILED = 0x40,
	P2P_SIZE = 48,

	// ncclDevWorkColl: u32 {lo:8, hi:8, nWarps:8, flags:7, profiled:1}
	COLL_ROOT = 4,
	COLL_COUNT_LO = 56, // CollNet: the whole count
	COLL_COUNT_MID = 64,
	COLL_COUNT_HI = 72,
	COLL_SIZE = 96,
	COLL_REG_SIZE = 288, // with registered buffers

	// ncclKernelComm
	COMM_RANK = 0,
	COMM_NRANKS = 4,
	COMM_NNODES = 12,
	COMM_BUF_SIZES = 16,
	COMM_ABORT = 48,
	COMM_CHANNELS = 56,
	COMM_STARTED = 72,
	COMM_COMPLETED = 80,
	COMM_SIZE = 88,

	// ncclDevChannel
	CHANNEL_PEERS = 0,
	CHANNEL_COUNTER = 352,
	CHANNEL_SIZE = 368,

	// ncclDevProfiler: {counter, timestamp} [64] for each channel
	PROF_COUNTER = 0,
	PROF_TIME = 8,
	PROF_ENTRY = 16,
	PROF_ENTRIES = 64,
	PROF_SIZE = PROF_ENTRY * PROF_ENTRIES,

	// ncclKernelPlan, from its kernelArgsSize, and ncclComm
	PLAN_ARGS_SIZE = 56,
	PLAN_COMM = 16,
	HOST_COMM_HASH = 1066184,
	HOST_COMM_RANK = 1066192,
	HOST_COMM_DEVICE = 1069096,
};

#endif
