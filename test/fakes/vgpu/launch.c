// SPDX-License-Identifier: MIT
// Decodes a launch of one of NCCL's kernels: who takes part in what, how long
// it takes, which profiler counters it would write.
//
// Device memory is host memory, so everything can be read where it lies. The
// layout is known for some versions of NCCL (layout.c); under another a kernel
// takes VGPU_OTHER_US, meets nobody and counts nothing.
#include "test/fakes/vgpu/vgpu.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/fakes/vgpu/layout.h"

enum work_type { WORK_P2P, WORK_COLL, WORK_COLL_REG, WORK_BCAST };

static const char *const op_name[] = { "Sum", "Prod", "MinMax", "PreMulSum", "SumPostDiv" };
static const char *const type_name[] = { "i8",	"u8",  "i32", "u32",  "i64",	"u64",
					 "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2" };
static const unsigned type_size[] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

static bool known_version, logging;
static uint64_t real_minus_mono;

static void init(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	real_minus_mono = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - vg_now();
	logging = vg_env("VGPU_LOG", 0) != 0;
	vg_model_init();
	known_version = vg_layout_choose(vg_nccl_version, vg_rccl);
	if (vg_data_wanted() && (!known_version || vg_rccl))
		vg_skip("VGPU_DATA=1", " moves data for versions of NCCL in layout.c alone");
	if (known_version)
		vg_funcs_init();
	else
		vg_log("NCCL %d: its kernel arguments are not known; no model, no waiting "
		       "for peers, no network",
		       vg_nccl_version);
}

// ---- one launch

struct decode {
	const char *args;
	size_t size;
	const size_t *size_at;
	char *comm; // ncclKernelComm
	int rank, nranks, nnodes;
	struct vg_launch *l;
	uint64_t bytes;
	unsigned ncoll, stage, nbcast, bcast_func;
	uint64_t bcast_sig;
	int grid;
	double worst_us; // the slowest channel so far
};

struct work {
	int channel;
	enum work_type type;
	unsigned func;
	const char *at;
};

static __attribute__((format(printf, 2, 3))) void say(struct vg_launch *l, const char *fmt, ...)
{
	size_t at = strlen(l->what);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->what + at, sizeof l->what - at, fmt, ap);
	va_end(ap);
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
	return h * 0xff51afd7ed558ccdu;
}

// A kernel counts every work of a channel, profiled or not.
static void count_work(struct decode *d, int channel, bool profiled)
{
	struct vg_launch *l = d->l;
	char *at = channel_at(d->comm, channel) + vg_layout->channel_counter;

	if (!vg_layout->channel_counter)
		return;
	uint64_t counter = u64_at(at, 0) + 1;
	memcpy(at, &counter, sizeof counter);
	if (!profiled)
		return;
	if (l->nprof == l->cprof) {
		unsigned more = l->cprof ? 2 * l->cprof : 32;
		struct vg_prof *p = vg_calloc(more, sizeof *p);

		if (l->nprof)
			memcpy(p, l->prof, l->nprof * sizeof *p);
		free(l->prof);
		l->prof = p;
		l->cprof = more;
	}
	size_t off = (size_t)PROF_SIZE * (size_t)channel;
	l->prof[l->nprof++] = (struct vg_prof){
		.started = ptr_at(d->comm, COMM_STARTED) + off,
		.completed = ptr_at(d->comm, COMM_COMPLETED) + off,
		.counter = counter,
	};
}

static double p2p_work(struct decode *d, const struct work *w)
{
	uint64_t send = u64_at(w->at, P2P_SEND_BYTES);
	uint64_t recv = u64_at(w->at, P2P_RECV_BYTES);

	count_work(d, w->channel, u8_at(w->at, vg_layout->p2p_flags) & P2P_PROFILED);
	if (!d->l->what[0])
		say(d->l, "SendRecv to %d (%llu B) from %d (%llu B)", int_at(w->at, P2P_SEND_RANK),
		    (unsigned long long)send, int_at(w->at, P2P_RECV_RANK),
		    (unsigned long long)recv);
	return vg_model_p2p_us(send > recv ? send : recv);
}

