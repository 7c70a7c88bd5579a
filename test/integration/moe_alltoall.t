#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# The example moe-alltoall over our plugin alone: it checks its sums, the policy's counts are
# those of the program, it names the hot peer, and pacing holds its puts alone.
. "$TOP/test/integration/moe_lib.sh"
moe --tokens 1 --topk 1 --hidden 1 --rounds 2
if [ $? -ne 0 ] && grep -q 'no GIN device' "$T/err"; then
	skip_all "all-to-all of experts" "no loopback interface is up"
fi
cat "$T/out" "$T/err" >"$T/why"
has "one token a rank, most lists empty" out "direct: 2 rounds, all sums are right"
for shape in "--tokens 33 --topk 8 --hidden 3 --skew 0" "--tokens 200 --topk 2 --skew 100"; do
	# shellcheck disable=SC2086
	moe --mode chunks $shape --rounds 5
	cat "$T/out" "$T/err" >"$T/why"
	has "chunks: $shape" out "chunks: 5 rounds, all sums are right"
done
timeout 300 "$M" "$B/libncclbpf.so" --tokens 2 >"$T/out" 2>"$T/err"
[ $? -eq 1 ] && grep -q 'is NCCLBPF_GIN on' "$T/err"
ok "without NCCLBPF_GIN=on the example says what is missing" $?

for mode in direct chunks; do
	counted "our plugin, $mode" "$M" "$B/libncclbpf.so" --mode $mode --tokens 100
done
demo "our plugin" plugin 4
