#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The virtual GPUs do what they promise, with the real libnccl: one process
# with 8 GPUs and 8 processes with one, modelled time, the published table,
# the hang of ranks that disagree, profiler counters, an orderly end.
#
# shellcheck disable=SC2086 # lists of VAR=value and arguments are split
set -u
TOP=${TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$TOP/test/integration/shm_room.sh"
shm_room "vgpu" "$0" "$@"
B=${B:-$TOP/build/debug}
v=$B/test/fakes/vgpu
if [ ! -x "$v/job" ] || [ ! -e "$v/libvgpu.so" ]; then
	echo "1..0 # SKIP vgpu: no libnccl and CUDA headers at build time"
	exit 0
fi

dir=$(mktemp -d)
mkdir "$dir/tmp"
trap 'rm -rf "$dir"' EXIT
TMPDIR=$dir/tmp
export TMPDIR NCCL_SOCKET_IFNAME=lo
# What a user has set must not change what is tested.
unset NCCL_TUNER_PLUGIN NCCL_PROFILER_PLUGIN NCCL_ALGO NCCL_PROTO NCCL_DEBUG
unset VGPU_DIR VGPU_TABLE VGPU_MULTICAST VGPU_GPU VGPU_CLOCK VGPU_LOG

. "$TOP/test/tap.sh"
log=$dir/log
has() { # extended pattern, name
	grep -Eq "$1" "$dir/log"
	say $? "$2"
}
run() { # [VAR=value ...] -- job's arguments; sets rc
	vars=
	while [ "$1" != -- ]; do
		vars="$vars $1"
		shift
	done
	shift
	env $vars LD_PRELOAD="$v/libvgpu.so" timeout -k 5 "${T:-600}" \
		"$v/job" "$@" >"$dir/log" 2>&1
	rc=$?
}
# The bus bandwidths of a report, "MiB=GB/s ...", from 4 MiB on, loop 0.
busbw() {
	awk -F'[:,}]' '$2 == 0 && $6 >= 4194304 {
		printf "%s%d=%.1f", s, $6 / 1048576, $10; s = " " }' "$1"
}
equal() { # found, wanted, name
	[ "$1" = "$2" ] || printf 'found  %s\nwanted %s\n' "$1" "$2" >>"$dir/log"
	[ "$1" = "$2" ]
	say $? "$3"
}

nccl=$("$v/job" --nccl) # such as 22809
# Whether it can run here at all.
run VGPU_CLOCK=virtual -- --ranks 2 --max 1K
if [ $rc -eq 77 ]; then
	echo "1..0 # SKIP vgpu: $(sed -n 's/^vgpu: SKIP: //p' "$dir/log" | head -1)"
	exit 0
fi
say $rc "one process with 2 GPUs"

# ---- both modes, exact times -------------------------------------------

b300="VGPU_GPU=b300 VGPU_MULTICAST=1 VGPU_CLOCK=virtual"
b300="$b300 VGPU_TABLE=$TOP/test/fakes/vgpu/b300.csv"
all=allreduce,allgather,reducescatter,broadcast,reduce
run $b300 -- --coll $all --factor 4 --report "$dir/one"
say $rc "one process with 8 GPUs, five collectives"
run $b300 -- --procs --coll $all --factor 4 --report "$dir/eight"
say $rc "8 processes with one GPU, five collectives"
cmp "$dir/one" "$dir/eight" >>"$dir/log" 2>&1
say $? "their modelled times are equal to the last digit"
lines=$(wc -l <"$dir/one")
equal "$lines" 50 "a line of report for each collective"
awk '!/^{"loop":0,"coll":"[a-z]+","bytes":[0-9]+,"time_us":[0-9.]+,"busbw_gbs":[0-9.]+}$/ {
	print "wrong line: " $0; wrong = 1 } END { exit wrong }' "$dir/one" >>"$dir/log"
say $? "every line is the object that was promised"

# ---- the published table -----------------------------------------------

