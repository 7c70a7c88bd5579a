#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# The net plugin: a ring of processes over it, without NCCL.
. "$TOP/test/integration/shm_room.sh"
shm_room "ring AllReduce" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
R=$B/examples/ring-allreduce/ring_allreduce
[ -x "$R" ] || skip_all "ring AllReduce" "the example was not built"
trap finish EXIT
cd "$TOP" || exit 1
export NCCL_SOCKET_IFNAME=lo

timeout 300 "$R" "$B/libncclbpf.so" --rounds 2 --bytes 4096 >"$T/out" 2>"$T/err"
if [ $? -ne 0 ] && grep -q 'no device' "$T/err"; then
	skip_all "ring AllReduce" "no loopback interface is up"
fi
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

# Every version, as NCCL's releases call it, over our own TCP and over other
# people's plugins of every version.
sub() { # WORDS: the lines of a TAP program become ours
	"$@" >"$T/sub" 2>&1
	while IFS= read -r line; do
		case $line in
		"ok "*) ok "${line#*- }" 0 ;;
		"not ok "*)
			cp "$T/sub" "$T/why"
			ok "${line#*- }" 1
			;;
		esac
	done <"$T/sub"
	tail -1 "$T/sub" | grep -q '^1\.\.[0-9]'
	ok "${1##*/} has run to its end" $?
}
unset NCCL_NET_PLUGIN
sub "$B/test/fakes/host/net_check" "$B/libncclbpf.so"
sub "$B/test/fakes/host/net_check" "$B/libncclbpf.so" "$B/test/fakes/host"
NET_CHECK_CLASS=72 NCCLBPF_POLICY=$B/test/fakes/host/net_class.bpf.o \
	"$B/test/fakes/host/net_check" "$B/libncclbpf.so" "$B/test/fakes/host" >"$T/sub" 2>&1
cp "$T/sub" "$T/why"
[ "$(grep '^ok' "$T/sub" | grep -c 'wrapped plugin of v10')" -eq 8 ]
ok "a policy's traffic class reaches a plugin that is told it at connect" $?

# What a wrapped plugin may do wrong: said, and NCCL uses its own network.
devices() { # NAME WANT TEXT [NAME=value...]
	name=$1 want=$2 text=$3
	shift 3
	env NCCL_NET_PLUGIN="$B/libncclbpf.so" "$@" timeout 300 "$B/test/fakes/host/net_check" \
		--devices "$B/libncclbpf.so" 12 >"$T/out" 2>&1
	cp "$T/out" "$T/why"
	[ "$(head -1 "$T/out")" = "$want" ] && grep -q -e "$text" "$T/out" &&
		[ "$(grep -c -e "$text" "$T/out")" -eq 1 ]
	ok "$name" $?
}
W=$B/test/fakes/host/net_plugin_v
devices "not named by NCCL_NET_PLUGIN: no device" 0 '^$' NCCL_NET_PLUGIN=
devices "switched off: no device" 0 '^$' NCCLBPF_NET=off
devices "a missing file" 0 'CHAIN_NET: the net plugin .*no.so is left out: .*No such file' \
	NCCLBPF_CHAIN_NET="$T/no.so"
devices "a file without a net plugin" 0 \
	'the library has no complete net interface of versions 5 to 12' \
	NCCLBPF_CHAIN_NET="$B/libncclbpf-load.so"
devices "itself" 0 'is ncclbpf itself' NCCLBPF_CHAIN_NET="$B/libncclbpf.so"
devices "an init that fails" 0 \
	'is left out: the init of the plugin returned 3, so NCCL uses its own network' \
	NCCLBPF_CHAIN_NET="${W}9.so" NET_PLUGIN_FAIL=init
devices "a plugin without devices" 0 'net_plugin_v11.so (testnet, interface v11) is called first' \
	NCCLBPF_CHAIN_NET="${W}11.so" NET_PLUGIN_FAIL=none
