#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/host-signals: the daemon's signals reach a job, and the controller
# takes channels from a congested rail and gives them back.
. "$TOP/test/integration/shell_lib.sh"
need_host "host signals"
E=$B/examples/host-signals
[ -x "$E/host_signals" ] && [ -e "$E/rail_backoff.bpf.o" ] ||
	skip_all "host signals" "no clang or no libbpf"
trap finish EXIT
cd "$T" || exit 1
cp "$E/rail_backoff.bpf.o" .

for rail in 0 1; do
	mkdir -p "sys/mlx5_$rail/ports/1/hw_counters"
	echo 5 >"sys/mlx5_$rail/ports/1/hw_counters/out_of_sequence"
	echo 0 >"sys/mlx5_$rail/ports/1/hw_counters/local_ack_timeout_err"
done
"$E/host_signals" --kernel "$E/kernel.bpf.o" --interval-ms 20 --sys sys >signals 2>signals.err &
daemon=$!
jobs="$jobs $daemon"
await grep -q '^kernel' signals
ok "the daemon runs" $?
grep -q '^kernel id:' signals && kernel=yes || kernel=

# channels N: is that what the controller wants, and what ranks decide?
channels() {
	run -o json map get rails 0
	grep -q "\"channels\":$1\\b" "$T/out" || return 1
	run -o json decision tail count=1
	grep -q "\"channels\":$1\\b" "$T/out"
}
must() { [ "$wrong" -eq 0 ] || exit 1; }

NCCLBPF_CONTROLLER_MS=20 job rails --ranks 2 --procs 2 --rate 500
export NCCLBPF_JOB=rails
status 0 "load" policy load rail_backoff.bpf.o
status 0 "use" policy use rail_backoff
status 0 "attach" map attach host "$(sed -n 's/^signals //p' signals)"
must
await channels 12
ok "two healthy rails: all channels" $?
status 0 "the host's own element" -o json map get host 0
if [ "$kernel" ]; then
	switched() { run -o json map get host 0 && ! grep -q '"switches_per_s":0\b' "$T/out"; }
	await switched
	ok "task switches are counted by the kernel" $?
else
	echo "ok $((tests += 1)) - task switches # SKIP $(sed -n 's/^kernel none: //p' signals)"
fi

counter=sys/mlx5_1/ports/1/hw_counters/out_of_sequence
congest() {
	n=5
	while [ -e congested ]; do
		n=$((n + 1000))
		echo $n >new && mv new "$counter"
		sleep 0.02
	done
}
: >congested
congest &
load=$!
jobs="$jobs $load"
await channels 6
ok "one rail of two loses packets: half of the channels" $?
status 0 "all ranks decide alike" check agreement
rm congested
wait "$load"
await channels 12
ok "it recovers: all channels" $?
kill "$daemon"
wait "$daemon" 2>/dev/null
no_opinion() {
	run -o json map get rails 0
	grep -q '"channels":0\b' "$T/out"
}
await no_opinion
ok "the daemon ends: its old signals decide nothing" $?
status 0 "show" -o table map show host
has "they are still there, with an age" out "host map: last written"
