#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Two ranks on one real GPU where there is one, else on virtual GPUs: a small /dev/shm, the pause
# of `telemetry on`, a storm of changes, and `explain` beside NCCL's own log of its choices.
# The ranks are joined by sockets, because their hosts are said to differ. CHANGES: how many (60).
if [ -z "${GPU_SHM:-}" ]; then # the mounts go with their namespace
	for own in -m -rm; do
		unshare $own sh -c 'mount -t tmpfs x /dev/shm' 2>/dev/null &&
			GPU_SHM=own exec unshare $own sh "$0"
	done
fi
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/vgpu/job" ] ||
	skip_all "more of a GPU" "libnccl or the CUDA headers were not there"
nccl=$("$B/test/fakes/vgpu/job" --nccl)
trap finish EXIT
cd "$T" || exit 1
mkdir tmp
export TMPDIR="$T/tmp" VGPU_DIR="$T/tmp" NCCL_IB_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_NET=Socket
if [ -c /dev/nvidia0 ]; then
	gpu='' check=--check
	echo "# $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null |
		head -1)"
else
	gpu=$B/test/fakes/vgpu/libvgpu.so check=
	export VGPU_CLOCK=virtual
	LD_PRELOAD=$gpu timeout $HANG "$B/test/fakes/vgpu/job" --ranks 2 --loops 1 \
		--min 1M --max 1M >log 2>&1
	[ $? -ne 77 ] || skip_all "more of a GPU" "$(grep -m1 SKIP log)"
fi
shm() { # SIZE
	umount -l /dev/shm 2>/dev/null
	mount -t tmpfs -o size="$1",mode=1777 x /dev/shm
}

# real JOB [NAME=value...] -- ARGS...: in $job; its output in JOB.out, a line for each collective
# in JOB.report
real() {
	here=$1 vars=
	shift
	while [ "$1" != -- ]; do
		vars="$vars $1"
		shift
	done
	shift
	# shellcheck disable=SC2086
	env ${gpu:+LD_PRELOAD="$gpu"} NCCLBPF_JOB="$here" NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
		$vars timeout 0 "$B/test/fakes/vgpu/job" --procs --per-node 1 --ranks 2 \
		--seconds inf $check --report "$T/$here.report" "$@" >"$here.out" 2>&1 &
	job=$!
	jobs="$jobs $job"
	await while_lives $job test -s "$here.report"
	rc=$?
	[ $rc -eq 0 ] || tail -5 "$here.out" >why
	need "$here: two ranks run" $rc
}
more() { [ "$(wc -l <"$here.report")" -gt "$lines" ]; }
goes_on() { # NAME: two more collectives
	for _ in 1 2; do
		lines=$(wc -l <"$here.report")
		await while_lives $job more
	done
	ok "$here: goes on, $1" $?
}
ended() { # NAME: the job, well, with all sums right on a real GPU
	kill -TERM "$job" 2>/dev/null
	wait "$job"
	rc=$?
	[ $rc -eq 0 ] || tail -5 "$here.out" >why
	ok "$here: $1" $rc
}
stats_have() { run -J "$here" -o json stats && grep -qF -e "$1" out; }

# ---- a small /dev/shm
# NCCL's own connections take 33 MiB of each rank; kernel events take as much again, and NCCL
# crashes without it.
small() { # [NAME=value...]: three loops; prints its status and how many ranks a signal ended
	env ${gpu:+LD_PRELOAD="$gpu"} "$@" timeout $HANG "$B/test/fakes/vgpu/job" --procs \
		--per-node 1 --ranks 2 --min 1M --max 1M --loops 3 >small.out 2>&1
	echo "status $? $(grep -c 'by signal' small.out)"
	rm -f /dev/shm/nccl-*
}
profiled=NCCL_PROFILER_PLUGIN=$B/libncclbpf.so
if [ "${GPU_SHM:-}" ] && [ "$nccl" -ge 22800 ]; then
	shm 64m
	small NCCL_TUNER_PLUGIN=none >without
	small NCCL_TUNER_PLUGIN="$B/libncclbpf.so" "$profiled" >with
	echo "# /dev/shm of 64 MiB: $(cat without) without the plugin, $(cat with) with it"
	cmp without with >why && grep -q ' 0$' with
	ok "/dev/shm of 64 MiB: the ranks end as without the plugin, and not by a signal" $?
	shm 96m
	real small "$profiled" -- --min 1M --max 1M --pause-ms 5
	run -J small -o table telemetry on
	has "small: telemetry says why there are no GPU times" out \
		"no GPU times: /dev/shm has" "of 96 MiB left"
	goes_on "with telemetry"
	run -J small -o table trace start out=small.json seconds=300ms
	goes_on "after a trace"
	ended "ends well"
	shm 2g
else
	ok "a small /dev/shm # SKIP no mount namespace of our own, or no profiler v5 in NCCL" 0
fi

