// SPDX-License-Identifier: MIT
// Moves the data of NCCL's kernels (VGPU_DATA=1): SendRecv and the collectives
// on rings, by sum, protocol SIMPLE, buffers that are not registered. Bytes go
// from user buffers through the slots of connections into user buffers, so
// NCCL's proxy and network carry messages of the sizes that a GPU would send.
// The order follows the files of NCCL 2.28.9's src/device: sendrecv.h,
// all_reduce.h, all_gather.h, reduce_scatter.h, broadcast.h, reduce.h,
// prims_simple.h, and of 2.29.7's: all_gather_v.h. Any other work makes its
// launch fail.
#include "test/fakes/vgpu/vgpu.h"

#include <stdio.h>
#include <stdlib.h>

#include "test/fakes/vgpu/layout.h"

enum {
	OP_SUM = 0,
	PACK = 16,   // bytes
	FLOAT32 = 7, // ncclDataType_t
	FLOAT64 = 8,
};

// One chunk, in elements: what is read and what is written.
struct op {
	size_t in, out, n;
	bool from_peer, from_input, to_peer, to_output;
};

struct part { // one root's bytes of an AllGatherV, on one channel
	char *input, *output;
	size_t bytes, chunk, done;
	unsigned depth; // how far upstream on the ring the root is
};

struct task { // a send, a receive, a copy, or one channel of a collective
	int channel;
	unsigned stage;
	bool opened, ended;
	char *input, *output;
	int type; // of vg_func; -1: bytes
	size_t elem;
	struct vg_end recv, send;
	size_t total, chunk; // elements
	unsigned ranks;	     // of a ring; 0 without
	enum vg_coll coll;   // this and the next five: of a ring
	unsigned index;
	const char *order; // int [ranks]: this rank, the next one, ...
	size_t count;	   // elements of all channels
	bool at_root, before_root, after_root;
	struct part *parts; // of an AllGatherV, which takes a chunk of each in turn
	unsigned nparts;
	unsigned slices; // of a chunk
	size_t least;	 // elements of a slice, but for the last
	size_t cursor;	 // what the next op begins with
	unsigned nop;	 // ops so far; of a ring: in this round
	bool in_op;	 // the rest is about op
	struct op op;
	unsigned slice;
	size_t slice_size, offset;
};

struct vg_data {
	const char *comm;
	const char *refused, *gone;
	struct task *tasks;
	size_t ntask, ctask;
};

bool vg_data_wanted(void)
{
	return vg_env("VGPU_DATA", 0) != 0;
}

struct vg_data *vg_data_new(const char *comm)
{
	struct vg_data *d = vg_calloc(1, sizeof *d);

	d->comm = comm;
	return d;
}

void vg_data_free(struct vg_data *d)
{
	for (size_t i = 0; d && i < d->ntask; i++)
		free(d->tasks[i].parts);
	if (d)
		free(d->tasks);
	free(d);
}

void vg_data_refuse(struct vg_data *d, const char *what)
{
	if (!d->refused)
		d->refused = what;
}

// ---- works -> tasks

static size_t div_up(size_t n, size_t by)
{
	return (n + by - 1) / by;
}

static size_t round_up(size_t n, size_t to)
{
	return div_up(n, to) * to;
}

static size_t least_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

static struct task *add(struct vg_data *d, struct task t)
{
	if (d->ntask == d->ctask) {
		d->ctask = d->ctask ? 2 * d->ctask : 16;
		struct task *more = vg_calloc(d->ctask, sizeof *more);
		if (d->ntask)
			memcpy(more, d->tasks, d->ntask * sizeof *more);
		free(d->tasks);
		d->tasks = more;
	}
	d->tasks[d->ntask] = t;
	return &d->tasks[d->ntask++];
}

