// SPDX-License-Identifier: MIT
#ifndef NB_TEST_VERBS_CHECK_H
#define NB_TEST_VERBS_CHECK_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "core/defs/ctx.h"
#include "plugin/tap/api.h"

#undef ibv_reg_mr

/*
 * What the claims of tap_check share: libibverbs found as NCCL finds it, a sink
 * that keeps what programs would be told, and pairs of queue pairs.
 */
#define VERBS(X)                                                                           \
	X(struct ibv_device **, get_device_list, "1.1", (int *))                           \
	X(void, free_device_list, "1.1", (struct ibv_device **))                           \
	X(struct ibv_context *, open_device, "1.1", (struct ibv_device *))                 \
	X(int, close_device, "1.1", (struct ibv_context *))                                \
	X(struct ibv_pd *, alloc_pd, "1.1", (struct ibv_context *))                        \
	X(int, dealloc_pd, "1.1", (struct ibv_pd *))                                       \
	X(struct ibv_mr *, reg_mr, "1.1", (struct ibv_pd *, void *, size_t, int))          \
	X(struct ibv_mr *, reg_mr_iova2, "1.8",                                            \
	  (struct ibv_pd *, void *, size_t, uint64_t, unsigned))                           \
	X(struct ibv_mr *, reg_dmabuf_mr, "1.12",                                          \
	  (struct ibv_pd *, uint64_t, size_t, uint64_t, int, int))                         \
	X(int, dereg_mr, "1.1", (struct ibv_mr *))                                         \
	X(struct ibv_cq *, create_cq, "1.1",                                               \
	  (struct ibv_context *, int, void *, struct ibv_comp_channel *, int))             \
	X(int, destroy_cq, "1.1", (struct ibv_cq *))                                       \
	X(struct ibv_qp *, create_qp, "1.1", (struct ibv_pd *, struct ibv_qp_init_attr *)) \
	X(int, modify_qp, "1.1", (struct ibv_qp *, struct ibv_qp_attr *, int))             \
	X(int, destroy_qp, "1.1", (struct ibv_qp *))                                       \
	X(int, get_async_event, "1.1", (struct ibv_context *, struct ibv_async_event *))

struct check_verbs {
#define X(type, name, version, args) type(*name) args;
	VERBS(X)
#undef X
};
extern struct check_verbs v;
extern const struct nb_tap_api *tap;
extern struct ibv_context *device;
extern struct ibv_pd *pd;

void ok(bool good, const char *name);
/* Prints the plan; the status of the program. */
int checks_end(void);
/* libibverbs.so and all functions; the tap, if it is in front of it. */
bool find_all(void);

enum { KEPT = 64 };
struct check_told {
	struct ncclbpf_verbs_qp qp[KEPT];
	struct ncclbpf_verbs_post post[KEPT];
	struct ncclbpf_verbs_done done[KEPT];
	struct ncclbpf_verbs_event event[KEPT];
	struct ncclbpf_verbs_mr mr[KEPT];
	int nqp, npost, ndone, nevent, nmr;
	int nuntimed; /* of them told without times */
};
extern struct check_told told;
extern struct ncclbpf_verbs_qp answer; /* outputs to give before changes */
extern bool answering;
extern const struct nb_tap_sink sink;

/* Forget what was told; tell of these hooks from here on. */
void listen_to(uint32_t bits);
/* From here on programs read no times. */
void ignore_times(void);
#define BIT(name) (1u << NB_HOOK_VERBS_##name)
struct nb_tap_sums sums(void);

enum { ROOM = 4096, BOTH = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };
struct pair {
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
	struct ibv_mr *mr[2];
	char data[2][ROOM];
};

bool pair_new(struct pair *p);
void pair_free(struct pair *p);
int to_rts(struct ibv_qp *qp);
/* From the first of the pair to the second. */
int send_bytes(struct pair *p, uint32_t n, uint64_t wr_id, unsigned flags,
	       enum ibv_wr_opcode opcode);
int receive(struct pair *p, uint64_t wr_id);
/* Its status is IBV_WC_GENERAL_ERR where there is none. */
struct ibv_wc poll_one(struct ibv_cq *cq);
/* The next send goes wrong; NULL: it does not. */
void fault_next(const char *what);

/* hostile.c: an adapter that lies. */
void hostile_adapter(void);
/* work.c: several adapters, lists, programs that come and go. */
void work_on_adapters(void);

#endif
