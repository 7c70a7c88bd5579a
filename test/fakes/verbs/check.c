// SPDX-License-Identifier: MIT
// What the claims of tap_check share.
#include "test/fakes/verbs/check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int number, failed;

void ok(bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", ++number, name);
	failed += !good;
}

int checks_end(void)
{
	printf("1..%d\n", number);
	return failed != 0;
}

/* ---- libibverbs, found as NCCL finds it ---- */

struct check_verbs v;
const struct nb_tap_api *tap;
struct ibv_context *device;
struct ibv_pd *pd;

bool find_all(void)
{
	void *lib = dlopen("libibverbs.so", RTLD_NOW);

	if (!lib) {
		printf("# %s\n", dlerror());
		return false;
	}
#define X(type, name, version, args)                                       \
	*(void **)&v.name = dlvsym(lib, "ibv_" #name, "IBVERBS_" version); \
	if (!v.name)                                                       \
		return false;
	VERBS(X)
#undef X
	tap = dlsym(lib, NB_TAP_SYMBOL);
	return tap && !strcmp(tap->build, NB_TAP_BUILD);
}

/* ---- a sink that keeps what it is told ---- */

static uint32_t hooks, timed;
struct check_told told;
struct ncclbpf_verbs_qp answer;
bool answering;

#define KEEP(what)                                                     \
	if (told.n##what < KEPT)                                       \
		memcpy(&told.what[told.n##what++], ctx, (size_t)size); \
	break

static void run(enum nb_hook hook, void *ctx, uint64_t size)
{
	struct ncclbpf_verbs_qp *q = ctx;

	switch ((int)hook) {
	case NB_HOOK_VERBS_QP:
		if (answering && q->phase == 1) {
			q->traffic_class = answer.traffic_class;
			q->sl = answer.sl;
			q->min_rnr_timer = answer.min_rnr_timer;
			q->timeout = answer.timeout;
			q->retry_cnt = answer.retry_cnt;
			q->rnr_retry = answer.rnr_retry;
		}
		KEEP(qp);
	case NB_HOOK_VERBS_POST:
		KEEP(post);
	case NB_HOOK_VERBS_DONE:
		KEEP(done);
	case NB_HOOK_VERBS_EVENT:
		KEEP(event);
	case NB_HOOK_VERBS_MR:
		KEEP(mr);
	}
}

/* A post or a completion that is told without times. */
static void run_untimed(enum nb_hook hook, void *ctx, uint64_t size)
{
	told.nuntimed++;
	run(hook, ctx, size);
}

const struct nb_tap_sink sink = { &hooks, &timed, run, run_untimed };

void listen_to(uint32_t bits)
{
	memset(&told, 0, sizeof(told));
	__atomic_store_n(&hooks, bits, __ATOMIC_RELAXED);
	__atomic_store_n(&timed, bits, __ATOMIC_RELAXED);
}

void ignore_times(void)
{
	__atomic_store_n(&timed, 0, __ATOMIC_RELAXED);
}

struct nb_tap_sums sums(void)
{
	struct nb_tap_sums s;

	tap->sums(&s);
	return s;
}

/* ---- a pair of connected queue pairs ---- */

static int to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = BOTH };

	return v.modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
}

static int to_rtr(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTR,
				 .path_mtu = IBV_MTU_4096,
				 .dest_qp_num = peer,
				 .min_rnr_timer = 12,
				 .ah_attr = { .is_global = 1,
					      .grh = { .dgid = { .raw = { 1 } },
						       .traffic_class = 3 } } };

	return v.modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_MIN_RNR_TIMER | IBV_QP_RQ_PSN |
				   IBV_QP_MAX_DEST_RD_ATOMIC);
}

int to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7
	};

	return v.modify_qp(qp, &a,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

bool pair_new(struct pair *p)
{
	struct ibv_qp_init_attr want = { .qp_type = IBV_QPT_RC, .cap = { 16, 16, 1, 1, 0 } };
	bool good = true;

	for (int i = 0; i < 2; i++) {
		p->cq[i] = v.create_cq(device, 64, NULL, NULL, 0);
		want.send_cq = want.recv_cq = p->cq[i];
		p->qp[i] = v.create_qp(pd, &want);
		p->mr[i] = v.reg_mr(pd, p->data[i], ROOM, BOTH);
		good &= p->cq[i] && p->qp[i] && p->mr[i];
	}
	for (int i = 0; i < 2 && good; i++)
		good &= !to_init(p->qp[i]) && !to_rtr(p->qp[i], p->qp[!i]->qp_num) &&
			!to_rts(p->qp[i]);
	return good;
}

void pair_free(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		v.destroy_qp(p->qp[i]);
		v.destroy_cq(p->cq[i]);
		v.dereg_mr(p->mr[i]);
	}
}

int send_bytes(struct pair *p, uint32_t n, uint64_t wr_id, unsigned flags,
	       enum ibv_wr_opcode opcode)
{
	struct ibv_sge piece = { (uintptr_t)p->data[0], n, p->mr[0]->lkey };
	struct ibv_send_wr w = { .wr_id = wr_id,
				 .sg_list = &piece,
				 .num_sge = 1,
				 .opcode = opcode,
				 .send_flags = flags };
	struct ibv_send_wr *bad = NULL;

	w.wr.rdma.remote_addr = (uintptr_t)p->data[1];
	w.wr.rdma.rkey = p->mr[1]->rkey;
	return ibv_post_send(p->qp[0], &w, &bad);
}

int receive(struct pair *p, uint64_t wr_id)
{
	struct ibv_recv_wr r = { .wr_id = wr_id };
	struct ibv_recv_wr *bad = NULL;

	return ibv_post_recv(p->qp[1], &r, &bad);
}

struct ibv_wc poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc = { .wr_id = 0 };

	if (ibv_poll_cq(cq, 1, &wc) != 1)
		wc.status = IBV_WC_GENERAL_ERR;
	return wc;
}

void fault_next(const char *what)
{
	int fd = open(getenv("VHCA"), O_WRONLY | O_CLOEXEC);
	char letter = !what ? 0 : (char)(strcmp(what, "rnr") ? *what : 'n');

	if (fd < 0 || pwrite(fd, &letter, 1, 0) != 1)
		abort();
	close(fd);
}
