// SPDX-License-Identifier: MIT
// Decodes a launch of one of NCCL's kernels: who takes part in what, how long
// it takes, which profiler counters it would write.
//
// Device memory is host memory, so everything can be read where it lies. The
// layout is known for one version of NCCL (layout.h); under another a kernel
// takes VGPU_OTHER_US, meets nobody and counts nothing.
#include "test/fakes/vgpu/vgpu.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/fakes/vgpu/layout.h"

enum { MAX_FUNC = 2048, NOP = 5, NTYPE = 12 };

enum work_type { WORK_P2P, WORK_COLL, WORK_COLL_REG };

static const unsigned work_size[] = { P2P_SIZE, COLL_SIZE, COLL_REG_SIZE };

static const char *const op_name[NOP] = { "Sum", "Prod", "MinMax", "PreMulSum", "SumPostDiv" };
static const char *const type_name[NTYPE] = { "i8",  "u8",  "i32", "u32",  "i64",    "u64",
					      "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2" };
static const unsigned type_size[NTYPE] = { 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };

static bool known_version, logging;
static uint64_t real_minus_mono;

// ---- device functions
//
// A batch names its function by an id. NCCL holds a table row -> id whose rows
// are ordered as below; several rows may share an id (sums of i32 and u32), so
// the first one names it. Turning the table around here also serves builds
// with fewer functions.

static struct vg_func funcs[MAX_FUNC];

struct row_range { // one collective's rows: operators x types x algorithms
	signed char coll;
	int nop, ntype, nalgo;
	signed char algos[6];
};

static const struct row_range row_ranges[] = {
	{ VG_ALLGATHER, 1, 1, 4, { VG_RING, VG_COLLNET_DIRECT, VG_NVLS, VG_PAT } },
	{ VG_BROADCAST, 1, 1, 1, { VG_RING } },
	{ VG_ALLREDUCE,
	  NOP,
	  NTYPE,
	  6,
	  { VG_TREE, VG_RING, VG_COLLNET_DIRECT, VG_COLLNET_CHAIN, VG_NVLS, VG_NVLS_TREE } },
	{ VG_REDUCE, NOP, NTYPE, 1, { VG_RING } },
	{ VG_REDUCESCATTER, NOP, NTYPE, 4, { VG_RING, VG_COLLNET_DIRECT, VG_NVLS, VG_PAT } },
};

static size_t row_count(const struct row_range *r)
{
	return (size_t)r->nop * (size_t)r->ntype * (size_t)r->nalgo * VG_NPROTO;
}

// The function of the i-th row of a range; the protocol changes fastest.
static struct vg_func row_func(const struct row_range *r, size_t i)
{
	struct vg_func f = { .coll = r->coll, .op = -1, .type = -1 };
	int n = (int)i;

	f.proto = (signed char)(n % VG_NPROTO);
	n /= VG_NPROTO;
	f.algo = r->algos[n % r->nalgo];
	n /= r->nalgo;
	if (r->ntype > 1) {
		f.type = (signed char)(n % r->ntype);
		f.op = (signed char)(n / r->ntype);
	}
	return f;
}

static void funcs_init(void)
{
	size_t row = 1; // row 0 is send/recv, whose works have a type of own
	size_t nrange = sizeof row_ranges / sizeof *row_ranges;

	memset(funcs, -1, sizeof funcs);
	for (size_t k = 0; k < nrange; k++)
		row += row_count(&row_ranges[k]);
	if (!vg_row_to_id || vg_nrows < row) {
		vg_log("NCCL's function table has %zu rows, not %zu: functions "
		       "are shown by number",
		       vg_nrows, row);
		return;
	}
	row = 1;
	for (size_t k = 0; k < nrange; k++) {
		for (size_t i = 0; i < row_count(&row_ranges[k]); i++) {
			int id = vg_row_to_id[row++];

			if (id >= 0 && id < MAX_FUNC && funcs[id].coll < 0)
				funcs[id] = row_func(&row_ranges[k], i);
		}
	}
}

static void init(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	real_minus_mono = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec - vg_now();
	logging = vg_env("VGPU_LOG", 0) != 0;
	vg_model_init();
	known_version = vg_nccl_version == LAYOUT_VERSION;
	if (known_version)
		funcs_init();
	else if (vg_data_wanted())
		vg_skip("VGPU_DATA=1", " moves data for NCCL 2.28.9 alone");
	else
		vg_log("NCCL %d: kernel arguments are known for %d only; no "
		       "model, no waiting for peers, no network",
		       vg_nccl_version, LAYOUT_VERSION);
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
	unsigned ncoll, stage;
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
	char *at = channel_at(d->comm, channel) + CHANNEL_COUNTER;
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

	count_work(d, w->channel, u8_at(w->at, P2P_FLAGS) & P2P_PROFILED);
	if (!d->l->what[0])
		say(d->l, "SendRecv to %d (%llu B) from %d (%llu B)", int_at(w->at, P2P_SEND_RANK),
		    (unsigned long long)send, int_at(w->at, P2P_RECV_RANK),
		    (unsigned long long)recv);
	return vg_model_p2p_us(send > recv ? send : recv);
}