devices "devices that fail" -1 'net_plugin_v12.so (testnet, interface v12) is called first' \
	NCCLBPF_CHAIN_NET="${W}12.so" NET_PLUGIN_FAIL=devices
for where in listen isend test; do
	timeout 300 env NCCLBPF_CHAIN_NET="${W}12.so" NET_PLUGIN_FAIL=$where \
		"$R" "$B/libncclbpf.so" --rounds 1 --bytes 64 --log >"$T/out" 2>"$T/err"
	rc=$?
	cat "$T/out" "$T/err" >"$T/why"
	[ "$rc" -eq 1 ] && grep -q "$where(.*: result 3" "$T/err"
	ok "an error of $where is passed on" $?
	said="returned an error, which ncclbpf passed to NCCL ($where: result 3); .status. counts"
	grep -q "net_plugin_v12.so $said" "$T/err"
	ok "and said, with its name" $?
done
timeout 300 env NCCLBPF_CHAIN_NET="${W}8.so" examples/ring-allreduce/ring.sh "$B" --rounds 3 \
	--bytes 70000 >"$T/out" 2>&1
rc=$?
cp "$T/out" "$T/why"
[ "$rc" -eq 0 ] && [ "$(grep -c ' closed ' "$T/out")" -eq 12 ] &&
	[ "$(awk '$4 == 3 && ($3 == "recv" || $3 == "send")' "$T/out" | wc -l)" -eq 48 ]
ok "the ring over a wrapped plugin, its steps seen all the same" $?

# A transport whose isend does the whole work, as an emulated adapter's: what it
# takes is the send's, not lost before the clock starts.
timeout 300 env NCCLBPF_CHAIN_NET="${W}12.so" NET_PLUGIN_SLOW_US=3000 \
	examples/ring-allreduce/ring.sh "$B" --rounds 2 --bytes 7000 >"$T/out" 2>&1
cp "$T/out" "$T/why"
awk '
	$3 == "send" && NF == 9 && $4 == 2 { n++; if ($5 < 3000) early++ }
	END { exit n != 24 || early }
' "$T/out"
ok "a send that is done inside isend is timed from NCCL's call" $?

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
# The real NCCL, two pretended nodes, its data through our net plugin.
J=$B/test/fakes/vgpu/job
if [ ! -x "$J" ] || [ ! -e "$B/test/fakes/vgpu/libvgpu.so" ]; then
	tests=$((tests + 1))
	echo "ok $tests - the real NCCL over our net plugin # SKIP" \
		"no libnccl and CUDA headers at build time"
	exit 0
fi
(
	export LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual \
		NCCL_NET_PLUGIN="$B/libncclbpf.so" NCCL_DEBUG=INFO NCCLBPF_JOB=nccl \
		NCCLBPF_POLICY="$B/examples/ring-allreduce/net_steps.bpf.o"
	exec timeout -k 60 150 "$J" --ranks 4 --procs --per-node 2 --coll allreduce --min 4K \
		--max 4M --factor 32 --seconds 120
) >"$T/nccl" 2>&1 &
job=$!
jobs="$jobs $job"
seen() {
	run -J nccl -o json map dump steps
	[ "$rc" -eq 0 ] && [ "$(grep -o '"count":[1-9]' "$T/out" | wc -l)" -ge 2 ]
}
i=0
until seen || [ $((i = i + 1)) -gt 600 ] || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
if grep -q '^vgpu: SKIP' "$T/nccl"; then
	tests=$((tests + 1))
	echo "ok $tests - the real NCCL over our net plugin # SKIP" \
		"$(grep -m1 '^vgpu: SKIP' "$T/nccl")"
	exit 0
fi
seen
ok "the real NCCL between two pretended nodes: its steps are seen" $?
kill -TERM $job
wait $job
rc=$?
cp "$T/nccl" "$T/why"
ok "and the job ends well" $rc
has "NCCL says whose network it is" nccl "Using network ncclbpf" "via NET/ncclbpf/0"
