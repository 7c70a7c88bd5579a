// SPDX-License-Identifier: MIT
// Where NCCL keeps what a kernel launch says, on a 64-bit machine.
//
// Offsets of its internal structs, found by printing offsetof with the headers
// of each version. Those that the versions share are constants here, the others
// are in layout.c, a row for each version that ncclGetVersion() may say.
#ifndef VGPU_LAYOUT_H
#define VGPU_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	MAX_CHANNELS = 64, // 2.22 has 32; RCCL 128, but moves no data here

	// ncclDevKernelArgs; batches follow. The last two count from args_storage.
	ARGS_COMM = 0,
	ARGS_CHANNEL_MASK = 8,
	ARGS_WORK_MASK = 4,
	ARGS_WORK_BUF = 8,

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
	P2P_SEND_LL = 0x01,
	P2P_RECV_LL = 0x02,
	P2P_REGISTERED = 0x3c, // user buffers that the network or a peer reads
	P2P_PROFILED = 0x40,
	P2P_PART_ALIGN = 4096, // bytes of a channel's part

	// ncclDevWorkColl: u32 {lo:8, hi:8, nWarps:8, flags:8}
	COLL_REGISTERED = 0x06000000,
	COLL_ROOT = 4,
	COLL_RECV_ADDR = 8,
	COLL_SEND_ADDR = 16,
	COLL_GRAIN = 512,    // bytes of a grain, protocol SIMPLE
	COLL_REG_MORE = 192, // bytes that follow for registered buffers

	// ncclDevWorkBcast, since 2.29: one root's part of an AllGatherV
	BCAST_DEPTH = 0, // how far upstream on the ring the root is
	BCAST_CHUNK = 4, // bytes
	BCAST_SEND_ADDR = 8,
	BCAST_RECV_ADDR = 16,
	BCAST_BYTES = 24,
	BCAST_SIZE = 48,

	// ncclKernelComm
	COMM_RANK = 0,
	COMM_NRANKS = 4,
	COMM_NNODES = 12,
	COMM_BUF_SIZES = 16,
	COMM_ABORT = 48,
	COMM_CHANNELS = 56,
	COMM_STARTED = 72,
	COMM_COMPLETED = 80,

	// ncclDevChannel
	CHANNEL_PEERS = 0,
	CHANNEL_RING_PREV = 8,
	CHANNEL_RING_NEXT = 12,
	CHANNEL_RING_ORDER = 16,

	// ncclDevChannelPeer: ncclConnInfo send[2], recv[2] (RCCL: of 3); collectives
	// use the first, sends and receives the second
	PEER_RECV = 2,
	PEER_P2P = 1,

	// ncclConnInfo
	CONN_BUFS = 0, // LL, LL128, SIMPLE
	CONN_TAIL = 48,
	CONN_HEAD = 56,
	CONN_STEP_SIZE = 72,
	CONN_FIFO = 96,
	CONN_STEP = 104,
	CONN_SIZE = 152, // RCCL: vg_layout->conn_size

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

	// ncclSymkDevWorkArgs, since 2.27: ncclDevComm, the number of channels (u32),
	// a u32 for each channel, and works, all aligned to 16 bytes
	SYMK_RANK = 0,
	SYMK_NRANKS = 4,
	SYMK_WORK_COUNT = 8, // elements of one work
	SYMK_WORK_SIZE = 64,

	// ncclKernelPlan, from its kernelArgsSize, and ncclComm
	PLAN_COMM = 16,
};

// What differs between versions.
struct vg_layout {
	int version;
	bool rccl;	     // AMD's library; no data is moved
	int mask_words;	     // u64 of the channel mask
	size_t args_storage; // u8; 0: works in the arguments, else in the buffer
	size_t args_size;
	size_t p2p_flags, p2p_size; // ncclDevWorkP2p
	// ncclDevWorkColl: the u32 and its bit that say "profiled"
	size_t coll_profiled;
	uint32_t coll_profiled_bit;
	size_t channel_size;	// ncclDevChannel
	int peer_conns;		// connections of each direction
	size_t conn_size;	// ncclConnInfo
	unsigned clock_tick_ns; // of the kernels' time stamps; 0: CLOCK_REALTIME, ns
	// ncclDevWorkColl: u64 countLo, countMid, countHi (CollNet: countLo is the
	// whole count), then u64 {lo:21, mid:21, hi:21}: grains of a chunk
	size_t coll_count, coll_size;
	size_t comm_size; // ncclKernelComm
	// ncclDevChannel; counter 0: kernels count no works and stamp no times
	size_t channel_ring_index, channel_counter;
	size_t plan_args_size;			  // ncclKernelPlan
	size_t host_hash, host_rank, host_device; // ncclComm
	size_t symk_channels, symk_size;	  // ncclSymkDevWorkArgs; 0: none
	bool p2p_reversed;			  // the bits of a part's number make its channel
	int ntype;				  // of data types
	bool pat, allgatherv;			  // whether the function table has such rows
};

extern const struct vg_layout *vg_layout; // of the version that was chosen

// false: nobody has printed the offsets of that version.
bool vg_layout_choose(int version, bool rccl);

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
	return ptr_at(comm, COMM_CHANNELS) + vg_layout->channel_size * (size_t)channel;
}

#endif
