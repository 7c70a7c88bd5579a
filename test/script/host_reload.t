#!/bin/sh
# SPDX-License-Identifier: MIT
# Policies exchanged under load on the stand-in for NCCL: every interface, as
# threads and as processes. No two ranks may ever differ, and nobody hangs.
set -u
dir=$(mktemp -d)
trap 'kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
job=
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so
sh=$B/ncclbpf-shell
n=0
bad=0
say() { # status, name
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else
		echo "not ok $n - $2"
		tail -20 "$dir/log" | sed 's/^/# /'
		bad=1
	fi
}

run() { # name, release, in flight yes|no, options...
	name=$1 release=$2 flight=$3
	shift 3
	export NCCLBPF_JOB=reload$n
	timeout 60 "$B/test/host/standin" --nccl "$release" --ranks 8 --seconds 60 "$@" >"$dir/log" 2>&1 &
	job=$!
	for i in $(seq 100); do
		[ -n "$(ls "$dir" | grep "^$NCCLBPF_JOB.*sock$")" ] && break
		sleep 0.05
	done
	sleep 0.5
	for p in size_aware nvlink_ring_mid noop; do
		timeout 20 "$sh" -J $NCCLBPF_JOB policy load "$B/policies/$p.policy" >>"$dir/log" 2>&1 ||
			{ say 1 "$name: load $p"; kill $job; wait $job; return; }
	done
	moved=0
	for i in 1 2 3 4 5 6 7 8; do
		for p in size_aware nvlink_ring_mid "noop size_aware" none; do
			# shellcheck disable=SC2086
			timeout 20 "$sh" -J $NCCLBPF_JOB policy use $p >>"$dir/log" 2>&1
			[ $? -eq 0 ] && moved=$((moved + 1))
		done
	done
	kill -TERM $job
	wait $job
	rc=$?
	[ $rc -eq 0 ]
	say $? "$name: no rank differed, none hung (status $rc)"
	echo "# $moved of 32 changes" >>"$dir/log"
	[ $moved -eq 32 ]
	say $? "$name: every change was taken ($moved of 32)"
	job=
}

# Communicators come and go while policies change: all ranks of each must begin
# with the same one, also where NCCL tells no identity.
churn() { # name, release
	name=$1
	export NCCLBPF_JOB=churn$n
	timeout 100 "$B/test/host/standin" --nccl "$2" --procs --ranks 4 \
		--comms 1000 --loops 3 --pause-ms 2 --ahead 20 >"$dir/log" 2>&1 &
	job=$!
	sleep 0.5
	moved=0
	for p in size_aware nvlink_ring_mid; do
		timeout 20 "$sh" -J $NCCLBPF_JOB policy load "$B/policies/$p.policy" >>"$dir/log" 2>&1
	done
	while kill -0 $job 2>/dev/null; do
		for p in size_aware none nvlink_ring_mid none; do
			timeout 20 "$sh" -J $NCCLBPF_JOB policy use $p >>"$dir/log" 2>&1 &&
				moved=$((moved + 1))
		done
	done
	wait $job
	rc=$?
	[ $rc -eq 0 ]
	say $? "$name: no rank of 1000 communicators differed (status $rc)"
	echo "# $moved changes" >>"$dir/log"
	[ $moved -ge 10 ]
	say $? "$name: changes were taken meanwhile"
	job=
}

run "v5, 8 processes" 2.28.9 yes --procs --ahead 200
run "v5, 8 threads" 2.28.9 yes --threads --ahead 200
run "v5, 8 ranks on one thread" 2.28.9 yes --ahead 8
run "v6, 8 processes" 2.30.7 yes --procs --ahead 50
run "v4, 8 processes" 2.24.3 no --procs
run "v3, 8 threads" 2.22.3 no --threads
run "v2, 8 ranks on one thread" 2.21.5 no
churn "v5, new communicators" 2.28.9
churn "v4, new communicators" 2.24.3
echo "1..$n"
exit $bad
