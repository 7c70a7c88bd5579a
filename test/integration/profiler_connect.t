#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# With the real libnccl on virtual GPUs: NCCL connects its profiler channels at
# a communicator's first collective, so that telemetry can be enabled later
# without a pause; where that is off, the shell warns before it.
. "$TOP/test/integration/shm_room.sh"
shm_room "profiler channels" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
V=$B/test/fakes/vgpu
[ -x "$V/job" ] || skip_all "profiler channels" "no libnccl and CUDA headers at build time"
# What NCCL is asked for where nobody measures: from 2.29 on fences count its API calls.
case $("$V/job" --nccl) in
222*) skip_all "profiler channels" "NCCL 2.22 has no profiler" ;;
229*) asked='"events":["coll_api"]' ;;
*) asked='"events":[]' ;;
esac
trap finish EXIT
mkdir "$T/tmp"

vgpu() { # JOB [NAME=value...]
	name=$1
	shift
	env "$@" NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCL_PROFILER_PLUGIN="$B/libncclbpf.so" \
		NCCLBPF_JOB="$name" NCCL_SOCKET_IFNAME=lo VGPU_CLOCK=virtual TMPDIR="$T/tmp" \
		LD_PRELOAD="$V/libvgpu.so" timeout 0 "$V/job" --ranks 2 --min 1M --max 1M \
		--pause-ms 2 --seconds inf --report "$T/$name.report" >"$T/$name.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await began "$name"
}
began() { # JOB: has it made a collective, or ended?
	[ -s "$T/$1.report" ] || ! kill -0 "$job" 2>/dev/null
}
stats_have() { # JOB TEXT...
	of=$1
	shift
	run -J "$of" -o json stats
	for text; do grep -qF -e "$text" "$T/out" || return 1; done
}

vgpu default
if ! kill -0 "$job" 2>/dev/null; then
	why=$(sed -n 's/^vgpu: SKIP: //p' default.out | head -1)
	[ -z "$why" ] || skip_all "profiler channels" "$why"
fi
await stats_have default '"unconnected":0' "$asked"
ok "channels are connected, and nothing is asked for any more" $?
stats_have default '"telemetry":false' && ! grep -q '"exec"' "$T/out"
ok "without telemetry nothing was measured" $?
status 0 "telemetry on" -J default -o table telemetry on
[ ! -s "$T/err" ]
ok "without a warning" $?
await stats_have default '"source":"kernel_gpu"'
ok "and GPU times come" $?
kill "$job"

vgpu off NCCLBPF_PROFILER_CONNECT=off
await stats_have off '"unconnected":2' "$asked"
ok "off: NCCL is asked for nothing" $?
run -J off -o table telemetry on gpu=no
[ "$rc" -eq 0 ] && [ ! -s "$T/err" ]
ok "telemetry without GPU times needs no channels" $?
status 0 "telemetry with GPU times" -J off -o table telemetry on
has "warns before the pause" err "2 communicators without profiler channels" \
	"gpu=no avoids the wait"
await stats_have off '"unconnected":0' '"source":"kernel_gpu"'
ok "after it they are connected" $?
kill "$job"
