#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# 200 communicators come and go while policies are exchanged; a job that is
# killed is followed at once by another of the same name.
set -u
dir=$(mktemp -d)
job=
trap '[ "$job" ] && kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=churn
sh=$B/ncclbpf-shell
. "$TOP/test/tap.sh"
log=$dir/log
# The PIDs of sockets that are not those of $dead: a killed process leaves its own.
dead=
processes() {
	for s in "$dir"/*.sock; do
		s=${s%.sock} s=${s##*.}
		case " $dead " in *" $s "*) ;; *) kill -0 "$s" 2>/dev/null && echo "$s" ;; esac
	done
}
four() { [ "$(processes | wc -l)" -ge 4 ]; }
start() { # options of the stand-in; fails if it has no policy
	timeout 0 "$B/test/fakes/host/standin" --procs --min 4M --max 32M "$@" >"$dir/log" 2>&1 &
	job=$!
	await while_lives $job four
	timeout 300 "$sh" policy load "$B/policies/size_aware.policy" >>"$dir/log" 2>&1
}

# On a busy machine the job may be over before three changes are.
done_=0 refused=0
for turn in 1 2 3 4 5; do
	start --ranks 4 --comms 200 --loops 10 --pause-ms 3
	rc=$?
	[ $turn -eq 1 ] && say $rc "a policy is loaded"
	while kill -0 $job 2>/dev/null; do
		for p in size_aware none; do
			if timeout 300 "$sh" policy use $p >"$dir/use" 2>&1; then
				done_=$((done_ + 1))
			else
				refused=$((refused + 1))
			fi
		done
	done
	wait $job
	rc=$?
	job=
	[ $rc -ne 0 ] && break
	[ $done_ -ge 3 ] && break
done
say $rc "200 communicators come and go while policies change: no rank differs"
[ $done_ -ge 3 ]
say $? "changes are committed meanwhile"
echo "# $done_ changes committed, $refused refused"

# The same name again, right after the first one's death.
start --ranks 4 --seconds inf
say $? "another job of that name loads a policy"
timeout 300 "$sh" policy use size_aware >>"$dir/log" 2>&1
dead=$(processes | tr '\n' ' ')
kill -KILL -$job # timeout leads a process group
wait $job 2>/dev/null
job=
# shellcheck disable=SC2086
await all_ended $dead
say $? "all of its processes have ended"
start --ranks 4 --seconds inf
say $? "the next job of that name loads a policy"
timeout 300 "$sh" -o table status >"$dir/status" 2>&1
grep -q 'none, NCCL decides' "$dir/status"
say $? "a new job of that name begins anew"
# The ranks may have run past every fence that was tried: once more, then.
for turn in $(seq 10); do
	timeout 300 "$sh" policy use size_aware >>"$dir/log" 2>&1 && break
done
say $? "and can be changed"
timeout 300 "$sh" check agreement >>"$dir/log" 2>&1
say $? "and its ranks agree"
timeout 300 "$sh" status >>"$dir/log" 2>&1
say $? "and it tells its state"
kill -TERM $job
wait $job
say $? "to its end"
job=
echo "1..$n"
