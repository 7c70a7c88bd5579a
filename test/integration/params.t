#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Parameters of policies: set in files, in NCCLBPF_POLICY, and in a running job, on all ranks at the
# same collective, with the contents of coherent variables kept; what is wrong is refused with the
# allowed values; ranks that begin with other values do not use the policy.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "params" "the mock NCCL (standin) was not built"
[ -e "$B/examples/parameters/limits.bpf.o" ] || skip_all "params" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
cp "$B/examples/parameters/limits.bpf.o" "$TOP/examples/parameters/limits_table.lua" .
cp "$B/test/corpus/shell/kept.bpf.o" .

# ---- files ----
status 0 "an image with other values" -q policy build 'limits.bpf.o?small=64K,wide=0x10'
status 0 "has what was asked for" -o json policy build 'limits.policy?middle=8M' out=again.policy
status 0 "its defaults again" policy build 'again.policy?small=32K,middle=4M,wide=0' \
	out=default.policy
status 0 "the object itself" policy build limits.bpf.o out=plain.policy
cmp default.policy plain.policy >"$T/why" 2>&1
ok "all values at their defaults: the same image" $?
status 2 "which the verifier sees" policy verify 'kept.bpf.o?deep=4'
status 0 "as it is within the map" policy verify 'kept.bpf.o?deep=3'
sed "s#limits.bpf.c#limits.bpf.o#" "$TOP/examples/parameters/limits_test.lua" >limits_test.lua
status 0 "a test sets values" policy test limits_test.lua
refused() { fails 64 bad_argument "refused: $1" policy build "limits.bpf.o?$1" out=no.policy; }
refused small
refused smal=1
refused small=lots
refused small=2G
refused wide=-1
refused small=1,small=2
cp "$B/policies/noop.policy" .
fails 64 bad_argument "of a policy without parameters" policy build 'noop.policy?small=1' \
	out=no.policy
[ ! -e no.policy ]
ok "nothing is written then" $?

# ---- tables ----
status 0 "a table with parameters" -q policy build 'limits_table.lua?small=64K' out=table.policy
status 0 "compiled with them" policy export table.policy
has "the row has the value" out "allreduce,0,65536,tree,ll"
status 0 "compiled again from the image" policy build 'table.policy?small=32K,wide=8' \
	out=next.policy
status 0 "with all of its rows" policy export next.policy
has "in the rows" out "allreduce,0,32768,tree,ll" ",ring,simple,8,"
status 0 "as from the file" policy build 'limits_table.lua?wide=8' out=file.policy
cmp next.policy file.policy >"$T/why" 2>&1
ok "the same image" $?
fails 65 not_supported "an object of it" policy build limits_table.lua out=x.bpf.o
fails 64 bad_argument "a value beyond the range" policy build 'limits_table.lua?wide=129' \
	out=x.policy
cat >noted.lua <<'E'
return { params = { a = "1K" }, { bytes = "..a", algo = "tree", reg_buff = 1 }, { algo = "ring" } }
E
status 0 "a table with a note" -q policy build noted.lua
status 0 "and another value" -o table policy build 'noted.policy?a=2K' out=noted2.policy
has "has the note, too" out "reg_buff 1 may differ between ranks"
table() { # a table's field params, and why it is refused
	echo "return { params = { $1 }, { bytes = '..a', algo = 'ring' } }" >bad.lua
	fails 65 malformed "$2" policy build bad.lua
}
table "a = '1K', b = 1" "a parameter that no row names"
table "a = { '1K', min = '2K' }" "a default below the range"
table "a = { '1K', most = '2K' }" "a field that is none"
table "a = 'ring'" "a default that is no number"
printf 'allreduce,0,-1,tree,ll,2,1,-1\n' >rows.csv
fails 64 bad_argument "rows of text have none" policy build 'rows.csv?a=1'