static uint64_t coll_bytes(const struct decode *d, struct vg_func f, const char *at,
			   unsigned nchannels)
{
	const char *counts = at + vg_layout->coll_count;
	uint64_t count = u64_at(counts, 0);

	if (f.algo != VG_COLLNET_DIRECT) {
		if (nchannels > 2)
			count += (nchannels - 2) * u64_at(counts, 8);
		if (nchannels > 1)
			count += u64_at(counts, 16);
	}
	if (f.type >= 0)
		count *= type_size[f.type];
	if (f.coll == VG_ALLGATHER || f.coll == VG_REDUCESCATTER)
		count *= (uint64_t)d->nranks; // as nccl-tests counts
	return count;
}

static void coll_say(struct vg_launch *l, unsigned id, struct vg_func f, unsigned lo, unsigned hi)
{
	l->what[0] = 0;
	if (f.coll < 0) {
		say(l, "function %u", id);
	} else {
		say(l, "%s", vg_coll_name[f.coll]);
		if (f.op >= 0)
			say(l, " %s %s", op_name[f.op], type_name[f.type]);
		say(l, " %s/%s", vg_algo_name[f.algo], vg_proto_name[f.proto]);
	}
	say(l, " channels %u..%u", lo, hi);
}

static double coll_work(struct decode *d, const struct work *w)
{
	uint32_t head = u32_at(w->at, 0);
	unsigned lo = head & 255, hi = head >> 8 & 255;
	struct vg_func f = vg_func_of(w->func);

	unsigned nchannels = hi >= lo ? hi - lo + 1 : 1;
	uint64_t bytes = coll_bytes(d, f, w->at, nchannels);
	count_work(d, w->channel,
		   u32_at(w->at, vg_layout->coll_profiled) & vg_layout->coll_profiled_bit);
	if ((unsigned)w->channel == lo) { // each collective once
		if (!d->ncoll++)
			coll_say(d->l, w->func, f, lo, hi);
		uint64_t sig = mix(d->l->sig, w->func);
		sig = mix(mix(sig, lo << 8 | hi), bytes);
		d->l->sig = mix(sig, u32_at(w->at, COLL_ROOT));
		d->bytes += bytes;
	}
	return vg_model_us(f, (struct vg_shape){ .bytes = (double)bytes,
						 .ranks = d->nranks,
						 .nodes = d->nnodes,
						 .channels = (int)nchannels });
}

// One root's part, on one channel. Ranks keep the roots in the order of their own
// distance, so what identifies the launch is a sum over the parts.
static double bcast_work(struct decode *d, const struct work *w)
{
	uint64_t bytes = u64_at(w->at, BCAST_BYTES);
	const char *ring = channel_at(d->comm, w->channel) + CHANNEL_RING_ORDER;
	unsigned nranks = (unsigned)d->nranks, depth = u32_at(w->at, BCAST_DEPTH);

	count_work(d, w->channel, false);
	if (depth >= nranks || !vg_mem_mapped(ptr_at(ring, 0), sizeof(int) * nranks))
		return 0;
	unsigned root = u32_at(ptr_at(ring, 0), sizeof(int) * ((nranks - depth) % nranks));
	d->bcast_sig += mix(mix(mix(0, root), (unsigned)w->channel), bytes);
	if (!d->ncoll++)
		coll_say(d->l, w->func, vg_func_of(w->func), 0, (unsigned)d->grid - 1);
	d->bcast_func = w->func;
	d->nbcast++;
	d->bytes += bytes;
	return 0; // decode takes them together
}