static struct vg_end end_of(const struct vg_data *d, int channel, int rank, size_t conn,
			    uint64_t steps)
{
	const char *peers = ptr_at(channel_at(d->comm, channel), CHANNEL_PEERS);
	struct vg_end e = { .steps = steps, .send = conn < PEER_RECV };

	if (rank >= 0 && rank < int_at(d->comm, COMM_NRANKS) &&
	    vg_mem_mapped(peers + (size_t)rank * sizeof(char *), sizeof(char *)))
		e.conn = ptr_at(peers, (size_t)rank * sizeof(char *)) + conn * CONN_SIZE;
	return e;
}

static size_t decode_chunk(uint8_t f)
{
	size_t mantissa = f & 7u, exponent = f >> 3;

	return exponent ? (mantissa | 8) << (exponent - 1) : mantissa;
}

// One direction of a ncclDevWorkP2p.
struct half {
	size_t addr, bytes, rank, parts, chunk, conn;
};

static const struct half halves[2] = {
	{ P2P_SEND_ADDR, P2P_SEND_BYTES, P2P_SEND_RANK, P2P_SEND_PARTS, P2P_SEND_CHUNK, PEER_P2P },
	{ P2P_RECV_ADDR, P2P_RECV_BYTES, P2P_RECV_RANK, P2P_RECV_PARTS, P2P_RECV_CHUNK,
	  PEER_RECV + PEER_P2P },
};

// Which part of the bytes this channel has.
static unsigned part_number(const char *work, int channel)
{
	unsigned n = u8_at(work, P2P_NCHANNELS); // a power of two
	unsigned delta = ((unsigned)channel - u8_at(work, P2P_BASE)) & (n - 1u), part = 0;

	if (!vg_layout->p2p_reversed)
		return delta;
	for (unsigned bit = 1; bit < n; bit <<= 1)
		part = part << 1 | ((delta & bit) != 0);
	return part;
}

// This channel's part of a work; false: it has none.
static bool part_of(const struct half *h, const char *work, int channel, struct task *t)
{
	unsigned nparts = u8_at(work, h->parts);
	unsigned part = part_number(work, channel);
	size_t bytes = u64_at(work, h->bytes);

	if (part >= nparts)
		return false;
	size_t size = round_up(div_up(bytes, nparts), P2P_PART_ALIGN);
	size_t begin = least_of(part * size, bytes);
	char *at = ptr_at(work, h->addr) + begin;
	t->total = least_of(size, bytes - begin);
	t->chunk = decode_chunk(u8_at(work, h->chunk));
	if (h == halves)
		t->input = at;
	else
		t->output = at;
	return true;
}

void vg_data_p2p(struct vg_data *d, int channel, unsigned stage, const char *work)
{
	struct task t = { .channel = channel, .stage = stage, .type = -1, .elem = 1, .slices = 1 };
	unsigned flags = u8_at(work, vg_layout->p2p_flags);

	if (flags & (P2P_SEND_LL | P2P_RECV_LL | P2P_REGISTERED)) {
		vg_data_refuse(d, flags & P2P_REGISTERED ? "SendRecv of registered buffers"
							 : "SendRecv of protocol LL");
		return;
	}
	if (int_at(work, P2P_SEND_RANK) == int_at(d->comm, COMM_RANK)) {
		if (part_of(&halves[0], work, channel, &t) &&
		    part_of(&halves[1], work, channel, &t))
			add(d, t);
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct task one = t;
		const struct half *h = &halves[i];

		if (!part_of(h, work, channel, &one))
			continue;
		struct vg_end e = end_of(d, channel, int_at(work, h->rank), h->conn, 1);
		if (!e.conn)
			vg_data_refuse(d, "SendRecv with an unknown rank");
		else if (e.send)
			one.send = e;
		else
			one.recv = e;
		add(d, one);
	}
}

static const size_t elem_size[] = { 1, 1, 4, 4, 8, 8, 0, 4, 8, 0, 0, 0 };

