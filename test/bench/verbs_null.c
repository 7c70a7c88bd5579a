// SPDX-License-Identifier: MIT
// A libibverbs.so.1 that does nothing, so that what is measured above it is the
// tap: a post is accepted, and a poll gives the completion of each once.
#include <string.h>

#include "plugin/tap/ibv_abi.h"

#define EXPORT __attribute__((visibility("default")))

static struct nb_ibv_context context;
static struct nb_ibv_cq cq = { &context };
static struct nb_ibv_qp qp = { .context = &context, .qp_num = 1 };
static uint32_t posted;

static int post_send(struct nb_ibv_qp *q, struct nb_ibv_send_wr *wr, struct nb_ibv_send_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	posted++;
	return 0;
}

static int post_recv(struct nb_ibv_qp *q, struct nb_ibv_recv_wr *wr, struct nb_ibv_recv_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return 0;
}

static int poll_cq(struct nb_ibv_cq *q, int n, struct nb_ibv_wc *wc)
{
	(void)q;
	if (!posted || n < 1)
		return 0;
	posted--;
	*wc = (struct nb_ibv_wc){ .qp_num = 1 };
	return 1;
}

EXPORT struct nb_ibv_context *ibv_open_device(struct nb_ibv_device *d);
struct nb_ibv_context *ibv_open_device(struct nb_ibv_device *d)
{
	context.device = d;
	context.post_send = post_send;
	context.post_recv = post_recv;
	context.poll_cq = poll_cq;
	return &context;
}

EXPORT const char *ibv_get_device_name(struct nb_ibv_device *d);
const char *ibv_get_device_name(struct nb_ibv_device *d)
{
	(void)d;
	return "null0";
}

EXPORT struct nb_ibv_qp *ibv_create_qp(struct nb_ibv_pd *pd, struct nb_ibv_qp_init_attr *a);
struct nb_ibv_qp *ibv_create_qp(struct nb_ibv_pd *pd, struct nb_ibv_qp_init_attr *a)
{
	(void)pd;
	qp.send_cq = qp.recv_cq = &cq;
	a->send_cq = a->recv_cq = &cq;
	return &qp;
}
