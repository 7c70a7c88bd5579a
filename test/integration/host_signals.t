#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
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
echo "cpu 5 0 0 5 0 0 0 5" >stat
"$E/host_signals" --kernel "$E/kernel.bpf.o" --interval-ms 20 --sys sys \
	--stat stat >signals 2>signals.err &
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
# signal FIELD: wait until the host's own element has another number than 0
signal() {
	await signalled "$1"
}
signalled() { run -o json map get host 0 && grep -q "\"$1\":[1-9]" "$T/out"; }
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
	signal switches_per_s
	ok "task switches are counted by the kernel" $?
	# Connections to a full queue of a listener, whose first segments are sent again.
	cat >connect.py <<'P'
import socket, time
listener, queued = socket.socket(), []
listener.bind(("127.0.0.1", 0))
listener.listen(0)
while True:
    queued = queued[-800:] + [socket.socket()]
    queued[-1].setblocking(False)
    queued[-1].connect_ex(listener.getsockname())
    time.sleep(0.002)
P
	python3 connect.py &
	connects=$!
	jobs="$jobs $connects"
	signal retransmits_per_s
	ok "TCP segments that are sent again too" $?
	kill "$connects"
else
	echo "ok $((tests += 1)) - signals of the kernel # SKIP" \
		"$(sed -n 's/^kernel none: //p' signals)"
fi

counter=sys/mlx5_1/ports/1/hw_counters/out_of_sequence
congest() {
	n=5
	while [ -e congested ]; do
		n=$((n + 1000))
		echo $n >new && mv new "$counter"
		echo "cpu $n 0 0 $n 0 0 0 $n" >new && mv new stat
		sleep 0.02
	done
}
run -o json map get host 0
grep -q '"steal_permille":0' out
ok "nobody has taken CPU time" $?
: >congested
congest &
load=$!
jobs="$jobs $load"
await channels 6
ok "one rail of two loses packets: half of the channels" $?
signal steal_permille
ok "CPU time that others took is seen" $?
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
