// SPDX-License-Identifier: MIT
// Where NCCL 2.28.9 keeps what a kernel launch says, on a 64-bit machine.
//
// Offsets of its internal structs, found by printing offsetof with that
// version's headers. Used only when ncclGetVersion() says LAYOUT_VERSION; for
// another version print them again and give it a table of its own.
#ifndef VGPU_LAYOUT_H
#define VGPU_LAYOUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
	BATCH_EXTENDS = 1 << 14, // the next batch runs beside this one
	BATCH_TYPE_SHIFT = 15,
	BATCH_FUNC_SHIFT = 17,

	// ncclDevWorkP2p
	P2P_SEND_ADDR = 0,
	P2P_RECV_ADDR = 8,
	P2P_SEND_BYTES = 16,
	P2P_RECV_BYTES = 24,
	P2P_SEND_RANK = 32,
	P2P_RECV_RANK = 36,
	P2P_NCHANNELS = 40, // u8 from here on; a power of two
	P2P_BASE = 41,	    // the channel of the first part
	P2P_SEND_PARTS = 42,
	P2P_RECV_PARTS = 43,
	P2P_SEND_CHUNK = 44, // as a float of 5 bits exponent, 3 bits mantissa
	P2P_RECV_CHUNK = 45,
	P2P_FLAGS = 46,
	P2P_SEND_LL = 0x01,
	P2P_RECV_LL = 0x02,
	P2P_REGISTERED = 0x3c, // user buffers that the network or a peer reads
	P2P_PROFILED = 0x40,
	P2P_SIZE = 48,
	P2P_PART_ALIGN = 4096, // bytes of a channel's part

	// ncclDevWorkColl: u32 {lo:8, hi:8, nWarps:8, flags:7, profiled:1}
	COLL_REGISTERED = 0x06000000,
	COLL_ROOT = 4,
	COLL_RECV_ADDR = 8,
	COLL_SEND_ADDR = 16,
	COLL_COUNT_LO = 56, // CollNet: the whole count
	COLL_COUNT_MID = 64,
	COLL_COUNT_HI = 72,
	COLL_GRAINS = 80, // u64 {lo:21, mid:21, hi:21}: grains of a chunk
	COLL_GRAIN = 512, // bytes, protocol SIMPLE
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
	CHANNEL_RING_PREV = 8,
	CHANNEL_RING_NEXT = 12,
	CHANNEL_RING_ORDER = 16,
	CHANNEL_RING_INDEX = 24,
	CHANNEL_COUNTER = 352,
	CHANNEL_SIZE = 368,

	// ncclDevChannelPeer: ncclConnInfo send[2], recv[2]; collectives use
	// the first of two, sends and receives the second
	PEER_NCONN = 4,
	PEER_RECV = 2,
	PEER_P2P = 1,

	// ncclConnInfo
	CONN_BUFS = 0, // LL, LL128, SIMPLE
	CONN_TAIL = 48,
	CONN_HEAD = 56,
	CONN_STEP_SIZE = 72,
	CONN_FIFO = 96,
	CONN_STEP = 104,
	CONN_SIZE = 152,

	// ncclConnFifo
	NSLOT = 8, // NCCL_STEPS
	FIFO_MODE = 0,
	FIFO_MODE_OFFSET = 1, // the slot lies at FIFO_OFFSET of the buffer
	FIFO_OFFSET = 4,
	FIFO_BYTES = 8, // -1: empty
	FIFO_SIZE = 24,

	// a ring of protocol SIMPLE: slices of a chunk, slots of a slice; both
	// are 1 for Broadcast and Reduce
	CHUNK_SLICES = 2,
	SLICE_STEPS = 2,

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

static inline uint64_t u64_at(const void *p, size_t off)
{
	uint64_t v;

	memcpy(&v, (const char *)p + off, sizeof v);
	return v;
}

static inline uint32_t u32_at(const void *p, size_t off)
{
	uint32_t v;

	memcpy(&v, (const char *)p + off, sizeof v);
	return v;
}

static inline int int_at(const void *p, size_t off)
{
	return (int)u32_at(p, off);
}

static inline uint8_t u8_at(const void *p, size_t off)
{
	return *((const uint8_t *)p + off);
}

static inline char *ptr_at(const void *p, size_t off)
{
	char *v;

	memcpy(&v, (const char *)p + off, sizeof v);
	return v;
}

static inline char *channel_at(const char *comm, int channel)
{
	return ptr_at(comm, COMM_CHANNELS) + (size_t)(CHANNEL_SIZE * channel);
}

#endif