// Where a work lies, or NULL when that is outside what NCCL gave.
static const char *work_at(const struct decode *d, uint32_t off, unsigned size)
{
	const char *storage = d->args + vg_layout->args_storage;

	if (u8_at(storage, 0) == 0)
		return off <= d->size && size <= d->size - off ? d->args + off : NULL;
	const char *at = ptr_at(storage, ARGS_WORK_BUF) + (off & u32_at(storage, ARGS_WORK_MASK));
	return vg_mem_mapped(at, size) ? at : NULL;
}

// Collectives of a channel run one after the other.
static double one_work(struct decode *d, const struct work *w)
{
	struct vg_data *data = d->l->data;

	if (w->type == WORK_P2P) {
		if (data)
			vg_data_p2p(data, w->channel, d->stage, w->at);
		return p2p_work(d, w);
	}
	if (w->type == WORK_BCAST) {
		if (data)
			vg_data_bcast(data, w->channel, d->stage, vg_func_of(w->func), w->at);
		return bcast_work(d, w);
	}
	if (data && w->type == WORK_COLL_REG)
		vg_data_refuse(data, "a collective on registered buffers");
	else if (data)
		vg_data_coll(data, w->channel, d->stage++, vg_func_of(w->func), w->at);
	return coll_work(d, w);
}

static unsigned work_size(enum work_type type)
{
	switch (type) {
	case WORK_P2P:
		return (unsigned)vg_layout->p2p_size;
	case WORK_COLL:
		return (unsigned)vg_layout->coll_size;
	case WORK_COLL_REG:
		return (unsigned)vg_layout->coll_size + COLL_REG_MORE;
	case WORK_BCAST:
		return BCAST_SIZE;
	}
	return 0;
}

// The works of one batch; returns how long they take.
static double batch_works(struct decode *d, const char *batch, int channel)
{
	uint32_t head = u32_at(batch, 0);
	struct work w = { .channel = channel, .func = head >> BATCH_FUNC_SHIFT };
	uint64_t bits = u64_at(batch, BATCH_BITS);
	double us = 0;

	w.type = (enum work_type)(head >> BATCH_TYPE_SHIFT & 3);
	unsigned size = work_size(w.type);
	for (unsigned bit = 0; bit < 64; bit++) {
		if (!(bits >> bit & 1))
			continue;
		w.at = work_at(d, u32_at(batch, BATCH_OFFSET) + bit * size, size);
		if (!w.at)
			continue;
		us += one_work(d, &w);
	}
	return us;
}

// Block i of the grid begins at batch i and follows the jumps.
static void decode_channel(struct decode *d, int channel, size_t first)
{
	size_t nbatch = (d->size - vg_layout->args_size) / BATCH_SIZE;
	double us = 0;

	for (size_t i = first; i < nbatch;) {
		const char *batch = d->args + vg_layout->args_size + i * BATCH_SIZE;
		size_t jump = u32_at(batch, 0) & BATCH_JUMP_MASK;

		us += batch_works(d, batch, channel);
		if (!(u32_at(batch, 0) & BATCH_EXTENDS))
			d->stage++;
		if (!jump)
			break;
		i += jump;
	}
	if (us > d->worst_us)
		d->worst_us = us;
}

static void scan_network(const struct decode *d, int channel)
{
	char *peers = ptr_at(channel_at(d->comm, channel), CHANNEL_PEERS);
	int slots[2];

	for (int p = 0; p < 2; p++) // one of eight slots; LL and LL128
		slots[p] = int_at(d->comm, COMM_BUF_SIZES + 4 * (size_t)p) / 8;
	if (vg_mem_mapped(peers, (size_t)d->nranks * sizeof(char *)))
		vg_agent_scan((char *const *)peers, d->nranks, slots);
}

// The host's communicator is reached through the plan: NCCL hands the address
// of the plan's member to the launch. Trusted only if it points back at us.
static const char *host_comm(const struct decode *d)
{
	const char *plan = (const char *)d->size_at - vg_layout->plan_args_size;
	const char *host = ptr_at(plan, PLAN_COMM);

	if (!host || int_at(host, vg_layout->host_rank) != d->rank)
		return NULL;
	return !d->comm || ptr_at(host, vg_layout->host_device) == d->comm ? host : NULL;
}

