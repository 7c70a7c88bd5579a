#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Buffers in symmetric windows, with the real libnccl on virtual GPUs: NCCL may launch a kernel
# without asking the tuner, and NCCL 2.29 asks it on those ranks alone whose buffer is outside of
# the window. A change then still takes effect at one collective on all ranks, or is refused.
. "$TOP/test/integration/shm_room.sh"
shm_room "symmetric windows" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
V=$B/test/fakes/vgpu
[ -x "$V/job" ] || skip_all "symmetric windows" "no libnccl and CUDA headers at build time"
nccl=$("$V/job" --nccl)
[ -x "$V/sym_job" ] || skip_all "symmetric windows" "NCCL $nccl has none"
trap finish EXIT

sym() { # JOB PLAIN [NAME=value...]
	name=$1 plain=$2
	shift 2
	: >"$T/$name.out"
	env "$@" NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_JOB="$name" NCCL_SOCKET_IFNAME=lo \
		VGPU_CLOCK=virtual VGPU_LOG=1 LD_PRELOAD="$V/libvgpu.so" timeout 0 \
		"$V/sym_job" 4 "$plain" 8192 "$T/$name.go" >"$T/$name.out" 2>&1 &
	job=$!
	jobs="$jobs $job"
	await while_lives $job launched "$name" 40
}
launched() { [ "$(grep -c 'launch rank' "$T/$1.out")" -ge "$2" ]; }
over() { # JOB
	touch "$T/$1.go"
	wait "$job"
	rc=$?
	[ $rc -eq 0 ] && grep -q '^end' "$T/$1.out" && ! grep -q HANG "$T/$1.out"
	ok "$1: ends without a hang (status $rc)" $?
}
# How many launches of each kind there are, after the line WHERE.
kinds() { # JOB WHERE
	sed -n "/^$2/,\$p" "$T/$1.out" | sed -n 's/.*launch rank [0-9]* #[0-9]* //p' |
		sed 's/, [0-9]* bytes.*//' | sort | uniq -c
}
decided() { # JOB: the decisions of the ranks, which have no order, in one line
	run -J "$1" -o json comm list
	grep -o '"decisions":[0-9]*' "$T/out" | cut -d: -f2 | tr '\n' ' '
}

sym inside 0
kinds inside windows >"$T/log"
[ "$(grep -c 'symmetric AllReduce_' "$T/log")" -eq 1 ] && [ "$(wc -l <"$T/log")" -eq 1 ] &&
	! grep 'launch rank' "$T/inside.out" | grep -qv ', 8192 bytes'
ok "all ranks launch one symmetric kernel, and meet in it" $?
[ "$(decided inside)" = "0 0 0 0 " ]
ok "for which NCCL asks no tuner" $?
over inside

# Before 2.29 NCCL wants the buffers of all ranks in windows, or none.
[ "$nccl" -ge 22900 ] || exit 0
answers=$B/test/corpus/answers
alone() { # one rank has made decisions, three have made none
	# shellcheck disable=SC2046
	set -- $(decided "$1" | tr ' ' '\n' | sort -n)
	[ $# -eq 4 ] && [ "$1$2$3" = 000 ] && [ "$4" -gt 10 ]
}
sym counted 1 NCCL_PROFILER_PLUGIN="$B/libncclbpf.so"
await while_lives $job alone counted
ok "a rank outside of its window is asked alone" $?
kinds counted windows | grep -q ' symmetric AllReduce_'
ok "all launch the same symmetric kernel" $?
status 0 "policy load" -J counted policy load "$answers/ring_ll_four.policy"
status 0 "a change where API calls are counted" -J counted policy use ring_ll_four
run -J counted -o json check agreement
grep -Eq '"verdict":"(counts|tuner_calls)_differ",.*"clock":"api_calls"' "$T/out"
ok "check agreement says that the ranks decide in different numbers, by API calls" $?
over counted
kinds counted plain | grep -c 'AllReduce Sum f32 RING/LL channels 0\.\.3$' >"$T/log"
[ "$(cat "$T/log")" -eq 1 ] && [ "$(kinds counted plain | grep -vc symmetric)" -eq 1 ]
ok "all ranks changed at the same collective" $?

sym uncounted 1
await while_lives $job alone uncounted
status 0 "policy load" -J uncounted policy load "$answers/ring_ll_four.policy"
run -J uncounted policy use ring_ll_four
[ $rc -ne 0 ] && grep -q 'unchangeable' "$T/out"
ok "where they are not counted, the change is refused" $?
over uncounted
