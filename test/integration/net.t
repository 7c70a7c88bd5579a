#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The net plugin: a ring of processes over it, without NCCL. net_plugins.t wraps those of others,
# net_nccl.t has it in the real NCCL.
rounds="--rounds 2 --bytes 4096"
. "$TOP/test/integration/net_lib.sh"
cat "$T/out" "$T/err" >"$T/why"
has "four processes add up over the net interface alone" out \
	"4 ranks, 4096 bytes, 2 rounds of 6 steps: every sum is right"

timeout 300 examples/ring-allreduce/ring.sh "$B" --rounds 10 --bytes 300000 >"$T/out" 2>"$T/err"
rc=$?
cat "$T/out" "$T/err" >"$T/why"
ok "the example with its report" $rc
awk '/^RANK STEP/ { on = 1; next } /^$/ { on = 0 }
	on && NF == 9 && $4 == 10 && $9 >= 0 && $6 <= $8 && $7 <= $8 { n++; seen[$1, $2, $3] = 1 }
	END { for (r = 0; r < 4; r++) for (s = 0; s < 6; s++)
		if (!seen[r, s, "recv"] || !seen[r, s, "send"]) exit 1
		exit n != 48 }' "$T/out"
ok "each step of each rank, both ways, with its latency" $?
awk '
	/^RANK +CONN/ { on = 1; next }
	on && NF == 10 && $9 == "closed" {
		n[$3]++
		if ($3 != "listen") { link[$10]++; if ($6 != 60 || $7 < 4 * 60) bad = 1 }
	}
	END {
		for (l in link) { links++; if (link[l] != 2) bad = 1 }
		exit bad || links != 4 || n["listen"] != 4 || n["send"] != 4 || n["recv"] != 4
	}
' "$T/out"
ok "each connection's life, the same link at both ends" $?

unset NCCL_NET_PLUGIN
W=$B/test/fakes/host/net_plugin_v
# What people see of it: connections, counters, failures by name.
hold() { # JOB [NAME=value...] -- OPTIONS: a ring that stays, its input open as 3
	name=$1
	shift
	rm -f "$T/go"
	mkfifo "$T/go"
	timeout 300 env NCCLBPF_JOB="$name" \
		"$@" --hold --open >"$T/$name" 2>"$T/$name.err" <"$T/go" &
	job=$!
	jobs="$jobs $job"
	exec 3>"$T/go"
	await grep -q ready "$T/$name"
}
cat >"$T/net.lua" <<'L'
local d = require "ncclbpf.core".decode(io.read "a").data
local kinds, links, n = {}, {}, 0
for _, p in ipairs(d.processes) do
	local net = p.data
	assert(net.transport == WANT and net.devices >= 1 and net.errors == 0 and net.live.send == 1
		and net.opened.recv == 1)
	local sent = 0
	for _, c in ipairs(net.connections) do
		kinds[c.kind] = (kinds[c.kind] or 0) + 1
		if c.kind ~= "listen" then
			assert(c.requests == 12 and c.bytes == 12 * 1024 and c.outstanding == 0
				and c.errors == 0, "counts")
			assert(WANT ~= "tcp" or c.peer:match "^127%.0%.0%.1:%d+$"
				or c.peer:match "^%[::1%]:%d+$", c.peer)
			links[c.link] = (links[c.link] or 0) + 1
		end
		if c.kind == "send" then sent = sent + c.bytes end
	end
	assert(sent == net.sent_bytes and net.received_bytes == sent and net.sends == 12)
end
for _, m in pairs(links) do n = n + (m == 2 and 1 or 0) end
assert(kinds.send == 4 and kinds.recv == 4, "kinds")
assert(WANT ~= "tcp" or n == 4, "links")
L
hold mine "$R" "$B/libncclbpf.so" --rounds 2 --bytes 4096
run -J mine -o json net
lua_run -e "WANT = 'tcp' dofile '$T/net.lua'" <"$T/out" 2>>"$T/why"
ok "net: each connection with its peer, its link and what it moved" $?
run -J mine -o table net
has "for people" out "net: tcp, 8 connections, 48K sent, 48K received" "PEER" "127.0.0.1:"
run -J mine -o table status
has "status says so" out "tcp, 8 connections, 48K sent"
run -J mine -o json doctor
has "doctor too" out "tcp moves the data of 2 connections over 1 devices: 0 errors"
exec 3>&-
wait $job
ok "the ring ends well" $?
hold theirs NCCLBPF_CHAIN_NET="${W}11.so" "$R" "$B/libncclbpf.so" --rounds 2 --bytes 4096
run -J theirs -o json net
lua_run -e "WANT = 'testnet' dofile '$T/net.lua'" <"$T/out" 2>>"$T/why"
ok "net over a wrapped plugin" $?
run -J theirs -o table status
has "status has it among the chained" out "chained net" \
	"net_plugin_v11.so (testnet, v11) is called first" "testnet, 8 connections"
run -J theirs -o json doctor
has "and doctor" out '"name":"chain_net","level":"ok"' '"name":"net","level":"ok"'
exec 3>&-
wait $job

# libnccl-net-tcp.so is found beside the file that a link names. Without it there is no device,
# and other ranks might have one: doctor says what is missing, and where.
devices() { # PLUGIN: how many there are, in $T/out
	NCCL_NET_PLUGIN=$1 timeout 300 "$B/test/fakes/host/net_check" --devices "$1" 12
}
mkdir "$T/linked" "$T/alone"
ln -s "$(realpath "$B/libncclbpf.so")" "$T/linked/libnccl-net-ncclbpf.so"
devices "$T/linked/libnccl-net-ncclbpf.so" >"$T/out" 2>&1 </dev/null
cp "$T/out" "$T/why"
[ "$(head -1 "$T/out")" -ge 1 ]
ok "a link to our library finds the TCP transports beside its target" $?
has "their lines are lines of ours" out "ncclbpf: net: device 0 is lo"
NCCLBPF_LOG=warn devices "$B/libncclbpf.so" >"$T/out" 2>&1 </dev/null
cp "$T/out" "$T/why"
[ "$(head -1 "$T/out")" -ge 1 ] && ! grep -q "net: device" "$T/out"
ok "which NCCLBPF_LOG governs" $?
cp "$B/libncclbpf.so" "$T/alone/"
rm -f "$T/go"
mkfifo "$T/go"
NCCLBPF_JOB=alone devices "$T/alone/libncclbpf.so" >"$T/alone/out" 2>&1 <"$T/go" &
job=$!
jobs="$jobs $job"
exec 3>"$T/go"
await test -s "$T/alone/out"
run -J alone -o json doctor
has "without them: doctor has a failure that says what to install" out \
	'"name":"chain_net","level":"bad"' \
	"install libnccl-net-tcp.so beside $T/alone/libncclbpf.so on all hosts"
exec 3>&-
wait $job
cp "$T/alone/out" "$T/out"
has "and the log" out "is left out: " "beside $T/alone/libncclbpf.so on all hosts"
[ "$(head -1 "$T/out")" = 0 ]
ok "and NCCL gets no device" $?