static void join(struct decode *d)
{
	const char *host = host_comm(d);

	if (host)
		d->l->rdv = vg_rdv_get(u64_at(host, vg_layout->host_hash), d->rank, d->nranks);
	if (d->l->rdv)
		d->l->seq = vg_rdv_next(d->l->rdv);
}

// ---- symmetric kernels, which know their peers' memory

static const char symmetric[] = "ncclSymkDevKernel_";

// ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f32: the collective, how, what of. MC is
// for multicast, ST for stores, LD for loads.
static struct vg_func symmetric_func(const char *name)
{
	struct vg_func f = { -1, -1, -1, VG_RING, VG_SIMPLE };

	for (signed char i = 0; i < VG_NCOLL; i++) {
		size_t n = strlen(vg_coll_name[i]);

		if (!strncmp(name, vg_coll_name[i], n) && name[n] == '_')
			f.coll = i;
	}
	if (strstr(name, "MC"))
		f.algo = VG_NVLS;
	if (strstr(name, "LL"))
		f.proto = VG_LL;
	return f;
}

static uint64_t symmetric_bytes(const struct decode *d, const char *name)
{
	size_t nchannels = u32_at(d->args, vg_layout->symk_channels);
	size_t at = vg_layout->symk_size + (4 * nchannels + 15) / 16 * 16;
	const char *type = strrchr(name, '_') + 1;
	uint64_t n = 0;

	if (nchannels > MAX_CHANNELS)
		return 0;
	for (; at + SYMK_WORK_SIZE <= d->size; at += SYMK_WORK_SIZE)
		n += u64_at(d->args, at + SYMK_WORK_COUNT);
	for (size_t i = 0; i < sizeof type_size / sizeof *type_size; i++) {
		if (!strcmp(type, type_name[i]))
			return n * type_size[i];
	}
	return n; // of bytes, where nothing is added
}

static bool decode_symmetric(struct decode *d, const char *kernel)
{
	size_t prefix = sizeof symmetric - 1;

	if (!known_version || !vg_layout->symk_size || !d->args || !d->size_at ||
	    *d->size_at < vg_layout->symk_size || strncmp(kernel, symmetric, prefix) != 0)
		return false;
	d->size = *d->size_at;
	d->rank = d->l->rank = int_at(d->args, SYMK_RANK);
	d->nranks = int_at(d->args, SYMK_NRANKS);
	if (d->nranks < 1 || d->rank < 0 || d->rank >= d->nranks)
		return false;
	d->bytes = symmetric_bytes(d, kernel + prefix);
	for (const char *c = kernel + prefix; *c; c++)
		d->l->sig = mix(d->l->sig, (unsigned char)*c);
	d->l->sig = mix(d->l->sig, d->bytes);
	say(d->l, "symmetric %.80s, %llu bytes", kernel + prefix, (unsigned long long)d->bytes);
	if (vg_data_wanted()) {
		d->l->data = vg_data_new(NULL);
		vg_data_refuse(d->l->data, "a symmetric kernel");
	}
	join(d);
	d->worst_us = vg_model_us(symmetric_func(kernel + prefix),
				  (struct vg_shape){ .bytes = (double)d->bytes,
						     .ranks = d->nranks,
						     .nodes = 1,
						     .channels = d->grid }) *
		      vg_model_noise(d->l->seq);
	return true;
}

// ---- the others

// All works of an AllGatherV are parts of one collective.
static void decode_bcasts(struct decode *d)
{
	d->l->sig = mix(mix(d->l->sig, d->bcast_func), d->bcast_sig);
	d->worst_us +=
		vg_model_us(vg_func_of(d->bcast_func), (struct vg_shape){ .bytes = (double)d->bytes,
									  .ranks = d->nranks,
									  .nodes = d->nnodes,
									  .channels = d->grid });
}

