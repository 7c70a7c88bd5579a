#!/bin/sh
# SPDX-License-Identifier: MIT
# The net plugin: a ring of processes over it, without NCCL.
. "$TOP/test/script/shell_lib.sh"
R=$B/examples/ring-allreduce/ring_allreduce
[ -x "$R" ] || skip_all "ring AllReduce" "the example was not built"
trap finish EXIT
cd "$TOP" || exit 1
export NCCL_SOCKET_IFNAME=lo

timeout 120 "$R" "$B/libncclbpf.so" --rounds 2 --bytes 4096 >"$T/out" 2>"$T/err"
if [ $? -ne 0 ] && grep -q 'no device' "$T/err"; then
	skip_all "ring AllReduce" "no loopback interface is up"
fi
cat "$T/out" "$T/err" >"$T/why"
has "four processes add up over the net interface alone" out "4 ranks, 4096 bytes, 2 rounds of 6 steps: every sum is right"

timeout 120 examples/ring-allreduce/ring.sh "$B" --rounds 10 --bytes 300000 >"$T/out" 2>"$T/err"
rc=$?
cat "$T/out" "$T/err" >"$T/why"
ok "the example with its report" $rc
awk '/^RANK STEP/ { on = 1; next } /^$/ { on = 0 }
	on && NF == 9 && $4 == 10 && $9 >= 0 && $6 <= $8 && $7 <= $8 { n++; seen[$1, $2, $3] = 1 }
	END { for (r = 0; r < 4; r++) for (s = 0; s < 6; s++)
		if (!seen[r, s, "recv"] || !seen[r, s, "send"]) exit 1
		exit n != 48 }' "$T/out"
ok "each step of each rank, both ways, with its latency" $?
awk '/^RANK +CONN/ { on = 1; next }
	on && NF == 10 && $9 == "closed" { n[$3]++; if ($3 != "listen") { link[$10]++; if ($6 != 60 || $7 < 4 * 60) bad = 1 } }
	END { for (l in link) { links++; if (link[l] != 2) bad = 1 }
		exit bad || links != 4 || n["listen"] != 4 || n["send"] != 4 || n["recv"] != 4 }' "$T/out"
ok "each connection's life, the same link at both ends" $?