// Which elements of the collective this channel works on.
static void share_of(struct task *t, const char *work, size_t *begin)
{
	int lo = u8_at(work, 0), hi = u8_at(work, 1);
	const char *counts = work + vg_layout->coll_count;
	size_t count_lo = u64_at(counts, 0), count_mid = u64_at(counts, 8);
	unsigned field = t->channel == lo ? 0 : t->channel == hi ? 2 : 1;
	uint64_t grains = u64_at(counts, 24) >> (21 * field);

	t->total = u64_at(counts, 8 * (size_t)field);
	t->chunk = (grains & 0x1fffff) * (COLL_GRAIN / t->elem);
	*begin = field == 0 ? 0 : count_lo + (size_t)(t->channel - lo - 1) * count_mid;
	t->count = count_lo + u64_at(counts, 16);
	if (hi > lo)
		t->count += (size_t)(hi - lo - 1) * count_mid;
}

// Whether this file knows the order and, where it matters, the sum.
static bool playable(struct vg_func f, const char *work)
{
	if (f.coll < 0 || f.algo != VG_RING || f.proto != VG_SIMPLE ||
	    u32_at(work, 0) & COLL_REGISTERED)
		return false;
	if (f.coll == VG_ALLGATHER || f.coll == VG_BROADCAST)
		return true;
	return f.op == OP_SUM && f.type >= 0 && elem_size[f.type];
}

// The ring of a channel, with slices of so many slots; false: memory that holds it is gone.
static bool ring_of(const struct vg_data *d, struct task *t, unsigned steps)
{
	const char *channel = channel_at(d->comm, t->channel);

	t->ranks = u32_at(d->comm, COMM_NRANKS);
	t->least = u32_at(d->comm, COMM_BUF_SIZES + 4 * VG_SIMPLE) / NSLOT / t->elem * steps / 32;
	t->send = end_of(d, t->channel, int_at(channel, CHANNEL_RING_NEXT), 0, steps);
	t->recv = end_of(d, t->channel, int_at(channel, CHANNEL_RING_PREV), PEER_RECV, steps);
	t->index = u32_at(channel, vg_layout->channel_ring_index);
	t->order = ptr_at(channel, CHANNEL_RING_ORDER);
	return t->send.conn && t->recv.conn && t->index < t->ranks &&
	       vg_mem_mapped(t->order, 4 * (size_t)t->ranks);
}

static void place_root(struct task *t, unsigned root)
{
	t->at_root = u32_at(t->order, 0) == root;
	t->before_root = u32_at(t->order, 4 * (size_t)(1 % t->ranks)) == root;
	t->after_root = u32_at(t->order, 4 * (size_t)(t->ranks - 1)) == root;
}

void vg_data_coll(struct vg_data *d, int channel, unsigned stage, struct vg_func f,
		  const char *work)
{
	struct task t = { .channel = channel, .stage = stage, .type = f.type, .elem = 1 };
	unsigned steps = SLICE_STEPS;
	size_t begin;

	if (!playable(f, work)) {
		vg_data_refuse(d, "any collective but RING/SIMPLE, by sum of "
				  "integers, f32 or f64");
		return;
	}
	t.coll = (enum vg_coll)f.coll;
	t.slices = CHUNK_SLICES;
	if (t.coll == VG_BROADCAST || t.coll == VG_REDUCE)
		t.slices = steps = 1;
	if (f.type >= 0)
		t.elem = elem_size[f.type];
	share_of(&t, work, &begin);
	t.input = ptr_at(work, COLL_SEND_ADDR) + begin * t.elem;
	t.output = ptr_at(work, COLL_RECV_ADDR) + begin * t.elem;
	if (!ring_of(d, &t, steps) || !t.chunk) {
		vg_data_refuse(d, "a collective on an unknown ring");
		return;
	}
	place_root(&t, u32_at(work, COLL_ROOT));
	add(d, t);
}

// The task of an AllGatherV that this work is a part of; NULL: it is not played.
static struct task *allgatherv_task(struct vg_data *d, int channel, unsigned stage)
{
	struct task t = { .channel = channel,
			  .stage = stage,
			  .type = -1,
			  .elem = 1,
			  .slices = 1,
			  .coll = VG_ALLGATHERV };
	struct task *last = d->ntask ? &d->tasks[d->ntask - 1] : NULL;