static void decode(struct decode *d)
{
	const char *mask = d->args + ARGS_CHANNEL_MASK;
	size_t block = 0;

	d->l->rank = d->rank;
	d->l->abort_flag = (uint32_t *)ptr_at(d->comm, COMM_ABORT);
	if (vg_data_wanted())
		d->l->data = vg_data_new(d->comm);
	for (int ch = 0; ch < 64 * vg_layout->mask_words; ch++) {
		if (!(u64_at(mask, (size_t)ch / 64 * 8) >> ch % 64 & 1) ||
		    !vg_mem_mapped(channel_at(d->comm, ch), vg_layout->channel_size))
			continue;
		if (!d->l->data) // else nobody else may serve connections
			scan_network(d, ch);
		decode_channel(d, ch, block++);
	}
	if (!d->ncoll)
		return; // sends and receives meet nobody
	if (d->nbcast)
		decode_bcasts(d);
	else if (d->ncoll > 1)
		say(d->l, " and %u more", d->ncoll - 1);
	say(d->l, ", %llu bytes", (unsigned long long)d->bytes);
	join(d);
	d->worst_us *= vg_model_noise(d->l->seq);
}

static bool decodable(struct decode *d, const char *kernel)
{
	if (!known_version || !d->args || !d->size_at || *d->size_at < vg_layout->args_size ||
	    strncmp(kernel, "ncclDevKernel_", 14) != 0)
		return false;
	d->size = *d->size_at;
	d->comm = ptr_at(d->args, ARGS_COMM);
	if (!vg_mem_mapped(d->comm, vg_layout->comm_size))
		return false;
	d->rank = int_at(d->comm, COMM_RANK);
	d->nranks = int_at(d->comm, COMM_NRANKS);
	d->nnodes = int_at(d->comm, COMM_NNODES);
	return d->nranks > 0 && d->rank >= 0 && d->rank < d->nranks;
}

struct vg_launch *vg_launch_new(const char *kernel, unsigned grid, const void *args,
				const size_t *size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct vg_launch *l = vg_calloc(1, sizeof *l);
	struct decode d = { .args = args, .size_at = size, .l = l, .grid = (int)grid };

	pthread_once(&once, init);
	l->sig = grid;
	if (decodable(&d, kernel))
		decode(&d);
	else if (!decode_symmetric(&d, kernel))
		d.worst_us = vg_model_other_us();
	if (!l->what[0])
		say(l, "%.100s grid %u", kernel, grid);
	l->dur_ns = (uint64_t)(d.worst_us * 1e3);
	if (logging)
		vg_log("launch rank %d #%llu %s -> %.1f us", l->rank, (unsigned long long)l->seq,
		       l->what, d.worst_us);
	return l;
}

void vg_launch_free(struct vg_launch *l)
{
	if (!l)
		return;
	vg_data_free(l->data);
	free(l->prof);
	free(l);
}

void vg_launch_prof(const struct vg_launch *l, bool completed, uint64_t ns)
{
	enum { ON_NS = 1000000000 }; // a GPU's own clock counts since it is on: never 0
	unsigned tick = known_version ? vg_layout->clock_tick_ns : 0;
	uint64_t stamp = tick ? (ns + ON_NS) / tick : ns + real_minus_mono;

	for (unsigned i = 0; i < l->nprof; i++) {
		const struct vg_prof *p = &l->prof[i];
		char *at = completed ? p->completed : p->started;

		vg_mem_hold();
		if (vg_mem_mapped(at, PROF_SIZE)) {
			at += PROF_ENTRY * (p->counter % PROF_ENTRIES);
			memcpy(at + PROF_TIME, &stamp, sizeof stamp);
			// The counter says that the time is there: last.
			__atomic_store_n((uint64_t *)(void *)(at + PROF_COUNTER), p->counter,
					 __ATOMIC_RELEASE);
		}
		vg_mem_release();
	}
}
