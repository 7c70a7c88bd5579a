#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# make demo-rdma: in make check over the virtual adapter; in make check-rdma
# (DEMO_VM=yes) in the virtual machine, where trace rdma's counts must be the tap's.
# There a guest that does not come up is a failure.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1
what="a ring over verbs"
[ -e "$B/test/fakes/verbs/libnccl-net-verbs.so" ] ||
	skip_all "$what" "libibverbs' header was not there at build time"
if [ "${DEMO_VM:-no}" = yes ]; then
	test/vm/build.sh build/vm >"$T/why" 2>&1
	rc=$?
	[ $rc -eq 69 ] && skip_all "$what in a virtual machine" "$(tail -1 "$T/why")"
	ok "the guest is made" $rc
	# a checkout may lie below /tmp
	here=$(mktemp -d /tmp/nbvm.XXXXXX)
	echo here >"$here/there"
	echo "cp $here/there /vm/found && rm $here/there && echo new >$here/new" >"$T/script"
	SHARE=$T/share test/vm/run.sh build/vm "$T/script" 240 >"$T/why" 2>&1 &&
		grep -qx here "$T/share/found" && [ -e "$here/there" ] && [ ! -e "$here/new" ]
	rc=$?
	rm -rf "$here"
	ok "the guest has this machine's /tmp, and changes its own view alone" $rc
else
	yama=/proc/sys/kernel/yama/ptrace_scope
	[ "$(id -u)" -ne 0 ] && [ -e $yama ] && [ "$(cat $yama)" != 0 ] &&
		skip_all "$what" "processes may not write each other's memory here (yama)"
	DEMO_VM=no
fi
timeout -k 10 450 env ROUNDS=2 DEMO_VM=$DEMO_VM examples/rdma/demo.sh "$B" "$T/demo" >"$T/out" 2>&1
rc=$?
cp "$T/out" "$T/why"
ok "the demo runs to its end" $rc
# says CLAIM EXPRESSION...: a line for each
says() {
	claim=$1 miss=0
	shift
	for e; do grep -Eq -e "$e" "$T/out" || { miss=1 && echo "missing: $e" >>"$T/why"; }; done
	ok "$claim" $miss
}
# lines CLAIM NUMBER EXPRESSION: so many lines
lines() {
	[ "$(grep -Ec -e "$3" "$T/out")" -eq "$2" ]
	ok "$1" $?
}
lines "eight queue pairs have been through INIT, RTR and RTS to their end, without an error" 8 \
	'^ *[0-3] +[0-9]+ +[0-9]+ +[0-9]+ +0 +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ +yes$'
lines "eight ends of connections, with their set-up" 8 \
	'^ *[0-3] (sending|receiving) +[0-9]+ +[0-9]+ +[1-9]'
lines "each step of the ring has its times, in three runs" 7 \
	'^ +([0-5]|all)( +[0-9]+\.[0-9]{2}){9}$'
says "slow steps are named" '^2 % loss +[0-3] +[0-9]+ +[0-5] +[0-9.]+ +[0-9.]+$'
says "retries rise with the loss" '^completer_retry_err +0 +[1-9]'
# the bars of three panels: 4 ranks, 6 steps
svg=$T/demo/timeline.svg
[ "$(grep -c '<rect x=.*<title>step' "$svg")" -ge 72 ] && grep -q '^</svg>' "$svg" &&
	! grep -q 'nan\|inf' "$svg"
ok "the picture has the receives of all ranks" $?
says "the hooks' counts" '^queue pairs created +8$' '^changes of state +24$' \
	'^queue pairs destroyed +8$' '^completions +[1-9]' '^posts to receive queues +[1-9]'
if [ $DEMO_VM = no ]; then
	exit 0
fi
says "the ring ran in the guest" \
	'^A ring AllReduce of 4 ranks over verbs: Linux .* in a virtual machine'
says "trace rdma: the kernel's side of the life of queue pairs" \
	'^kernel: 8 queue pairs created, 24 changes, 0 destroyed; [1-9]'
[ "$(awk '
	$2 ~ /^rxe[01]$/ && NF == 14 && $7 > $6 && $6 > $5 && $9 > 0 && $9 == $10 && $11 > 0 &&
		$11 == $12 && $13 == 0
' "$T/out" | wc -l)" -eq 8 ]
ok "trace rdma: INIT, RTR, RTS in this order; posts and completions are the tap's" $?
lua_run test/integration/trace_check.lua "$T/demo/trace.json" '
	assert(#of("kernel_create") == 8 and #of("kernel_change") == 24 and #of("kernel_done") > 0)
' \
	>"$T/why" 2>&1
ok "its trace is in Chrome's format and has the kernel's calls" $?
lua_run test/integration/trace_check.lua "$T/demo/trace.json" '
	local function by(cat, want)
		local out, n = {}, 0
		for _, e in ipairs(of(cat)) do
			if not want or e.name:find(want) then
				local key = ("%d %s %d"):format(e.pid, e.args.device, e.args.qp)
				out[key] = out[key] or {}
				table.insert(out[key], e)
				n = n + 1
			end
		end
		return out, n
	end
	local function inside(kernel, tap)
		for key, list in pairs(kernel) do
			for _, k in ipairs(list) do
				local found = false
				for _, t in ipairs(tap[key] or {}) do
					found = found
						or t.ts <= k.ts and k.ts + k.dur <= t.ts + t.dur
				end
				assert(found, key .. ": " .. k.name
					.. " is not within a call that the tap saw")
			end
		end
	end
	local posts, n = by "kernel_post"
	local taps, m = by("verbs_post", "^post write")
	assert(n > 0 and n == m, n .. " " .. m)
	inside(posts, taps)
	inside(by "kernel_change", (by("verbs_qp", "^to ")))
	local _, done = by "kernel_done"
	assert(done == #of "verbs_done", done)' >"$T/why" 2>&1
ok "one clock: each of the kernel's posts and changes lies within the tap's" $?