	if (last && last->parts && last->channel == channel && last->stage == stage)
		return last;
	if (ring_of(d, &t, 1))
		return add(d, t);
	vg_data_refuse(d, "an AllGatherV on an unknown ring");
	return NULL;
}

void vg_data_bcast(struct vg_data *d, int channel, unsigned stage, struct vg_func f,
		   const char *work)
{
	struct part p = { .input = ptr_at(work, BCAST_SEND_ADDR),
			  .output = ptr_at(work, BCAST_RECV_ADDR),
			  .bytes = u64_at(work, BCAST_BYTES),
			  .chunk = u32_at(work, BCAST_CHUNK),
			  .depth = u32_at(work, BCAST_DEPTH) };

	if (f.coll != VG_ALLGATHERV || f.algo != VG_RING || f.proto != VG_SIMPLE) {
		vg_data_refuse(d, "any AllGatherV but RING/SIMPLE");
		return;
	}
	struct task *t = allgatherv_task(d, channel, stage);
	if (!t)
		return;
	if (p.depth >= t->ranks || !p.chunk) {
		vg_data_refuse(d, "an AllGatherV whose works are not understood");
		return;
	}
	struct part *more = vg_calloc(t->nparts + 1, sizeof *more);
	if (t->nparts)
		memcpy(more, t->parts, t->nparts * sizeof *more);
	free(t->parts);
	t->parts = more;
	t->parts[t->nparts++] = p;
}

// ---- ops of a task

static bool next_p2p(struct task *t)
{
	if (t->nop > 0 && t->cursor >= t->total)
		return false;
	t->op = (struct op){ .in = t->cursor,
			     .out = t->cursor,
			     .n = least_of(t->chunk, t->total - t->cursor),
			     .from_peer = t->recv.conn,
			     .from_input = t->input,
			     .to_peer = t->send.conn,
			     .to_output = t->output };
	t->cursor += t->op.n;
	t->nop++;
	return true;
}

// The first element of the block of the rank that many places on.
static size_t block_at(const struct task *t, unsigned place)
{
	return u32_at(t->order, 4 * (size_t)(place % t->ranks)) * t->count;
}

// A round: n-1 ops add to what came, one completes the sum, n-1 hand sums on.
static void allreduce_op(struct task *t)
{
	unsigned last = 2 * t->ranks - 2;
	size_t rest = t->total - t->cursor, chunk = t->chunk;

	if (rest < chunk * t->ranks)
		chunk = round_up(div_up(rest, t->ranks), PACK / t->elem);
	size_t at = (t->index + 2 * t->ranks - t->nop - 1) % t->ranks * chunk;
	t->op = (struct op){ .in = t->cursor + at,
			     .out = t->cursor + at,
			     .n = at < rest ? least_of(chunk, rest - at) : 0,
			     .from_peer = t->nop > 0,
			     .from_input = t->nop < t->ranks,
			     .to_peer = t->nop < last,
			     .to_output = t->nop >= t->ranks - 1 };
}

static void allgather_op(struct task *t)
{
	t->op.out += block_at(t, t->ranks - t->nop);
	t->op.from_input = t->nop == 0;
	t->op.from_peer = t->nop > 0;
	t->op.to_peer = t->nop < t->ranks - 1;
	t->op.to_output = true;
}

static void reducescatter_op(struct task *t)
{
	t->op.in += block_at(t, t->ranks - 1 - t->nop);
	t->op.from_input = true;
	t->op.from_peer = t->nop > 0;
	t->op.to_peer = t->nop < t->ranks - 1;
	t->op.to_output = !t->op.to_peer;
}