run $b300 VGPU_LOG=1 -- --ranks 8 --min 4M --report "$dir/nvls"
has 'b300.csv: [0-9]+ rows of bus bandwidth' "the table is read"
! grep -q ignored "$dir/log"
say $? "no row of it is ignored"
[ "$(grep -c 'launch rank 0 .* NVLS/SIMPLE ' "$dir/log")" -eq 7 ]
say $? "NCCL by itself picks NVLS from 4 MiB to 256 MiB"
equal "$(busbw "$dir/nvls")" \
	"4=133.5 8=196.3 16=278.8 32=349.3 64=425.2 128=596.9 256=656.5" \
	"default: the published bandwidths"
force="NCCL_TUNER_PLUGIN=$v/tuner_force.so"
run $b300 $force FORCE=1,1,0 -- --procs --min 4M --report "$dir/ll128"
ring="4=148.1 8=249.7 16=337.4 32=402.4"
gets="gets the Ring figures to 32 MiB"
if [ "$nccl" -lt 22300 ]; then # it does not know that a b300 has LL128
	ring="4=133.5 8=196.3 16=278.8 32=349.3" gets="is not followed by NCCL 2.22"
fi
equal "$(busbw "$dir/ll128" | cut -d' ' -f1-4)" "$ring" \
	"a tuner that asks for RING/LL128 $gets"
run $b300 $force FORCE=1,2,0 -- --min 4M --report "$dir/simple"
equal "$(busbw "$dir/simple" | cut -d' ' -f5-7)" \
	"64=471.8 128=628.9 256=632.5" \
	"one that asks for RING/SIMPLE gets them from 64 MiB"
awk -F'[:,}]' '{ t[FILENAME, $6] = $8 } END {
	exit !(t[ARGV[1], 8388608] < t[ARGV[2], 8388608] &&
	       t[ARGV[1], 67108864] > t[ARGV[2], 67108864]) }' \
	"$dir/ll128" "$dir/simple"
say $? "the wrong protocol is slower, on both sides"
printf 'AllReduce,RING,LL,*,1024,5\nx,time_us\nAllReduce,RING,LL,*,1K,5\n%s\n' \
	"AllReduce,RING,LL,*,1024,9" >"$dir/wrong.csv"
run VGPU_CLOCK=virtual VGPU_TABLE="$dir/wrong.csv" VGPU_COUNT=many -- \
	--ranks 2 --max 1K
has 'wrong.csv:1: .* ignored: no header' "a row before the header is reported"
has 'wrong.csv:3: .* ignored: not collective' "a row with a wrong number as well"
has 'VGPU_COUNT: "many" is not an integer; using 8' "and a wrong variable"

# ---- what is not there -------------------------------------------------

run VGPU_CLOCK=virtual VGPU_LOG=1 -- --ranks 8 --min 64M --max 64M
grep -q 'launch rank 0 ' "$dir/log" && ! grep -q ' NVLS/' "$dir/log"
say $? "no NVLS without VGPU_MULTICAST"
run VGPU_CLOCK=virtual VGPU_COUNT=2 -- --ranks 3 --max 1K
[ $rc -eq 1 ] && grep -q 'rank 2: cudaSetDevice: invalid device' "$dir/log"
say $? "more ranks than GPUs: an error that says so"

# Any library will do for an NCCL in which no CUDA runtime is to be found.
cp "$v/tuner_force.so" "$dir/libnccl.so.2"
LD_PRELOAD="$v/libvgpu.so $dir/libnccl.so.2" timeout 300 true >"$dir/log" 2>&1
rc=$?
[ $rc -eq 77 ] && grep -q '^vgpu: SKIP: .*/libnccl.so.2: no CUDA runtime' "$dir/log"
say $? "an NCCL that cannot be redirected: one SKIP line, status 77"

# ---- several nodes -----------------------------------------------------

