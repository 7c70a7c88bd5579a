# SPDX-License-Identifier: MIT
# Sourced by moe_alltoall.t and moe_nccl.t, which have the example moe-alltoall over our plugin
# alone and over the real libnccl.
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
# What the policy gin_peers has counted, in the words of --counts.
cat >"$T/counts.lua" <<'E'
local nb = require "ncclbpf"
local job <close> = assert(nb.attach { job = os.getenv "NCCLBPF_JOB" })
local sums = {}
for _, process in ipairs(assert(job:map_dump { "gin_peers", limit = 1024 }).processes) do
	for _, e in ipairs(process.data.entries) do
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
	await while_lives $job grep -q '^ready' "$T/out"
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