# ---- the pause of `telemetry on`: the longest gap between two collectives before and after it
paused() { # JOB [NAME=value...]
	here=$1
	: >"$here.report"
	tail -n +1 -f "$here.report" | python3 -uc '
import sys, time
for line in sys.stdin:
    print(time.monotonic_ns() // 1000, flush=True)' >"$here.at" &
	reader=$!
	jobs="$jobs $reader"
	real "$@" "$profiled" -- --min 64K --max 64K
	goes_on "before telemetry"
	before=$(wc -l <"$here.at")
	status 0 "$here: telemetry" -J "$here" telemetry on
	await stats_have '"source":"kernel_gpu"'
	ok "$here: GPU times come" $?
	goes_on "with telemetry"
	ended "ends well"
	awk -v name="$here" -v before="$before" '
		NR > 20 { # the first ones connect the ranks
			gap = ($1 - last) / 1000
			if (gap > most[NR > before]) most[NR > before] = gap
		}
		{ last = $1 }
		END {
			printf "# %s: the longest gap between two of %d collectives: ", name, NR
			printf "%.1f ms before telemetry on, %.1f ms after\n", most[0], most[1]
		}
	' "$here.at"
	kill $reader 2>/dev/null
}
if [ "$nccl" -ge 22800 ] && [ "$(df -P -m /dev/shm | awk 'NR == 2 { print $4 }')" -ge 256 ]; then
	paused connected
	paused unconnected NCCLBPF_PROFILER_CONNECT=off
else
	ok "the pause of telemetry # SKIP no profiler v5 in NCCL, or no room in /dev/shm" 0
fi

# ---- a storm of changes
count=${CHANGES:-60}
if [ "$nccl" -ge 22800 ]; then
	real storm "$profiled" -- --min 1K --max 4M --factor 16
	for p in size_aware cheap_ring; do
		run -J storm policy load "$B/policies/$p.policy"
		[ "$rc" -eq 0 ] || ok "load $p" "$rc"
	done
	made=0
	began=$(date +%s%N)
	for _ in 1 2 3 4 5 6; do # ranks may run past every fence that is tried
		seq $((count - made)) | awk '
			BEGIN { split("size_aware cheap_ring none", name, " ") }
			{ print "policy use " name[(NR - 1) % 3 + 1] }
		' | timeout $HANG "$S" -T 300 --keep-going -q -o tsv -J storm >>used 2>>why
		made=$(grep -c '	committed	' used)
		[ "$made" -lt "$count" ] || break
	done
	[ "$made" -eq "$count" ]
	ok "storm: $count changes under load" $?
	echo "# $made changes in $((($(date +%s%N) - began) / 1000000)) ms"
	await settled storm
	ok "storm: both ranks have passed the last one" $?
	status 0 "storm: both decided alike" -J storm check agreement
	ended "and every sum was right"
else
	ok "changes # SKIP communicators of this NCCL have no identity" 0
fi

# ---- explain, beside what NCCL logs of its choices
# Prints coll, bytes, algo/proto of each choice: "AllReduce: 1024 Bytes -> Algo RING proto LL".
# The log has the bytes of one rank of two, where the tuner is asked about those of all.
logged() {
	line='.* ([A-Za-z]+): ([0-9]+) Bytes -> Algo ([A-Z_0-9]+) proto ([A-Z0-9]+) .*'
	cat "$here".log.* 2>/dev/null | sed -nE "s/$line/\1 \2 \3\/\4/p" |
		tr '[:upper:]' '[:lower:]' |
		awk '/^(allgather|reducescatter) / { $2 *= 2 } { print }'
}
all_logged() { [ "$(logged | sort -u | wc -l)" -ge "$1" ]; }
explained() { # JOB [NAME=value...]
	real "$@" NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING NCCL_DEBUG_FILE="$T/$1.log.%p" -- \
		--min 1K --max 4M --factor 4 --pause-ms 20 \
		--coll allreduce,allgather,reducescatter,broadcast,reduce
	await while_lives $job all_logged 35
	logged | sort -u | awk '{ print "explain " $1 " " $2 }' |
		timeout $HANG "$S" -T 300 -q -o tsv -J "$here" >said 2>why
	ended "ends well"
	logged | awk '
		FILENAME != "-" {
			split($0, f, "\t")
			choice[f[3] " " f[4]] = f[9] "/" f[10]
			next
		}
		choice[$1 " " $2] == $3 { same++ }
		choice[$1 " " $2] != $3 { kind[$1 " " $2 ": " choice[$1 " " $2] ", NCCL: " $3]++ }
		END {
			for (k in kind) print kind[k] " of " k
			print FILENAME == "-" ? FNR : 0, same + 0
		}
	' said - >compared
	cp compared why
	# shellcheck disable=SC2046 # two numbers
	set -- $(tail -n 1 compared)
	[ "$1" -gt 0 ] && [ "$1" -eq "$2" ]
	ok "$here: all choices that NCCL logged are what explain says" $?
	echo "# $here: $2 of $1 choices"
}
if [ "$nccl" -ge 22800 ]; then
	explained plain
	explained chosen NCCLBPF_POLICY="$B/policies/size_aware.policy"
else
	ok "explain # SKIP the log of this NCCL names no collective" 0
fi