static uint64_t coll_bytes(const struct decode *d, struct vg_func f, const char *at,
			   unsigned nchannels)
{
	uint64_t count = u64_at(at, COLL_COUNT_LO);

	if (f.algo != VG_COLLNET_DIRECT) {
		if (nchannels > 2)
			count += (nchannels - 2) * u64_at(at, COLL_COUNT_MID);
		if (nchannels > 1)
			count += u64_at(at, COLL_COUNT_HI);
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

static struct vg_func func_of(const struct work *w)
{
	return w->func < MAX_FUNC ? funcs[w->func] : (struct vg_func){ -1, -1, -1, -1, -1 };
}

static double coll_work(struct decode *d, const struct work *w)
{
	uint32_t head = u32_at(w->at, 0);
	unsigned lo = head & 255, hi = head >> 8 & 255;
	struct vg_func f = func_of(w);

	unsigned nchannels = hi >= lo ? hi - lo + 1 : 1;
	uint64_t bytes = coll_bytes(d, f, w->at, nchannels);
	count_work(d, w->channel, head >> 31);
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

// Where a work lies, or NULL when that is outside what NCCL gave.
static const char *work_at(const struct decode *d, uint32_t off, unsigned size)
{
	if (u8_at(d->args, ARGS_STORAGE) == 0)
		return off <= d->size && size <= d->size - off ? d->args + off : NULL;
	const char *at = ptr_at(d->args, ARGS_WORK_BUF) + (off & u32_at(d->args, ARGS_WORK_MASK));
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
	if (data && w->type == WORK_COLL_REG)
		vg_data_refuse(data, "a collective on registered buffers");
	else if (data)
		vg_data_coll(data, w->channel, d->stage++, func_of(w), w->at);
	return coll_work(d, w);
}

// The works of one batch; returns how long they take.
static double batch_works(struct decode *d, const char *batch, int channel)
{
	uint32_t head = u32_at(batch, 0);
	struct work w = { .channel = channel, .func = head >> BATCH_FUNC_SHIFT };
	unsigned type = head >> BATCH_TYPE_SHIFT & 3;
	uint64_t bits = u64_at(batch, BATCH_BITS);
	double us = 0;

	if (type > WORK_COLL_REG)
		return 0;
	w.type = (enum work_type)type;
	for (unsigned bit = 0; bit < 64; bit++) {
		if (!(bits >> bit & 1))
			continue;
		w.at = work_at(d, u32_at(batch, BATCH_OFFSET) + bit * work_size[type],
			       work_size[type]);
		if (!w.at)
			continue;
		us += one_work(d, &w);
	}
	return us;
}

// Block i of the grid begins at batch i and follows the jumps.
static void decode_channel(struct decode *d, int channel, size_t first)
{
	size_t nbatch = (d->size - ARGS_SIZE) / BATCH_SIZE;
	double us = 0;

	for (size_t i = first; i < nbatch;) {
		const char *batch = d->args + ARGS_SIZE + i * BATCH_SIZE;
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
static void join(struct decode *d)
{
	const char *plan = (const char *)d->size_at - PLAN_ARGS_SIZE;
	const char *host = ptr_at(plan, PLAN_COMM);

	if (!host || ptr_at(host, HOST_COMM_DEVICE) != d->comm ||
	    int_at(host, HOST_COMM_RANK) != d->rank)
		return;
	d->l->rdv = vg_rdv_get(u64_at(host, HOST_COMM_HASH), d->rank, d->nranks);
	if (d->l->rdv)
		d->l->seq = vg_rdv_next(d->l->rdv);
}

static void decode(struct decode *d)
{
	uint64_t mask = u64_at(d->args, ARGS_CHANNEL_MASK);
	size_t block = 0;

	d->l->rank = d->rank;
	d->l->abort_flag = (uint32_t *)ptr_at(d->comm, COMM_ABORT);
	if (vg_data_wanted())
		d->l->data = vg_data_new(d->comm);
	for (int ch = 0; ch < MAX_CHANNELS; ch++) {
		if (!(mask >> ch & 1) || !vg_mem_mapped(channel_at(d->comm, ch), CHANNEL_SIZE))
			continue;
		if (!d->l->data) // else nobody else may serve connections
			scan_network(d, ch);
		decode_channel(d, ch, block++);
	}
	if (!d->ncoll)
		return; // sends and receives meet nobody
	if (d->ncoll > 1)
		say(d->l, " and %u more", d->ncoll - 1);
	say(d->l, ", %llu bytes", (unsigned long long)d->bytes);
	join(d);
	d->worst_us *= vg_model_noise(d->l->seq);
}

static bool decodable(struct decode *d, const char *kernel)
{
	if (!known_version || !d->args || !d->size_at || *d->size_at < ARGS_SIZE ||
	    strncmp(kernel, "ncclDevKernel_", 14) != 0)
		return false;
	d->size = *d->size_at;
	d->comm = ptr_at(d->args, ARGS_COMM);
	if (!vg_mem_mapped(d->comm, COMM_SIZE))
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
	struct decode d = { .args = args, .size_at = size, .l = l };

	pthread_once(&once, init);
	l->sig = grid;
	if (decodable(&d, kernel))
		decode(&d);
	else
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
	uint64_t stamp = ns + real_minus_mono;

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