# ---- a job ----
host() { # NAME OPTIONS...
	n=$1
	shift
	NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=$n \
		timeout 0 "$B/test/fakes/host/standin" --ranks 4 --procs --events --seconds inf \
		--pause-ms 2 --min 16K --max 16M --factor 4 "$@" >"$n.out" 2>&1 &
	host=$!
	jobs="$jobs $host"
	sockets() { [ "$(ls "$T/s" | grep -c "^$n\..*sock$")" -ge 4 ]; }
	await while_lives $host sockets
	need "a job: $n" $?
	export NCCLBPF_JOB=$n
}
# over JOB: end the job; no rank may have decided otherwise than the others
over() {
	kill -TERM "$host"
	wait "$host"
	rc=$?
	cp "$1.out" "$T/why"
	[ $rc -eq 0 ]
	ok "$1: no rank differed, none hung" $?
}
# answers SIZE WORD...: has explain each of the words
answers() {
	size=$1
	shift
	run -o json explain allreduce "$size"
	for w; do
		grep -q "$w" out || return 1
	done
}
takes() { # NAME SIZE WORD...
	name=$1
	shift
	await answers "$@"
	ok "$name" $?
}
values() { # NAME TEXT: the values that policy list shows
	run -o json policy list
	has "$1" out "$2"
}

values_are() {
	run -o json policy show limits
	grep -q "$1" out
}

pin=$(sha256sum plain.policy | cut -d ' ' -f 1)
export NCCLBPF_POLICY="$T/plain.policy?small=64K,wide=12@sha256:$pin:$T/kept.bpf.o"
host first
unset NCCLBPF_POLICY
status 0 "policy show" -o table policy show limits
has "the values of the environment, with ranges" out \
	"parameter small: 65536 (default 32768, allowed 0 to 1073741824)" \
	"parameter middle: 4194304 (default 4194304" "parameter wide: 12 (default 0"
takes "64 KiB are small" 64K '"algo":"tree","proto":"ll"'
takes "16 MiB take 12 channels, more or less" 16M '"algo":"ring","proto":"simple","channels":13'
status 0 "coherent variables change" map set .data.coherent more=3 least.channels=2
takes "on all ranks" 16M '"channels":17'
status 0 "and both are there" -o tsv -q map dump .data.coherent
has "with the values of the source beside them" out "more=3" "channels=2" "unused=7"
status 64 "a variable that is none" map set .data.coherent most=3
status 2 "if the job has another generation" map set .data.coherent more=4 if_generation=0

