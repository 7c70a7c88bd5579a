#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The net plugin in every version of its interface, alone and over plugins of others: good ones
# of every version, bad ones, slow ones.
rounds="--rounds 1 --bytes 64"
. "$TOP/test/integration/net_lib.sh"

# Every version, as NCCL's releases call it: over our library of TCP transports, that library
# alone, and over other people's plugins of every version.
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
sub "$B/test/fakes/host/net_check" "$B/libnccl-net-tcp.so"
sub "$B/test/fakes/host/net_check" "$B/libncclbpf.so" "$B/test/fakes/host"
NET_CHECK_CLASS=72 NCCLBPF_POLICY=$B/test/fakes/host/net_class.bpf.o \
	"$B/test/fakes/host/net_check" "$B/libncclbpf.so" "$B/test/fakes/host" >"$T/sub" 2>&1
cp "$T/sub" "$T/why"
[ "$(grep '^ok' "$T/sub" | grep -c 'wrapped plugin of v10')" -eq 6 ]
ok "a policy's traffic class reaches a plugin that is told it at connect" $?

# What a wrapped plugin may do wrong: said, and NCCL uses its own network.
devices() { # NAME WANT TEXT [NAME=value...]
	name=$1 want=$2 text=$3
	shift 3
	env NCCL_NET_PLUGIN="$B/libncclbpf.so" "$@" timeout 300 "$B/test/fakes/host/net_check" \
		--devices "$B/libncclbpf.so" 12 >"$T/out" 2>&1 </dev/null
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
	'the library has no complete net interface of versions 6 to 12' \
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
