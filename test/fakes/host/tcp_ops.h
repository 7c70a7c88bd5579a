// SPDX-License-Identifier: MIT
#ifndef NB_TEST_HOST_TCP_OPS_H
#define NB_TEST_HOST_TCP_OPS_H

#include "plugin/net/calls.h"

/* The functions of plugin/tcp in a table, as a wrapped plugin's are. */

static int tcp_init(void **ctx, const struct nb_net_init *init)
{
	return nb_net_init(ctx, init, true);
}

static const struct nb_net_ops tcp_ops = {
	.init = tcp_init,
	.finalize = nb_net_finalize,
	.devices = nb_net_devices,
	.get_properties = nb_net_get_properties,
	.listen = nb_net_listen,
	.connect = nb_net_connect,
	.accept = nb_net_accept,
	.reg_mr = nb_net_reg_mr,
	.dereg_mr = nb_net_dereg_mr,
	.isend = nb_net_isend,
	.irecv = nb_net_irecv,
	.iflush = nb_net_iflush,
	.test = nb_net_test,
	.close_send = nb_net_close_send,
	.close_recv = nb_net_close_recv,
	.close_listen = nb_net_close_listen,
};

#endif
