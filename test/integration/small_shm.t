#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Reporting kernels costs NCCL 33 MiB of /dev/shm a rank, and NCCL does not
# survive the lack of them. With the real libnccl on virtual GPUs: a small
# /dev/shm, a limit on the size of files and a memory control group end no job,
# whatever asks for kernels, and it is said why there are no GPU times.
if [ -z "${SMALL_SHM:-}" ]; then # the mounts go with their namespace
	if ! unshare -rm sh -c 'mount -t tmpfs x /dev/shm' 2>/dev/null; then
		echo "1..0 # SKIP a small /dev/shm: no mount namespace of our own"
		exit 0
	fi
	# without -r where possible: control groups are root's
	own=-rm
	unshare -m sh -c 'mount -t tmpfs x /dev/shm' 2>/dev/null && own=-m
	SMALL_SHM=1 exec unshare $own sh "$0"
fi
. "$TOP/test/integration/shell_lib.sh"
V=$B/test/fakes/vgpu
[ -x "$V/job" ] || skip_all "a small /dev/shm" "no libnccl and CUDA headers at build time"
trap finish EXIT
cd "$T" || exit 1
mkdir tmp
export XDG_STATE_HOME="$T/state"
echo "return { candidate = '$B/policies/force.policy', blocks = 6 }" >plan.lua

shm() { # SIZE
	umount -l /dev/shm
	mount -t tmpfs -o size="$1" x /dev/shm
}
shm 64m
# launch JOB RANKS [NAME=value...]: a job, perhaps below a command
launch() {
	here=$1 ranks=$2
	shift 2
	set -- "$@" NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" \
		NCCLBPF_JOB="$here" NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=WARN \
		NCCL_DEBUG_FILE="$T/$here.log.%p" VGPU_CLOCK=virtual \
		TMPDIR="$T/tmp" VGPU_DIR="$T/tmp"
	env "$@" $below timeout 0 env LD_PRELOAD="$V/libvgpu.so" "$V/job" \
		--ranks "$ranks" --procs --min 1M --max 1M --pause-ms 5 --seconds inf \
		--report "$T/$here.report" >"$T/$here.out" 2>&1 &
	job=$!
	jobs="$jobs $job"
}
vgpu() { # the same, until its first collective
	launch "$@"
	await began "$here"
}
below=
began() { # JOB: has it made a collective, or ended?
	[ -s "$T/$1.report" ] || ! kill -0 "$job" 2>/dev/null
}
more() { # JOB: collectives since the last call, or none and the job has ended
	now=$(wc -l <"$T/$1.report")
	[ "$now" -gt "$lines" ] || ! kill -0 "$job" 2>/dev/null
}
goes_on() { # NAME: the job makes two more collectives
	for _ in 1 2; do
		lines=$(wc -l <"$T/$here.report")
		await more "$here"
	done
	kill -0 "$job" 2>/dev/null
	ok "$1: the job goes on" $?
}
ends() { # it ends by itself, with status 0, after SIGTERM
	kill -TERM "$job"
	wait "$job"
	rc=$?
	tail -5 "$T/$here.out" >"$T/why"
	[ "$rc" -eq 0 ]
	ok "$here ends with status 0" $?
}
log_has() { # NAME TEXT...: has the log each text
	cat "$T/$here.log."* >"$T/log"
	what=$1
	shift
	has "$what" log "$@"
}
stats_have() { # JOB TEXT...
	of=$1
	shift
	run -J "$of" -o json stats
	for text; do grep -qF -e "$text" "$T/out" || return 1; done
}

vgpu start 2
if ! kill -0 "$job" 2>/dev/null && grep -q '^vgpu: SKIP' start.out; then
	skip_all "a small /dev/shm" "$(sed -n 's/^vgpu: SKIP: //p' start.out | head -1)"
fi
said="no GPU times: /dev/shm has 64 of 64 MiB left, and NCCL needs 33 MiB a rank"
goes_on "64 MiB and both variables"
log_has "the log says why there are no GPU times" "$said" "131 MiB" "--shm-size=1g"
[ "$(grep -c "$said" log)" -eq 2 ]
ok "once for each process" $?
status 0 "status" -J start -o table status
has "says so" out "note: $said"
run -J start -o table doctor
has "doctor says so" out "gpu_times" "$said" "hint: gpu_times: give the container --shm-size=1g"
status 0 "telemetry on" -J start -o table telemetry on
has "says so" out "note: $said" "no room"
grep -q kernel_ch out
[ $? -eq 1 ] && [ ! -s err ]
ok "asks for no kernels and announces no pause" $?
await stats_have start '"enqueue":{"count"'
goes_on "telemetry"
traced() {
	run -J start -o table trace start out=a.json seconds=500ms
	grep -q '"cat":"coll"' a.json
}
await traced
ok "a trace into a file has the other events" $?
has "and says so" out "note: $said"
goes_on "a trace"
ends

