// SPDX-License-Identifier: MIT
/*
 * The optional functions of the net plugin's tables. They are NULL until init
 * finds that the wrapped plugin has them.
 */
#include <string.h>

#include "plugin/abi/net_abi.h"
#include "plugin/net/net.h"

static int make_vdevice_v9(int *dev, void *vprops)
{
	const struct nb_net_vprops_v9 *v = vprops;
	struct nb_net_vprops all = { 0, { 0 } };

	if (!dev || !v || v->ndevs < 0 || v->ndevs > 4)
		return NB_NET_ARGUMENT;
	all.ndevs = v->ndevs;
	memcpy(all.devs, v->devs, sizeof(v->devs));
	return nb_net_make_vdevice(dev, &all);
}

static int make_vdevice_v12(int *dev, void *vprops)
{
	return dev && vprops ? nb_net_make_vdevice(dev, vprops) : NB_NET_ARGUMENT;
}

/*
 * Set the optional functions that the transport has. NCCL calls this under its
 * lock.
 */
static void shape_table(struct nb_net_table *t, int version, const struct nb_net_ops *ops)
{
	t->reg_mr_dmabuf = ops->reg_mr_dmabuf ? nb_net_reg_mr_dmabuf : NULL;
	t->get_device_mr = ops->get_device_mr ? nb_net_get_device_mr : NULL;
	t->irecv_consumed = ops->irecv_consumed ? nb_net_irecv_consumed : NULL;
	if (version >= 9)
		t->make_vdevice = !ops->make_vdevice ? NULL
				  : version == 12    ? make_vdevice_v12
						     : make_vdevice_v9;
	if (version >= 11)
		t->set_net_attr = ops->set_net_attr ? nb_net_set_net_attr : NULL;
}

void nb_net_shape(void)
{
	const struct nb_net_ops *ops = nb_net_ops_used();

	if (!ops)
		return;
	shape_table(&ncclNetPlugin_v8, 8, ops);
	shape_table(&ncclNetPlugin_v9, 9, ops);
	shape_table(&ncclNetPlugin_v10, 10, ops);
	shape_table(&ncclNetPlugin_v11, 11, ops);
	shape_table(&ncclNetPlugin_v12, 12, ops);
}
