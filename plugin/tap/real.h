// SPDX-License-Identifier: MIT
#ifndef NB_PLUGIN_TAP_REAL_H
#define NB_PLUGIN_TAP_REAL_H

#include "plugin/tap/ibv_abi.h"

/*
 * Functions of the real libibverbs.so.1 behind the tap. A pointer is NULL if
 * the library lacks the function (an older one has no DMA-BUF) or could not be
 * opened.
 */
#define NB_REAL(X)                                                                              \
	X(open_device, "IBVERBS_1.1", struct nb_ibv_context *, (struct nb_ibv_device *))        \
	X(close_device, "IBVERBS_1.1", int, (struct nb_ibv_context *))                          \
	X(create_qp, "IBVERBS_1.1", struct nb_ibv_qp *,                                         \
	  (struct nb_ibv_pd *, struct nb_ibv_qp_init_attr *))                                   \
	X(modify_qp, "IBVERBS_1.1", int, (struct nb_ibv_qp *, struct nb_ibv_qp_attr *, int))    \
	X(destroy_qp, "IBVERBS_1.1", int, (struct nb_ibv_qp *))                                 \
	X(reg_mr, "IBVERBS_1.1", struct nb_ibv_mr *, (struct nb_ibv_pd *, void *, size_t, int)) \
	X(dereg_mr, "IBVERBS_1.1", int, (struct nb_ibv_mr *))                                   \
	X(get_async_event, "IBVERBS_1.1", int,                                                  \
	  (struct nb_ibv_context *, struct nb_ibv_async_event *))                               \
	X(get_device_name, "IBVERBS_1.1", const char *, (struct nb_ibv_device *))               \
	X(reg_mr_iova2, "IBVERBS_1.8", struct nb_ibv_mr *,                                      \
	  (struct nb_ibv_pd *, void *, size_t, uint64_t, unsigned))                             \
	X(reg_dmabuf_mr, "IBVERBS_1.12", struct nb_ibv_mr *,                                    \
	  (struct nb_ibv_pd *, uint64_t, size_t, uint64_t, int, int))

struct nb_real {
#define X(name, version, type, args) type(*name) args;
	NB_REAL(X)
#undef X
};

/*
 * Returns the functions, which the first call looks up. Any thread may call it.
 */
const struct nb_real *nb_real(void);

#endif
