#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Policies for some communicators of a job: of three at once, each with its
# own; undo, names that are none, interfaces without identities.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "policy scope" "the mock NCCL (standin) was not built"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] || skip_all "policy scope" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
a=c0ffee0000000000 b=c0ffee0000000001 c=c0ffee0000000002

host() { # NAME OPTIONS...
	n=$1
	shift
	NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=$n \
		timeout 0 "$B/test/fakes/host/standin" --ranks 2 --procs --events --seconds inf \
		--pause-ms 2 --min 1M --max 64M --factor 4 "$@" >"$n.out" 2>&1 &
	jobs="$jobs $!"
	await timeout 300 "$S" -q attach "$n" >/dev/null 2>&1
	need "a job: $n" $?
	export NCCLBPF_JOB=$n
	run -J "$n" policy load "$B/policies/nvlink_ring_mid.policy"
	run -J "$n" policy load "$B/examples/rollout/one_channel.bpf.o"
}
# has_policies COMM LIST: what a communicator decides with, once it is there
decides() {
	run -o json comm show "$1"
	grep -q "\"policies\":\[$2\]" out
}
has_policies() {
	await decides "$1" "$2"
	ok "$1 has: ${2:-none}" $?
}
three() {
	has_policies $a "$1"
	has_policies $b "$2"
	has_policies $c "$3"
}
R='"nvlink_ring_mid"' O='"one_channel"'

host three --groups 3
four() {
	run -r 0 -o tsv "$@"
	[ "$(grep -c "$b" out)" -eq 4 ] && [ "$(wc -l <out)" -eq 5 ]
}
for words in "decision tail count=4 comm=$b" "decision tail comm=$b count=4"; do
	# shellcheck disable=SC2086
	await four $words
	ok "$words: the last four of one communicator" $?
done
lua_run -e 'local t = assert(require("ncclbpf").attach { job = "three" })
	for _, n in ipairs { 1, 2, 4 } do assert(#t:decision_tail { count = n }.decisions == n) end
' >"$T/why" 2>&1
ok "no more decisions than asked for" $?
status 0 "a policy for one communicator" policy use nvlink_ring_mid comm=$b
three "" "$R" ""
status 0 "policy list" -o table policy list
has "says for whom" out "yes, in 1 communicator" "only $b: nvlink_ring_mid"
status 0 "status" -o table status
has "says so as well" out "policies       none, NCCL decides; only $b: nvlink_ring_mid"
status 0 "explain there" -o json explain allreduce 16M comm=$b
has "names the policy" out '"name":"nvlink_ring_mid"' '"by":"nvlink_ring_mid"'
status 0 "explain elsewhere" -o json explain allreduce 16M comm=$a
has "names none" out '"policies":[]'
status 0 "two lists" policy use one_channel "comm=$c"
three "" "$R" "$O"
status 0 "those without one" policy use one_channel comm=others
three "$O" "$R" "$O"
status 0 "one more for all" policy add nvlink_ring_mid position=first
three "$R,$O" "$R" "$R,$O"
status 0 "less in one" policy remove one_channel comm=$a
three "$R" "$R" "$R,$O"
status 0 "another order in one" policy move nvlink_ring_mid position=last comm=$c
three "$R" "$R" "$O,$R"
fails 64 bad_argument "lists that differ cannot be edited together" policy add one_channel \
	comm=$a,$c
status 0 "agreement" check agreement
run -o json policy list
has "policy list has the places" out '"position":0' "\"scopes\":[{\"comms\":["
status 0 "as the others" policy use common comm=$a,$c
three "$R,$O" "$R" "$R,$O"
status 0 "history" -o table policy history
has "has scopes" out "none; nvlink_ring_mid for $b"
status 0 "undo" policy undo
three "$R" "$R" "$O,$R"
status 0 "all" policy use nvlink_ring_mid
three "$R" "$R" "$R"
run -o json policy list
has "no scope is left" out '"scopes":[]'
status 0 "none" policy use none
status 0 "none for one, while all have none" policy use none comm=$b
run -o json policy list
has "is a scope as any other" out "\"comms\":[\"$b\"]"
status 0 "the others" policy use nvlink_ring_mid comm=others
three "$R" "" "$R"
status 0 "all again" policy use nvlink_ring_mid
three "$R" "$R" "$R"

# ---- refused, and nothing has moved ----
fails 1 not_found "a communicator that is none" policy use one_channel comm=beef
fails 1 not_found "with all digits" policy use one_channel comm=0123456789abcdef
fails 64 usage "a beginning of several" policy use one_channel comm=c0
status 64 "no identity at all" policy use one_channel comm=zz
status 64 "twice" policy use one_channel one_channel comm=$a
status 64 "common, of nobody" policy use common
status 64 "common, and more" policy use common one_channel comm=$a
status 1 "where it is not in use" policy remove one_channel comm=$a
three "$R" "$R" "$R"
# ---- rollouts and lists of their own ----
run policy use one_channel comm=$b
echo 'return { candidate = "none" }' >all.lua
fails 2 refused "a rollout that would take a list away" rollout start all.lua
echo "return { candidate = 'none', scope = { comms = { '$a' } } }" >one.lua
fails 2 refused "a promotion that would" rollout start one.lua
echo "return { candidate = 'none', scope = { comms = { '$a', '$b' } }, promote = 'scope' }" >two.lua
fails 2 refused "communicators that differ" rollout start two.lua
three "$R" "$O" "$R"
run policy use common comm=$b
status 0 "by the number of ranks" policy use one_channel comm=ranks:2
three "$O" "$O" "$O"
lua_run -e 'local t = assert(require("ncclbpf").attach { job = "three" })
	assert(t:policy_use { "nvlink_ring_mid", comm = { "c0ffee0000000001" } })
	assert(t:policy_add { "one_channel", position = "first", comm = "c0ffee0000000001" })
	assert(not t:policy_use { "none", comm = "beef" })'
ok "from Lua" $?
three "$O" "$O,$R" "$O"
run check agreement
ok "ranks agree" "$rc"

# policy unload refuses what one rank uses, so policy list says that it is in use
lua_run -e 'local merge = require "ncclbpf.job.merge"
local function in_use(...)
	local per = {}
	for i, v in ipairs { ... } do
		per[i] = { member = { rank = i }, rows = { { name = "p", in_use = v } } }
	end
	local rows, notes = merge.rows(per, { { "in_use", merge = "any" } }, "name")
	assert(#rows == 1 and #notes == 0)
	return rows[1].in_use
end
assert(in_use(false, false, true) == true and in_use(true, false, false) == true)
assert(in_use(false, false, false) == false)' >"$T/why" 2>&1
ok "a policy that one rank uses is in use" $?

# ---- without identities ----
host old --nccl 2.26.2
fails 65 not_supported "NCCL gives no identity" -J old policy use one_channel comm=0123456789abcdef
messages
