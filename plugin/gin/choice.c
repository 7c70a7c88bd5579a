// SPDX-License-Identifier: MIT
/*
 * Opens the wrapped plugin that moves GIN data, if there is one. A
 * process chooses its plugin once. This file also counts that plugin's errors.
 */
#include "plugin/gin/choice.h"

#include <pthread.h>

#include "plugin/gin/list.h"
#include "plugin/net/net.h"
#include "plugin/runtime/log.h"
#include "plugin/runtime/params.h"
#include "plugin/wrap/wrapped.h"

static struct {
	pthread_mutex_t lock;
	bool made; /* accessed atomically */
	/*
	 * functions of the transport, or NULL if there is no GIN device;
	 * accessed atomically
	 */
	const struct nb_gin_ops *ops;
	/*
	 * functions of the wrapped plugin's GIN v15 or v14, or NULL; accessed
	 * atomically
	 */
	const struct nb_gin_ops *device;
} choice = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Open the wrapped plugin. @device is set to the functions of its GIN v15 or
 * v14, or to NULL.
 */
static const struct nb_gin_ops *gin_open_wrapped(const struct nb_gin_ops **device)
{
	const struct nb_gin_ops *ops;
	const char *theirs = NULL;
	int version = 0;
	void *lib;

	*device = NULL;
	if (nb_wrapped_open_late(NB_WRAPPED_GIN, NB_LIBRARY_TCP))
		return NULL;
	lib = nb_wrapped[NB_WRAPPED_GIN].file.handle;
	*device = nb_gin_wrap_device(lib, &version, &theirs);
	ops = nb_gin_wrap(lib, &version, &theirs);
	if (!ops && !*device) {
		nb_wrapped_leave_out(NB_WRAPPED_GIN,
				     "the library has no complete GIN plugin of versions 11 to 15 "
				     "and no RMA plugin of versions 13 to 17");
		return NULL;
	}
	if (nb_wrapped_take(NB_WRAPPED_GIN, (uint32_t)version, theirs)) {
		nb_net_take_log(lib);
		return ops;
	}
	*device = NULL;
	return NULL;
}

bool nb_gin_wanted(void)
{
	return nb_params.num[NB_P_GIN] || *nb_params.str[NB_P_CHAIN_GIN];
}

/* The caller holds choice.lock. */
static void gin_choose_transport(bool usable)
{
	const struct nb_gin_ops *ops, *device;

	if (!usable || !nb_gin_wanted())
		return;
	ops = gin_open_wrapped(&device);
	__atomic_store_n(&choice.device, device, __ATOMIC_RELEASE);
	__atomic_store_n(&choice.ops, ops, __ATOMIC_RELEASE);
}

void nb_gin_choose(bool usable)
{
	pthread_mutex_lock(&choice.lock);
	if (!choice.made)
		gin_choose_transport(usable);
	__atomic_store_n(&choice.made, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&choice.lock);
}

bool nb_gin_called(void)
{
	return __atomic_load_n(&choice.made, __ATOMIC_ACQUIRE);
}

const struct nb_gin_ops *nb_gin_ops_used(void)
{
	return __atomic_load_n(&choice.ops, __ATOMIC_ACQUIRE);
}

const struct nb_gin_ops *nb_gin_device_ops_used(void)
{
	return __atomic_load_n(&choice.device, __ATOMIC_ACQUIRE);
}

const char *nb_gin_ops_name(void)
{
	if (!nb_gin_called() || (!nb_gin_ops_used() && !nb_gin_device_ops_used()))
		return NULL;
	return nb_wrapped[NB_WRAPPED_GIN].name;
}

/*
 * Drop the table at @at if it has the init function that failed. The vendor's
 * two tables may share one init function.
 */
static void drop_failed(const struct nb_gin_ops **at, const struct nb_gin_ops *failed)
{
	const struct nb_gin_ops *ops = __atomic_load_n(at, __ATOMIC_ACQUIRE);

	if (ops && ops->init == failed->init)
		__atomic_store_n(at, NULL, __ATOMIC_RELEASE);
}

void nb_gin_leave_out(const struct nb_gin_ops *ops, int rc)
{
	drop_failed(&choice.ops, ops);
	drop_failed(&choice.device, ops);
	if (!nb_gin_ops_name())
		nb_wrapped_leave_out(
			NB_WRAPPED_GIN,
			"the init of the plugin returned %d, so NCCL uses another GIN plugin", rc);
}

void nb_gin_leave_out_device(void)
{
	__atomic_store_n(&choice.device, NULL, __ATOMIC_RELEASE);
	if (!nb_gin_ops_name())
		nb_wrapped_leave_out(NB_WRAPPED_GIN,
				     "the plugin has only GIN v14 or v15, which has no device "
				     "for NCCL");
}

void nb_gin_choice_forked(void)
{
	pthread_mutex_init(&choice.lock, NULL);
}

uint64_t nb_gin_offences(enum nb_gin_offence what)
{
	const struct nb_gin_ops *ops = nb_gin_ops_used();

	return ops && ops->offences ? ops->offences(what) : 0;
}

int nb_gin_count_result(const char *what, int rc)
{
	if (__builtin_expect(rc != NB_NET_OK, 0))
		nb_wrapped_count_failure(NB_WRAPPED_GIN, what, rc);
	return rc;
}

int nb_gin_count_lone_result(const char *what, int rc)
{
	if (rc)
		nb_gin_list_error();
	return nb_gin_count_result(what, rc);
}