# Kernels do not wait for a pretended network, and in NCCL 2.22 a rank may end while its peers'
# proxies still use it (nccl_bytes.t has real bytes).
if [ "$nccl" -ge 22300 ]; then
	run VGPU_CLOCK=virtual NCCL_NET=Socket NCCL_DEBUG=INFO -- --ranks 4 --procs \
		--per-node 2 --coll $all --min 4K --max 4M --factor 32
	say $rc "2 pretended nodes x 2 over sockets"
	has 'nRanks 4 nNodes 2 ' "NCCL sees two nodes"
fi

# ---- clocks ------------------------------------------------------------

# 30 ms a collective: far above what the host needs to launch one.
slow="VGPU_BASE_US=30000"
later() { # the times in us of all loops but the first, which connects
	awk -F'[:,}]' '$2 > 0 { print int($8) }' "$1"
}
run VGPU_CLOCK=real $slow -- --ranks 2 --max 1K --loops 9 --report "$dir/real"
later "$dir/real" | awk '$1 < 30000 { wrong = 1 } END { exit wrong || NR != 8 }'
say $? "clock real: streams take the modelled time"
run VGPU_CLOCK=off VGPU_BASE_US=60e6 -- --ranks 2 --max 1K --loops 9 \
	--report "$dir/off"
later "$dir/off" | awk '$1 > 30e6 { wrong = 1 } END { exit wrong || NR != 8 }'
say $? "clock off: they take none"
run VGPU_CLOCK=virtual VGPU_BASE_US=60e6 -- --ranks 2 --max 1K --loops 9 \
	--report "$dir/virtual"
later "$dir/virtual" | awk '$1 < 60e6 { wrong = 1 } END { exit wrong || NR != 8 }'
say $? "clock virtual: a minute of events passes at once"

# ---- divergence --------------------------------------------------------

# All algorithms connected at init: else NCCL's host side hangs first.
odd="$force FORCE_RANK=1 VGPU_CLOCK=virtual"
# A busy machine may not have launched every rank after a second: wait longer.
hang() { # as run
	for wait in 1 5 20 300; do
		run $odd VGPU_HANG_S=$wait "$@"
		grep -q 'has not launched' "$dir/log" || break
	done
}
for mode in "" --procs; do
	what=${mode:-one process}
	hang FORCE=0,2,0 NCCL_RUNTIME_CONNECT=0 -- --ranks 3 $mode \
		--max 1K
	[ $rc -eq 1 ] && grep -q 'HANG: communicator .* collective #0' "$dir/log"
	say $? "another algorithm on one rank hangs ($what)"
	has '^  rank [0-9]: AllReduce Sum f32 TREE/SIMPLE channels' \
		"the report names what that rank launched ($what)"
	has '^  rank [0-9] [0-9]: AllReduce Sum f32 RING/LL channels' \
		"and what the others did ($what)"
done
hang FORCE=1,2,0 -- --ranks 2 --max 1K
has '^  rank [01]: .* RING/SIMPLE channels' "another protocol hangs too"
hang FORCE=1,0,3 -- --ranks 2 --min 1M --max 1M
has '^  rank [01]: .* RING/LL channels 0\.\.2,' "and other channels"

# One kernel for broadcasts of several roots, since NCCL 2.29.
if [ "$nccl" -ge 22900 ]; then
	for mode in "" --procs; do
		run $b300 VGPU_LOG=1 -- --ranks 3 $mode --coll allgatherv --min 3M --max 3M
		launches=$(grep -c 'launch rank [0-2] #0 AllGatherV RING/' "$dir/log")
		[ $rc -eq 0 ] && [ "$launches" -eq 3 ]
		say $? "broadcasts of three roots are one kernel (${mode:-one process})"
		hang FORCE=1,0,0 -- --ranks 3 $mode --coll allgatherv --min 3M --max 3M
		has '^  rank [0-9]: AllGatherV RING/LL channels' \
			"which ranks that disagree hang in (${mode:-one process})"
	done
fi