// Sets the next op; returns how many ops a round has.
static unsigned ring_op(struct task *t)
{
	t->op = (struct op){ .in = t->cursor,
			     .out = t->cursor,
			     .n = least_of(t->chunk, t->total - t->cursor) };
	switch (t->coll) {
	case VG_ALLREDUCE:
		allreduce_op(t);
		return 2 * t->ranks - 1;
	case VG_ALLGATHER:
		allgather_op(t);
		return t->ranks;
	case VG_REDUCESCATTER:
		reducescatter_op(t);
		return t->ranks;
	case VG_BROADCAST:
		t->op.from_input = t->at_root;
		t->op.from_peer = !t->at_root;
		t->op.to_peer = !t->before_root;
		t->op.to_output = true;
		return 1;
	case VG_REDUCE:
		t->op.from_input = true;
		t->op.from_peer = !t->after_root;
		t->op.to_peer = !t->at_root;
		t->op.to_output = t->at_root;
		return 1;
	case VG_ALLGATHERV:
	case VG_NCOLL:
		break;
	}
	return 1;
}

// One chunk of the next root whose bytes are not complete.
static bool next_part(struct task *t)
{
	for (unsigned i = 0; i < t->nparts; i++) {
		struct part *p = &t->parts[t->nop++ % t->nparts];

		if (p->done >= p->bytes)
			continue;
		t->input = p->input;
		t->output = p->output;
		t->op = (struct op){ .in = p->done,
				     .out = p->done,
				     .n = least_of(p->chunk, p->bytes - p->done),
				     .from_peer = p->depth > 0,
				     .from_input = p->depth == 0,
				     .to_peer = p->depth < t->ranks - 1,
				     .to_output = true };
		p->done += t->op.n;
		return true;
	}
	return false;
}

static bool next_ring(struct task *t)
{
	if (t->cursor >= t->total)
		return false;
	unsigned nops = ring_op(t);

	if (++t->nop == nops) {
		t->nop = 0;
		t->cursor += t->coll == VG_ALLREDUCE ? t->chunk * t->ranks : t->chunk;
	}
	return true;
}

static bool next_op(struct task *t)
{
	if (!(t->parts ? next_part(t) : t->ranks ? next_ring(t) : next_p2p(t)))
		return false;
	t->slice = 0;
	t->offset = 0;
	t->slice_size = div_up(t->op.n, (size_t)PACK * t->slices) * PACK;
	if (t->slice_size < t->least)
		t->slice_size = t->least;
	return true;
}

// ---- bytes

#define ADD(TYPE)                                             \
	do {                                                  \
		TYPE *to = out;                               \
		const TYPE *x = a, *y = b;                    \
		for (size_t i = 0; i < n / sizeof(TYPE); i++) \
			to[i] = (TYPE)(x[i] + y[i]);          \
	} while (0)

// Sums of @n bytes; @out may be @a or @b. Integers wrap.
static void sum(int type, void *out, const void *a, const void *b, size_t n)
{
	if (type == FLOAT32)
		ADD(float);
	else if (type == FLOAT64)
		ADD(double);
	else if (elem_size[type] == 1)
		ADD(uint8_t);
	else if (elem_size[type] == 4)
		ADD(uint32_t);
	else
		ADD(uint64_t);
}

struct places { // of a slice; NULL: not part of the op
	char *peer_in, *peer_out, *input, *output;
};

static bool find_places(const struct task *t, size_t bytes, struct places *p)
{
	const struct op *o = &t->op;
	char *in = t->input + (o->in + t->offset) * t->elem;
	char *out = t->output + (o->out + t->offset) * t->elem;

	*p = (struct places){ 0 };
	if (!bytes)
		return true;
	if (o->from_peer && !(p->peer_in = vg_end_slot(&t->recv, bytes)))
		return false;
	if (o->to_peer && !(p->peer_out = vg_end_slot(&t->send, bytes)))
		return false;
	if (o->from_input && !vg_mem_mapped(p->input = in, bytes))
		return false;
	return !o->to_output || vg_mem_mapped(p->output = out, bytes);
}

static void move(const struct task *t, const struct places *p, size_t bytes)
{
	char *to = p->output ? p->output : p->peer_out;
	const char *from = p->peer_in ? p->peer_in : p->input;

	if (!bytes || !to || !from)
		return;
	if (p->peer_in && p->input)
		sum(t->type, to, p->peer_in, p->input, bytes);
	else
		memmove(to, from, bytes);
	if (p->output && p->peer_out)
		memcpy(p->peer_out, p->output, bytes);
}

