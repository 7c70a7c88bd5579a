// SPDX-License-Identifier: MIT
/*
 * The contexts of all hooks. Includers define:
 *
 * CONTEXT(ctx)      the rows of struct ncclbpf_<ctx> begin;
 * FIELD(ctx, name, type, access, label, unit, doc, source)
 *                   a field; core/defs/hook_tuner.h explains the columns;
 * HIDDEN_FIELD(ctx, name, type)
 *                   a member after the fields that programs never see;
 * CONTEXT_END(ctx)  the rows end.
 */
#include "core/defs/hook_tuner.h"
#include "core/defs/hook_coll_done.h"
#include "core/defs/hook_p2p_done.h"
#include "core/defs/hook_proxy_step.h"
#include "core/defs/hook_kernel_ch.h"
#include "core/defs/hook_group.h"
#include "core/defs/hook_net_listen.h"
#include "core/defs/hook_net_connect.h"
#include "core/defs/hook_net_accept.h"
#include "core/defs/hook_net_isend.h"
#include "core/defs/hook_net_irecv.h"
#include "core/defs/hook_net_test.h"
#include "core/defs/hook_net_close.h"
#include "core/defs/hook_verbs_qp.h"
#include "core/defs/hook_verbs_post.h"
#include "core/defs/hook_verbs_done.h"
#include "core/defs/hook_verbs_event.h"
#include "core/defs/hook_verbs_mr.h"
#include "core/defs/hook_controller.h"
#include "core/defs/hook_env.h"
#include "core/defs/hook_gin_connect.h"
#include "core/defs/hook_gin_put.h"
#include "core/defs/hook_gin_done.h"
#include "core/defs/hook_gin_signal.h"
#include "core/defs/hook_gin_close.h"
#include "core/defs/hook_coll_api.h"

#undef CONTEXT
#undef FIELD
#undef HIDDEN_FIELD
#undef CONTEXT_END