status 0 "one parameter" policy set limits small=16K
takes "is one at once" 64K '"algo":"ring","proto":"ll128"'
values "the others stay" '"name":"wide","value":12,"default":0,"min":0,"max":128'
takes "so do the other policies" 16M '"channels":17'
status 0 "two" policy set limits small=256K wide=20
takes "at one fence" 16M '"channels":25'
takes "both of them" 64K '"algo":"tree"'
status 0 "of a policy with coherent variables" policy set kept deep=1
takes "which keeps their contents" 16M '"channels":26'
status 0 "as after undo" policy undo
takes "with the earlier value" 16M '"channels":25'
status 0 "agreement" check agreement
status 0 "a dry run" -n policy set limits wide=30
values "changes nothing" '"name":"wide","value":20'
fails 64 bad_argument "a parameter that is none" policy set limits widt=3
fails 64 bad_argument "out of range" policy set limits wide=200
fails 64 bad_argument "no number" policy set limits wide=many
fails 1 not_found "of a policy that is not in use" policy set noop wide=3
run policy set limit small=16K
has "a misspelt name: the nearest one" err "nearest: limits"
run policy use limits small=16K
has "a parameter as an option: how to set it" err "policy set limits small=16K" "'limits?small=16K'"
fails 2 verify_rejected "a value that the verifier refuses" policy set kept deep=4
values "nothing has moved" '"name":"deep","value":0'
status 0 "the words of policy use" policy use kept 'limits?small=4K'
takes "name a policy of the job, too" 16M '"algo":"ring","proto":"simple"'
status 0 "a file takes the place of a policy" policy replace limits './plain.policy?wide=5'
values "with its values" '"name":"wide","value":5'
status 0 "an earlier one again" policy replace limits ./plain.policy
run -o json policy show limits
has "which has the defaults" out '"name":"wide","value":0'
status 0 "a dry run of the other" -n policy replace limits './plain.policy?wide=5'
status 0 "moves no name" policy use kept limits
run -o json policy show limits
has "which means the one in use" out '"name":"wide","value":0' '"in_use":true'
status 0 "loading a held one again" -o table policy load './plain.policy?wide=5'
grep -q "next: policy use [0-9a-f]\{8\}$" out
ok "names its digest, as a newer one has its name" $?
LUA_LIMIT=$HANG lua_run -e 'local nb = require "ncclbpf"
	local policy = require "ncclbpf.policy.policy"
	local job = assert(nb.attach(os.getenv "NCCLBPF_JOB"))
	local load, other = policy.load, nil
	-- another operator loads a policy between the load of a change and its commit
	policy.load = function(...)
		local results, before = load(...)
		if not other then
			other = true
			assert(job:policy_load { "./plain.policy?wide=7" })
		end
		return results, before
	end
	local ok, err = job:policy_set { "limits", "wide=6" }
	assert(not ok and err.code == "not_found" and err.hint:find("repeat", 1, true), err)
	assert(job:policy_set { "limits", "wide=6" })' >why 2>&1
ok "another operator loads the name meanwhile: an error, and not his values" $?
await values_are '"name":"wide","value":6'
ok "the second attempt sets those of the command" $?
comm=$(run -o tsv comm list && awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
	{ print $h["comm"]; exit }' out)
status 0 "other values for one communicator" policy use kept './plain.policy?wide=9' comm="$comm"
fails 64 bad_argument "a name of two policies in use" policy replace limits './plain.policy?wide=11'
status 0 "one for all again" policy use common comm="$comm"
fails 1 not_found "in place of what is not in use" policy replace noop limits
fails 1 exists "of two, one cannot replace the other" policy replace limits kept
echo "return { candidate = '$T/plain.policy?small=1K' }" >plan.lua
fails 2 refused "a rollout of another value under the same name" rollout start plan.lua
i=0
while [ $i -lt 6 ]; do
	i=$((i + 1))
	run policy set limits small=${i}K wide=$i
	[ $rc -eq 0 ] || break
done
ok "set $i times under load" $rc
over first

# ---- ranks that begin otherwise ----
export NCCL_DEBUG=INFO
export NCCLBPF_POLICY="$T/plain.policy?small=64K"
host other --rank-env "2:NCCLBPF_POLICY=$T/plain.policy?small=63K"
unset NCCLBPF_POLICY
found() { grep -q "different policies" other.out; }
await found
ok "another value on one rank: the ranks started with different policies" $?
takes "NCCL decides" 64K '"by":null'
over other
for bad in 'small=2G' 'smal=1' 'small'; do
	NCCLBPF_POLICY="$T/plain.policy?$bad" NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=wrong \
		timeout $HANG "$B/test/fakes/host/standin" --ranks 2 --loops 2 >wrong.out 2>&1
	grep -qE "NCCLBPF_POLICY cannot be loaded.*(allowed:|must be NAME=VALUE)" wrong.out
	ok "NCCLBPF_POLICY with ?$bad: the log says what is allowed" $?
done
NCCLBPF_POLICY="$T/table.policy?small=1" NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=wrong \
	timeout $HANG "$B/test/fakes/host/standin" --ranks 2 --loops 2 >wrong.out 2>&1
grep -q "policy limits_table is a table" wrong.out
ok "of a table, which a job does not compile" $?
messages