static bool slice_ready(const struct task *t)
{
	return (!t->op.from_peer || vg_end_ready(&t->recv)) &&
	       (!t->op.to_peer || vg_end_ready(&t->send));
}

// false: memory is gone.
static bool slice_move(struct task *t)
{
	size_t n = least_of(t->slice_size, t->op.n - t->offset);
	struct places p;

	t->slice_size = n;
	if (!find_places(t, n * t->elem, &p))
		return false;
	move(t, &p, n * t->elem);
	if (t->op.from_peer)
		vg_end_post(&t->recv, n * t->elem);
	if (t->op.to_peer)
		vg_end_post(&t->send, n * t->elem);
	t->offset += n;
	t->in_op = ++t->slice < t->slices;
	return true;
}

// ---- running

static bool task_open(struct task *t)
{
	uint64_t steps = t->slices;

	t->opened = true;
	return (!t->send.conn || vg_end_open(&t->send, steps * t->send.steps)) &&
	       (!t->recv.conn || vg_end_open(&t->recv, steps * t->recv.steps));
}

static bool task_mapped(const struct task *t)
{
	return (!t->send.conn || vg_end_mapped(&t->send)) &&
	       (!t->recv.conn || vg_end_mapped(&t->recv)) &&
	       (!t->ranks || vg_mem_mapped(t->order, 4 * (size_t)t->ranks));
}

static void task_end(struct task *t)
{
	t->ended = true;
	if (t->send.conn)
		vg_end_close(&t->send);
	if (t->recv.conn)
		vg_end_close(&t->recv);
}

static enum vg_data_state task_run(struct task *t)
{
	enum vg_data_state state = VG_DATA_WAITS;

	if (!(t->opened ? task_mapped(t) : task_open(t)))
		return VG_DATA_FAILED;
	for (;;) {
		if (!t->in_op && !(t->in_op = next_op(t))) {
			task_end(t);
			return VG_DATA_ENDED;
		}
		if (!slice_ready(t))
			return state;
		if (!slice_move(t))
			return VG_DATA_FAILED;
		state = VG_DATA_MOVED;
	}
}

// Tasks of a channel are in the order of their stages.
static enum vg_data_state run_tasks(struct vg_data *d)
{
	unsigned stage[MAX_CHANNELS];
	bool busy[MAX_CHANNELS] = { false }, moved = false, waits = false;

	for (size_t i = 0; i < d->ntask; i++) {
		struct task *t = &d->tasks[i];
		int ch = t->channel;

		if (t->ended || (busy[ch] && stage[ch] != t->stage))
			continue;
		enum vg_data_state one = task_run(t);
		if (one == VG_DATA_FAILED) {
			d->gone = "memory of a buffer or connection is gone";
			return one;
		}
		if (one != VG_DATA_WAITS)
			moved = true;
		if (one != VG_DATA_ENDED) {
			waits = busy[ch] = true;
			stage[ch] = t->stage;
		}
	}
	return !waits ? VG_DATA_ENDED : moved ? VG_DATA_MOVED : VG_DATA_WAITS;
}

enum vg_data_state vg_data_run(struct vg_data *d)
{
	enum vg_data_state state;

	if (d->refused)
		return VG_DATA_FAILED;
	vg_mem_hold();
	state = run_tasks(d);
	vg_mem_release();
	return state;
}

void vg_data_explain(const struct vg_data *d, char *out, size_t size)
{
	const struct task *t = d->tasks;

	while (t < d->tasks + d->ntask && t->ended)
		t++;
	if (d->refused)
		snprintf(out, size, "VGPU_DATA=1 cannot play %s", d->refused);
	else if (d->gone || t == d->tasks + d->ntask)
		snprintf(out, size, "%s", d->gone ? d->gone : "no data");
	else
		snprintf(out, size, "channel %d waits for %s: %zu of %zu elements begun",
			 t->channel,
			 t->op.from_peer && !vg_end_ready(&t->recv) ? "data of its peer"
								    : "a slot to send",
			 t->cursor, t->total);
}
