#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD [DIRECTORY]: a ring AllReduce of four ranks over verbs, seen by
# hooks and by the kernel; without loss, with 2 % loss, and with a policy against
# it. In a virtual machine with SoftRoCE where one can be had, otherwise over a
# virtual adapter (DEMO_VM=no: over that). Tables to standard output; timeline.svg
# and the data to DIRECTORY. BYTES, ROUNDS: of each ring.
set -u
B=$(cd "$1" && pwd)
to=${2:-.}
mkdir -p "$to"
to=$(cd "$to" && pwd)
cd "$(dirname "$0")/../.." || exit 1
TREE=$PWD
rm -f "$to"/{wire,loss,tuned,trace}.json "$to"/rdma.out
verbs=$B/test/fakes/verbs
if [ ! -e "$verbs/libnccl-net-verbs.so" ]; then
	echo "demo: no ring over verbs: libibverbs' header was not there at build time" >&2
	exit 69
fi
fail() {
	echo "demo: $*" >&2
	exit 1
}

in_guest() {
	printf 'TREE="%s" B="%s" BYTES=%s ROUNDS=%s TUNE="%s"\n' \
		"$TREE" "$B" "${BYTES:-131072}" "${ROUNDS:-3}" "$TUNE" >"$to/env"
	SHARE=$to test/vm/run.sh build/vm examples/rdma/guest.sh \
		"${DEMO_SECONDS:-400}" >"$to/console"
	rc=$?
	[ $rc -eq 98 ] && fail "the guest did not come up: $to/console"
	[ $rc -eq 0 ] || { tail -20 "$to/console" >&2 && fail "the guest ended with status $rc"; }
	what="Linux $(cat "$to/kernel") in a virtual machine ($(cat build/vm/accel))"
	what="$what, two SoftRoCE adapters and a wire"
}
on_adapter() {
	dir=$(mktemp -d)
	export LD_LIBRARY_PATH=$verbs NCCL_SOCKET_IFNAME=lo VHCA=$dir/fabric
	: >"$VHCA.retries"
	for run in wire loss tuned; do
		rm -f "$VHCA"
		BEFORE=:
		[ $run = wire ] || export VHCA_LOSS=2
		[ $run = tuned ] && BEFORE="'$B/ncclbpf-shell' map set tune 0 '$TUNE' >/dev/null"
		BEFORE=$BEFORE examples/rdma/ring.sh "$B" "$to/$run.json" --ranks 4 \
			--bytes "${BYTES:-131072}" --rounds "${ROUNDS:-5}" >"$to/console" ||
			{ rm -rf "$dir" && fail "$run: $(tail -1 "$to/console")"; }
	done
	rm -rf "$dir"
	what="a virtual adapter, whose losses are waits for the queue pair's time-out"
}

TUNE='{timeout=15, traffic_class=-1, sl=-1, retry_cnt=-1, rnr_retry=-1, min_rnr_timer=-1, on=1}'
export TUNE
why=
if [ "${DEMO_VM:-}" != no ]; then
	why=$(test/vm/build.sh build/vm 2>&1) && in_guest || why="($(tail -1 <<<"$why"))"
fi
[ -s "$to/wire.json" ] || on_adapter
echo "A ring AllReduce of 4 ranks over verbs: $what"
[ -n "$why" ] && [ ! -s "$to/rdma.out" ] && echo "$why"
echo
"$B/ncclbpf-shell" -f examples/rdma/report.lua "$to" || exit 1
"$B/ncclbpf-shell" -f examples/rdma/draw.lua "$to" "$what" >"$to/timeline.svg" || exit 1
if [ -s "$to/rdma.out" ]; then
	echo
	echo "\$ ncclbpf-shell trace rdma out=trace.json  " \
		"# another round of the ring, its connections kept"
	sed "s#/vm/##" "$to/rdma.out"
fi
echo
echo "The policy of the third run, set while the ranks waited to connect:"
echo "\$ ncclbpf-shell map set tune 0 '$TUNE'"
echo "A queue pair waits 4.096 us times 2 to the time-out for an acknowledgement:" \
	"18 is 1.07 s, 15 is 134 ms."
echo
echo "In $to:"
echo "  timeline.svg: the steps of all ranks over time"
[ -s "$to/trace.json" ] && echo "  trace.json: what trace rdma saw, for ui.perfetto.dev"
echo "  wire.json, loss.json, tuned.json: what the hooks saw"
