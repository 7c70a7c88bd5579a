// SPDX-License-Identifier: MIT
/*
 * The kernel's side of verbs, for `trace rdma`: the life of queue pairs in
 * ib_core, which every adapter has, and doorbells and completions in SoftRoCE.
 * The programs run in the kernel. The structures below have only the members
 * that are read; libbpf adjusts the offsets to the running kernel (CO-RE).
 */
#include "lua/bpf/kernel.h"
#include "lua/bpf/rdma.h"

#define KERNEL __attribute__((preserve_access_index))

static long (*probe_read)(void *to, u32 size, const void *from) = (void *)113;
static long (*probe_read_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*func_ret)(void *ctx, u64 *value) = (void *)184;

/* ---- the kernel's structures ---- */

enum ib_qp_state { RESET_STATE };
enum { QP_STATE = 1 }; /* IB_QP_STATE in the mask of a change */

struct ib_device {
	char name[64];
} KERNEL;

struct ib_qp {
	struct ib_device *device;
	u32 qp_num;
} KERNEL;

struct ib_qp_attr {
	enum ib_qp_state qp_state;
} KERNEL;

struct ib_cq {
	struct ib_device *device;
} KERNEL;

struct rxe_cq {
	struct ib_cq ibcq;
} KERNEL;

struct ib_uverbs_wc {
	u32 status, opcode, byte_len, qp_num;
} KERNEL;

struct rxe_cqe {
	struct ib_uverbs_wc uibwc;
} KERNEL;

/* Read @field of the kernel's structure at @from. */
#define READ(to, from, field) probe_read(&(to), sizeof(to), &(from)->field)

/* Maps that the programs share. */

struct {
	INT(type, TYPE_RINGBUF);
	INT(max_entries, 1 << 21);
} ring SEC(".maps");

/* PIDs of the traced processes. */
struct {
	INT(type, TYPE_HASH);
	INT(max_entries, 4096);
	u32 *key;
	u32 *value;
} pids SEC(".maps");

/*
 * The traced queue pairs, with their processes. The kernel handles a completion
 * in any context, so the current process need not be the queue pair's.
 */
struct {
	INT(type, TYPE_HASH);
	INT(max_entries, 65536);
	struct nb_rdma_qp *key;
	u32 *value;
} qps SEC(".maps");

/* Calls that have begun and not returned, by thread. */
struct {
	INT(type, TYPE_HASH);
	INT(max_entries, 4096);
	u64 *key;
	struct nb_rdma_seen *value;
} calls SEC(".maps");

static void name_qp(struct nb_rdma_qp *to, struct ib_qp *qp)
{
	struct ib_device *device = 0;

	READ(device, qp, device);
	probe_read_str(to->device, sizeof(to->device), &device->name);
	READ(to->number, qp, qp_num);
}

/*
 * A call of a traced process begins. @qp: 0 if the call creates the queue
 * pair.
 */
static int begin(u32 event, struct ib_qp *qp, u32 to)
{
	u64 id = pid_tgid();
	struct nb_rdma_seen s = { .event = event, .to = to };

	s.pid = (u32)(id >> 32);
	s.tid = (u32)id;
	if (!lookup(&pids, &s.pid))
		return 0;
	if (qp)
		name_qp(&s.qp, qp);
	s.start = now();
	update(&calls, &id, &s, 0);
	return 0;
}

static struct nb_rdma_seen *ended(u32 event)
{
	u64 id = pid_tgid(), end = now();
	struct nb_rdma_seen *s = lookup(&calls, &id);

	if (!s || s->event != event)
		return 0;
	s->end = end;
	return s;
}

static int end(void *ctx, u32 event)
{
	struct nb_rdma_seen *s = ended(event);
	u64 id = pid_tgid(), ret = 0;

	if (!s)
		return 0;
	func_ret(ctx, &ret);
	s->error = (int)ret;
	emit(&ring, s, sizeof(*s));
	if (event == NB_RDMA_DESTROY && !s->error)
		delete (&qps, &s->qp);
	delete (&calls, &id);
	return 0;
}

SEC("fentry/ib_create_qp_user")
int create_begin(u64 *ctx)
{
	(void)ctx;
	return begin(NB_RDMA_CREATE, 0, 0);
}

SEC("fexit/ib_create_qp_user")
int create_end(u64 *ctx)
{
	struct nb_rdma_seen *s = ended(NB_RDMA_CREATE);
	u64 id = pid_tgid(), ret = 0;

	if (!s)
		return 0;
	func_ret(ctx, &ret);
	/* the kernel encodes errors as its last 4,095 addresses */
	if (ret >= (u64)-4095) {
		s->error = (int)ret;
	} else {
		name_qp(&s->qp, (struct ib_qp *)ret);
		update(&qps, &s->qp, &s->pid, 0);
	}
	emit(&ring, s, sizeof(*s));
	delete (&calls, &id);
	return 0;
}

SEC("fentry/ib_modify_qp_with_udata")
int change_begin(u64 *ctx)
{
	struct ib_qp_attr *attr = (void *)ctx[1];
	enum ib_qp_state to = RESET_STATE;

	READ(to, attr, qp_state);
	return begin(NB_RDMA_CHANGE, (void *)ctx[0], (u32)ctx[2] & QP_STATE ? to : 255);
}

SEC("fexit/ib_modify_qp_with_udata")
int change_end(u64 *ctx)
{
	return end(ctx, NB_RDMA_CHANGE);
}

SEC("fentry/ib_destroy_qp_user")
int destroy_begin(u64 *ctx)
{
	return begin(NB_RDMA_DESTROY, (void *)ctx[0], 0);
}

SEC("fexit/ib_destroy_qp_user")
int destroy_end(u64 *ctx)
{
	return end(ctx, NB_RDMA_DESTROY);
}

/* ---- SoftRoCE ---- */

SEC("fentry/rxe_post_send")
int post_begin(u64 *ctx)
{
	return begin(NB_RDMA_POST, (void *)ctx[0], 0);
}

SEC("fexit/rxe_post_send")
int post_end(u64 *ctx)
{
	return end(ctx, NB_RDMA_POST);
}

SEC("fentry/rxe_cq_post")
int done(u64 *ctx)
{
	struct rxe_cq *cq = (void *)ctx[0];
	struct rxe_cqe *e = (void *)ctx[1];
	struct ib_device *device = 0;
	struct nb_rdma_seen s = { .event = NB_RDMA_DONE };
	u32 *pid;

	READ(device, cq, ibcq.device);
	probe_read_str(s.qp.device, sizeof(s.qp.device), &device->name);
	READ(s.qp.number, e, uibwc.qp_num);
	pid = lookup(&qps, &s.qp);
	if (!pid)
		return 0;
	s.pid = *pid;
	READ(s.status, e, uibwc.status);
	READ(s.opcode, e, uibwc.opcode);
	READ(s.bytes, e, uibwc.byte_len);
	s.start = s.end = now();
	emit(&ring, &s, sizeof(s));
	return 0;
}
