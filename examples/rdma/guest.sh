# SPDX-License-Identifier: MIT
# guest.sh, in the virtual machine: the ring of the demo over two SoftRoCE
# adapters and a wire, three times: as it is, with 2 % of the packets lost, and
# with a policy against that. Its figures go to /vm. What it needs is in /vm/env:
# TREE, B, BYTES, ROUNDS, TUNE.
. /vm/env
cd "$TREE" || exit 1
. test/vm/wire.sh
uname -r >/vm/kernel
export NET_VERBS_DEVICE=rxe0,rxe1 NCCL_SOCKET_IFNAME=v0
ring() { # name, options
	name=$1
	shift
	echo "== $name at $(cut -d' ' -f1 /proc/uptime) s"
	examples/rdma/ring.sh "$B" "/vm/$name.json" --ranks 4 --bytes "$BYTES" "$@" || exit 1
}

ring wire --rounds "$ROUNDS"
# What `trace rdma` shows beside the tap, which knows living queue pairs alone.
cat >/run/begin <<E
env --default-signal=INT "$B/ncclbpf-shell" -o table trace rdma seconds=300 \
	out=/vm/trace.json >/vm/rdma.out 2>&1 &
echo \$! >/run/tracer
until [ -s /vm/trace.json ] || ! kill -0 \$! 2>/dev/null; do sleep 0.1; done
E
cat >/run/end <<'E'
kill -INT "$(cat /run/tracer)"
while kill -0 "$(cat /run/tracer)" 2>/dev/null; do sleep 0.1; done
E
export BEFORE DURING
BEFORE='. /run/begin' DURING='. /run/end'
ring traced --rounds 1 --open
DURING=:

modprobe sch_netem
for v in v0 v1; do tc qdisc add dev $v root netem loss 2%; done
BEFORE=:
ring loss --rounds "$ROUNDS"
BEFORE="'$B/ncclbpf-shell' map set tune 0 '$TUNE' >/dev/null"
ring tuned --rounds "$ROUNDS"
echo "== end at $(cut -d" " -f1 /proc/uptime) s"
