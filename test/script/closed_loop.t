#!/bin/sh
# SPDX-License-Identifier: MIT
# Controllers in a job of the stand-in host, one process a rank: channels go
# 2, 12, 2, 12 as somebody else takes the links and leaves, alike on all ranks.
# What is asserted are states that are reached, not when.
. "$TOP/test/script/shell_lib.sh"
[ -x "$B/test/host/standin" ] || skip_all "closed loop" "the stand-in host was not built"
trap finish EXIT
cd "$T" || exit 1

start() { # JOB POLICY [NAME=value...] -- ARGS...
	name=$1 policy=$2
	shift 2
	echo 1 >"$T/contend"
	: >"$T/report"
	NCCLBPF_POLICY=$B/policies/$policy.policy NCCLBPF_CONTROLLER_MS=50 \
		NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=$name NCCL_DEBUG=INFO \
		timeout 300 env "$@" --procs --events --seconds 280 --pause-ms 2 \
		--min 64M --max 64M --contend "$T/contend" \
		--report "$T/report" >"$T/$name.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 20 "$S" -q attach "$name" >/dev/null 2>&1
}
stop() {
	kill -TERM "$job" 2>/dev/null
	wait "$job"
}
# The last number of channels in the report; those that it had, in order.
now() { tail -1 "$T/report" 2>/dev/null | sed -n 's/.*"channels":\([0-9]*\).*/\1/p'; }
is_now() { [ "$(now)" = "$1" ]; }
path() { sed -n 's/.*"channels":\([0-9]*\).*/\1/p' "$T/report" | uniq | tr '\n' ' '; }

start loop adaptive_channels "$B/test/host/standin" --ranks 4
await is_now 12
ok "channels come to 12" $?
echo 10 >contend
await is_now 2
ok "fall back to 2 while times are 10 times as long" $?
sleep 0.5
is_now 2
ok "and stay there" $?
echo 1 >contend
await is_now 12
ok "and recover to 12" $?
status 0 "all ranks decided alike" -J loop check agreement
stop
ok "and the host saw no divergence" $?
path >path
echo "# channels: $(cat path)"
# NCCL's own number first; each step is 2 more, or back to 2
grep -qx '[0-9]* 2 4 6 8 10 12 2 4 6 8 10 12 ' path
ok "the way there, on all ranks" $?
[ ! -e "$T/s/loop.loop" ]
ok "nothing is left behind" $?
