// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// The process's locks: the stated order is accepted, the reverse is asserted
// against, and a forked child can take all of them.
#include "test/unit/unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/runtime/lock.h"

TEST(stated_order_is_accepted)
{
	for (int i = 0; i < 2; i++) {
		nb_lock(NB_LOCK_STATE);
		nb_lock(NB_LOCK_WRAP);
		nb_unlock(NB_LOCK_WRAP);
		nb_unlock(NB_LOCK_STATE);
	}
	nb_lock(NB_LOCK_WRAP);
	nb_unlock(NB_LOCK_WRAP);
}

TEST_SIGNAL(reverse_order_aborts, SIGABRT)
{
	nb_lock(NB_LOCK_WRAP);
	nb_lock(NB_LOCK_STATE);
}

TEST_SIGNAL(second_taking_aborts, SIGABRT)
{
	nb_lock(NB_LOCK_STATE);
	nb_lock(NB_LOCK_STATE);
}

TEST(forked_child_takes_all)
{
	int status;
	pid_t pid;

	nb_lock_all();
	pid = fork();
	nb_unlock_all();
	nb_lock_all();
	nb_unlock_all();
	if (!pid)
		_exit(7);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

UNIT_MAIN("lock")