for ranks in 2 8; do # later, where nothing was asked for at the start
	vgpu "later$ranks" $ranks NCCLBPF_PROFILER_CONNECT=off
	goes_on "$ranks ranks without profiler channels"
	! cat "later$ranks.log."* 2>&1 | grep 'no GPU times' >why
	ok "nothing is said before somebody wants GPU times" $?
	run -J "later$ranks" -o table trace start events=kernel_ch
	has "a trace into the rings: says so" out "note: $said"
	run -J "later$ranks" trace stop
	goes_on "$ranks ranks, a trace"
	run -J "later$ranks" -o table telemetry on
	has "telemetry on: says so" out "note: $said"
	goes_on "$ranks ranks, telemetry"
	run -J "later$ranks" telemetry off
	(timeout 300 "$S" -J "later$ranks" -o table rollout start plan.lua >rollout.out 2>&1) &
	rollout=$!
	told() { run -J "later$ranks" -o table rollout status && grep -qF "$said" out; }
	await told
	ok "a rollout says so" $?
	goes_on "$ranks ranks, a rollout"
	run -J "later$ranks" rollout abort
	wait $rollout
	ends
done

shm 512m
vgpu room 2
await stats_have room '"unconnected":0' '"events":[]'
ok "with room NCCL connects its channels at the start" $?
await sh -c '! ls /dev/shm/ncclbpf-pools-* 2>/dev/null'
ok "and nothing is announced any more" $?
status 0 "telemetry on" -J room -o table telemetry on
! cat out room.log.* 2>/dev/null | grep 'no GPU times' >why
ok "without a word" $?
await stats_have room '"source":"kernel_gpu"'
ok "GPU times come" $?
ends

# room for one job of two ranks with its margin, not for two that start together
shm 200m
launch first 2
one=$job
launch second 2
two=$job
for here in first second; do
	[ $here = first ] && job=$one || job=$two
	await began $here
	goes_on "two jobs that start together, the $here"
	run -J $here -o table telemetry on
	grep -q "note: no GPU times: /dev/shm has .* of 200 MiB left" out ||
		await stats_have $here '"source":"kernel_gpu"'
	ok "it has GPU times or says why not" $?
	goes_on "two jobs that start together, telemetry of the $here"
done
for here in first second; do
	[ $here = first ] && job=$one || job=$two
	ends
done

shm 512m,ro
vgpu readonly 2
goes_on "a /dev/shm that cannot be written to"
log_has "the log says that NCCL's file cannot be made" \
	"no GPU times: cannot allocate and map a file of 33 MiB" \
	"Read-only file system"
run -J readonly -o table telemetry on
has "and telemetry on" out "Read-only file system"
goes_on "a /dev/shm that cannot be written to, telemetry"
ends
shm 512m

if below="prlimit --fsize=16777216" && $below true 2>/dev/null; then
	vgpu files 2
	goes_on "files of 16 MiB"
	log_has "the log names the limit" "files of 16 MiB (ulimit -f)"
	run -J files -o table telemetry on
	has "and telemetry on" out "files of 16 MiB (ulimit -f)"
	goes_on "files of 16 MiB, telemetry"
	ends
else
	echo "ok $((tests += 1)) - a limit on the size of files # SKIP no prlimit"
fi

# a memory control group, version 1 or 2, below our own
group=
for g in "/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)" \
	"/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)"; do
	for limit in memory.limit_in_bytes memory.max; do
		mkdir "$g/nb_shm.$$" 2>/dev/null
		if echo 134217728 2>/dev/null >"$g/nb_shm.$$/$limit"; then
			group=$g/nb_shm.$$
			break 2
		fi
		rmdir "$g/nb_shm.$$" 2>/dev/null
	done
done
if [ -n "$group" ]; then
	cat >in_group <<-E
		#!/bin/sh
		echo \$\$ >$group/cgroup.procs || exit 1
		exec "\$@"
	E
	chmod +x in_group
	below=$T/in_group
	vgpu group 2
	goes_on "a memory group of 128 MiB"
	log_has "the log names the group" "no GPU times: $limit of control group $group leaves"
	run -J group -o table telemetry on
	has "and telemetry on" out "$limit of control group $group"
	goes_on "a memory group, telemetry"
	ends
	rmdir "$group"
else
	echo "ok $((tests += 1)) - a memory control group # SKIP none can be made"
fi