# ---- profiler ----------------------------------------------------------

# Kernels have times of their own since NCCL 2.26.
modes="one --procs"
[ "$nccl" -ge 22600 ] || modes=
for mode in $modes; do
	[ $mode = --procs ] || mode=
	run $b300 NCCL_PROFILER_PLUGIN="$v/profiler_count.so" -- --ranks 4 \
		$mode --min 64M --max 64M --loops 2
	# 4 ranks take Ring: 64 MiB at 471.8 GB/s, bus factor 1.5. Where NCCL's thread is late it
	# takes kernels that followed each other for one.
	awk '/^KernelCh rank/ { ranks++
		sub(",", "", $4); if ($4 > $6 || $4 < 2) wrong = 1
		split($8, ns, /\.\./); if (ns[1] != 213360 || ns[2] % 213360) wrong = 1
	} END { exit wrong || ranks != 4 }' "$dir/log"
	say $? "KernelCh of every channel with the model's time (${mode:-one process})"
done

# ---- an orderly end ----------------------------------------------------

background() { # job's arguments; sets pid and job, waits for some loops
	: >"$dir/live"
	env VGPU_CLOCK=virtual VGPU_LOG=1 LD_PRELOAD="$v/libvgpu.so" \
		timeout 0 "$v/job" "$@" --max 1K --pause-ms 5 \
		--seconds inf --report "$dir/live" >"$dir/log" 2>&1 &
	pid=$!
	await while_lives $pid loops
	job=$(children $pid)
	job=${job% }
}
loops() { [ "$(wc -l <"$dir/live")" -ge 3 ]; }
children() {
	cat "/proc/$1/task/$1/children"
}
for mode in "" --procs; do
	background --ranks 4 $mode
	kill -TERM $pid
	wait $pid
	rc=$?
	say $rc "SIGTERM: the job ends with status 0 (${mode:-one process})"
	awk -v loops="$(wc -l <"$dir/live")" '/launch rank/ {
		for (i = 1; i < NF; i++) if ($i == "rank") n[$(i + 1)]++ }
		END { for (r = 0; r < 4; r++) if (n[r] != loops) {
			print "rank " r ": " n[r] " loops of " loops; wrong = 1 }
		exit wrong }' "$dir/log" >"$dir/loops"
	wrong=$?
	cat "$dir/loops" >>"$dir/log"
	say $wrong "all ranks have done the same loops (${mode:-one process})"
done
background --ranks 3 --procs
ranks=$(children "$job")
set -- $ranks
kill -9 "$2"
wait $pid
rc=$?
[ $rc -eq 1 ] && grep -q 'rank 1 ended by signal 9' "$dir/log"
say $? "a rank that dies ends the job with status 1"
left=0
for p in $ranks; do
	[ -d "/proc/$p" ] && left=1
done
say $left "and leaves no rank behind"
equal "$(ls "$dir/tmp")" "" "no job has left a file"
background --ranks 3 --procs
ranks=$(children "$job")
[ "$(ls -d "$dir"/tmp/vgpu-job-* | wc -l)" -eq 1 ]
say $? "a job keeps its files below TMPDIR"
kill -9 "$job"
wait $pid 2>/dev/null
rm -rf "$dir"/tmp/vgpu-*
await all_ended $ranks
say $? "ranks end with the first process, even when it is killed"

# ---- usage -------------------------------------------------------------

wrong=0
for args in "--ranks 0" "--ranks 8x" "--coll all" "--min 3" "--min 2K --max 1K" \
	"--factor 1" "--loops 0" "--seconds 0" "--per-node 2" "--nonsense" "one"; do
	timeout 300 "$v/job" $args >"$dir/log" 2>&1
	rc=$?
	if [ $rc -ne 64 ] || [ ! -s "$dir/log" ]; then
		echo "# $args: status $rc"
		wrong=1
	fi
done
say $wrong "wrong arguments: status 64 and a message"

echo "1..$n"
exit $bad
