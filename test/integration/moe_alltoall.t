#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# The example moe-alltoall, over our plugin alone and over the real libnccl: both
# forms check their sums, the policy's counts are those of the program, it names
# the hot peer, and pacing holds its puts alone.
. "$TOP/test/integration/shm_room.sh"
shm_room "all-to-all of experts" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
M=$B/examples/moe-alltoall/moe_alltoall
[ -x "$M" ] || skip_all "all-to-all of experts" "the example was not built"
trap finish EXIT
cd "$TOP" || exit 1
export NCCL_SOCKET_IFNAME=lo

moe() {
	timeout 300 env NCCLBPF_GIN=on NCCLBPF_CONTROL=off "$M" "$B/libncclbpf.so" "$@" \
		>"$T/out" 2>"$T/err"
}
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

# What the policy gin_peers has counted, in the words of --counts.
cat >"$T/counts.lua" <<'E'
local nb = require "ncclbpf"
local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
local sums = {}
for _, process in ipairs(assert(job:map("gin_peers"):entries { all = true, limit = 1024 })) do
	for _, e in ipairs(process.entries) do
		local name = ("count %d %d"):format(e.key.rank, e.key.peer)
		local s = sums[name] or { 0, 0, 0 }
		for i, k in ipairs { "puts", "signals", "bytes" } do s[i] = s[i] + e.value[k] end
		sums[name] = s
	end
end
for name, s in pairs(sums) do print(name, s[1], s[2], s[3]) end
E
# A job that holds after its rounds, asked for its counts.
counted() { # name, command...
	name=$1
	shift
	rm -f "$T/go" "$T/policy"
	mkfifo "$T/go"
	: >"$T/out"
	NCCLBPF_JOB=moe_counts NCCLBPF_GIN=on NCCLBPF_POLICY=$B/policies/gin_peers.policy \
		timeout 300 "$@" --rounds 3 --counts --hold <"$T/go" >"$T/out" 2>"$T/err" &
	job=$!
	exec 3>"$T/go"
	i=0
	until grep -q '^ready' "$T/out" || [ $i -ge 1000 ] || ! kill -0 $job 2>/dev/null; do
		i=$((i + 1))
		sleep 0.1
	done
	NCCLBPF_JOB=moe_counts "$B/ncclbpf-shell" -f "$T/counts.lua" 2>>"$T/err" |
		awk '{ print $1, $2, $3, $4, $5, $6 }' | sort >"$T/policy"
	grep '^count' "$T/out" | sort >"$T/program"
	exec 3>&-
	wait $job
	rc=$?
	cat "$T/out" "$T/err" >"$T/why"
	diff "$T/program" "$T/policy" >>"$T/why"
	same=$?
	[ $rc -eq 0 ] && [ $same -eq 0 ] && [ "$(wc -l <"$T/policy")" -eq 16 ]
	ok "$name: the policy's counts are the program's" $?
}
demo() { # name, where it runs, rounds
	OVER=$2 timeout 300 examples/moe-alltoall/demo.sh "$B" --rounds 3 \
		--tokens 300 >"$T/out" 2>"$T/err"
	rc=$?
	cat "$T/out" "$T/err" >"$T/why"
	ok "$1: the demo runs to its end" $rc
	[ "$(grep -c 'all sums are right' "$T/out")" -eq "$3" ]
	ok "$1: all of its sums are right" $?
	awk '
		/^PEER/ { on = 1; next }
		/^$/ { on = 0 }
		on { n++; if (n == 1) hot = $1; bytes += $4; signals += $3 }
		END {
			exit n != 4 || hot != 0 || signals != 4 * 2 * 3 * 4 ||
				bytes != 2 * 3 * 4 * 300 * (16 + 4 * 512)
		}
	' "$T/out"
	ok "$1: rank 0 is the hot one, by all bytes" $?
	# PEER is column 3 and HELD column 10 of `gin`
	awk '/^COLL/ && / PEER/ { on = 1; next }
		on && NF > 10 { n++; if ($3 == 0) hot += $10; else other += $10 }
		END { exit n != 16 || !hot || other }' "$T/out"
	ok "$1: puts to rank 0 are held back, and no others" $?
}
for mode in direct chunks; do
	counted "our plugin, $mode" "$M" "$B/libncclbpf.so" --mode $mode --tokens 100
done
demo "our plugin" plugin 4

R=$B/examples/moe-alltoall/moe_nccl
vgpu="LD_PRELOAD=$B/test/fakes/vgpu/libvgpu.so"
why=
[ -x "$R" ] || why="no libnccl, NCCL's device headers or libcu++ to build it with"
[ -n "$why" ] || why=$(env "$vgpu" "$R" --help 2>&1 | sed -n 's/.*SKIP: *//p')
if [ -n "$why" ]; then
	tests=$((tests + 1))
	echo "ok $tests - the real libnccl # SKIP $why"
	exit
fi
for mode in direct chunks; do
	counted "libnccl, $mode" env "$vgpu" NCCL_NET_PLUGIN="$B/libncclbpf.so" \
		NCCL_CUMEM_ENABLE=1 NCCL_WIN_ENABLE=1 NCCL_GIN_NCONTEXTS=1 \
		"$R" --mode $mode --tokens 100
done
# The figures of the slow link are two runs more, where it can be had.
link=$(unshare -rn tc qdisc add dev lo root tbf rate 100mbit burst 256kb limit 8mb 2>&1) && link=
demo "libnccl" nccl $((5 + 2 * !${#link}))
grep -q '^libnccl, chunks' "$T/out" && grep -q '^libnccl, direct' "$T/out"
ok "both forms ran over libnccl" $?
# COUNT is column 5 of `stats`
awk '$1 == "allreduce" && $5 == 3 { n++ } END { exit n != 1 }' "$T/out"
ok "an all-reduce of each layer ran on the same communicator" $?
