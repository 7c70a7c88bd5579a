#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The wall clock of all processes jumps by years, to and fro, while a policy is
# changed under load: every wait is by the monotonic clock.
. "$TOP/test/integration/control/lib.sh"
SH=$B/ncclbpf-shell
export NCCLBPF_SOCKET_DIR="$T/s"

# Only what people read may have the wall clock, and the age of a file, whose times are of it.
wall() {
	! grep -nE -e 'CLOCK_REALTIME|gettimeofday|\b(time|alarm|setitimer)\(' \
		-e 'pthread_cond_timedwait|pthread_mutex_timedlock|sem_timedwait|\bTIMER_ABSTIME' \
		"$TOP"/plugin/*/*.[ch] "$TOP"/plugin/*/*/*.[ch] "$TOP"/core/bpf/generation/*.[ch] \
		"$TOP"/core/job/segment/*.[ch] |
		grep -v -e '/plugin/runtime/wall_clock\.h:' -e 'st_[cm]tim' \
			-e '/plugin/runtime/jobdir\.c:.*CLOCK_REALTIME, &now' \
			-e '/core/job/segment/leftover\.c:.*CLOCK_REALTIME, &now'
}
check "the plugin never asks for the wall clock" wall

cat >"$T/jump.c" <<'EOF'
#define _GNU_SOURCE
#include "wall_clock.h"
static time_t wall_clock_error(void)
{
	static unsigned n;
	return ((time_t)(__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 3) - 1) *
	       300000000;
}
EOF
if ! cc -shared -fPIC -O1 -w -I"$TOP/test/integration" -o "$T/jump.so" "$T/jump.c" 2>"$T/cc"; then
	skip "changes while the clock jumps" "no compiler for the shim"
	done_testing
	exit
fi
jumps() { [ "$(LD_PRELOAD="$T/jump.so" date +%Y)" -lt $(($(date +%Y) - 5)) ]; }
check "the clock jumps" jumps

sh_() {
	LD_PRELOAD="$T/jump.so" timeout 300 "$SH" --no-rc -o table -J t "$@"
}
host LD_PRELOAD="$T/jump.so" --ranks 4 --procs 4 --rate 200
check "a policy for all processes" sh_ policy load "$P/tree.policy"
rounds() {
	for i in 1 2 3 4 5; do
		await sh_ policy use tree || return 1
		settle
		await sh_ policy use none || return 1
		settle
	done
}
check "ten changes while it jumps" rounds
check "ranks agree" sh_ check agreement
check "the state is told" sh_ status
stop "a clock that jumps"
done_testing
