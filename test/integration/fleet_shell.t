#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# The shell over two sites and a real store: list, attach, commands merged, a
# site that does not answer, streams; rights by certificate; bad keys.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/etcd/site" ] && [ -x "$B/test/fakes/host/standin" ] ||
	skip_all "the shell over sites" "the stand-ins were not built"
command -v etcd >/dev/null || skip_all "the shell over sites" "etcd-server is not installed"
etcd=$TOP/test/fakes/etcd/etcd.sh
leave() {
	"$etcd" stop "$T/plain" 2>/dev/null
	"$etcd" stop "$T/tls" 2>/dev/null
	finish
}
trap leave EXIT
cd "$T" || exit 1
unset NCCLBPF_FLEET NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY

"$etcd" start "$T/plain" && "$etcd" start "$T/tls" tls
ok "two stores, one with TLS" $?
plain=$(cat plain/endpoints) secure=$(cat tls/endpoints)

# site NAME FIRST_RANK ENDPOINTS [CACERT CERT KEY]: two ranks and what an agent does
site() {
	name=$1 first=$2
	shift 2
	mkdir -p -m 700 "$T/$name"
	for r in $first $((first + 1)); do
		RANK=$r NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=train \
			NCCLBPF_SOCKET_DIR=$T/$name timeout 0 "$B/test/fakes/host/standin" \
			--ranks 1 --seconds inf --pause-ms 5 >"$name.$r.out" 2>&1 &
		jobs="$jobs $!"
	done
	agent "$name" "$@"
}
agent() { # NAME ENDPOINTS...
	name=$1 store=$2
	shift 2
	: >"$name.agent"
	timeout 0 "$B/test/fakes/etcd/site" "$store" train "$name" "$T/$name" \
		"$@" >"$name.agent" 2>&1 &
	jobs="$jobs $!" agent=$!
	await test -s "$name.agent"
}
fails 69 no_target "no agent runs: no job is known" --fleet "$plain" status
fails 69 no_target "nor one of this name" --fleet "$plain" -J train status
site west 0 "$plain"
site east 2 "$plain"
all_there() {
	timeout 300 "$S" --fleet "$plain" -o tsv attach train 2>/dev/null |
		grep -c attached | grep -qx 4
}
await all_there
ok "four processes of two sites can be attached to" $?

status 0 "list names the job" --fleet "$plain" -o wide list
has "list: one row a job for people" out "train" "east, west" "attachable"
status 0 "list for programs" --fleet "$plain" -o tsv list
has "list: one row a site for programs" out "train	east" "train	west"
NCCLBPF_FLEET=$plain run -o tsv status
[ "$(grep -c '	train	' out)" -eq 4 ] && grep -q '^site	rank' out &&
	grep -q '^west	0' out && grep -q '^east	3' out
ok "NCCLBPF_FLEET names the store, and rows their site" $?
status 0 "equal rows are folded for people" --fleet "$plain" -o wide comm list
has "folded: the number of sites is beside them" out "SITES"
[ "$(grep -c c0ffee out)" -eq 1 ]
ok "folded: one row for four processes" $?
run --fleet "$plain" -o json explain allreduce 1M
grep -q '"site":"west"' out && grep -q '"rank":3' out
ok "JSON names site and rank" $?
status 0 "choices" --fleet "$plain" -o wide choices
[ "$(grep -c '^[0-9]*[KMG]\{0,1\}  ' out)" -eq 35 ] && grep -q SITES out
ok "has one row a size for both sites" $?
status 0 "metrics are of all sites" --fleet "$plain" metrics
has "metrics have the label site" out 'site="west"' 'site="east"'
run --fleet "$plain" -o tsv decision tail count=8 follow=yes
[ "$rc" -eq 0 ] && [ "$(grep -c allreduce out)" -ge 8 ]
ok "a stream of all sites" $?
cat >far.lua <<'END'
local nb = require "ncclbpf"
local t = assert(nb.attach { fleet = arg[1], job = "train" })
local n = 0
for _, p in ipairs(t:status().processes) do n = n + (p.site and 1 or 0) end
assert(n == 4, n)
END
lua_run far.lua "$plain" >why 2>&1
ok "the Lua module has the same target" $?

fails 69 no_target "another job is not there" --fleet "$plain" -J trian status
ends 69 store_unavailable "a store that is away" --fleet http://127.0.0.1:9 list
fails 78 bad_setting "a URL that is none" --fleet nonsense:1 list
fails 77 not_permitted "without TLS nobody may control" --fleet "$plain" policy time on
cat >bad.bpf.c <<'END'
#include "ncclbpf_policy.h"
SEC("tuner") int bad(struct ncclbpf_tuner *ctx)
{
	ctx->channels = bpf_ktime_get_ns() & 1;
	return 0;
}
END
for p in "$T/bad.bpf.c" "$B/policies/size_aware.policy"; do
	for n in "" -n; do
		fails 65 not_supported "policy load $n of ${p##*/} into several sites" --fleet \
			"$plain" $n policy load "$p"
	done
done
fails 65 not_supported "map attach of a job of several sites" --fleet "$plain" \
	map attach host "$T/bad.bpf.c"
[ -z "$("$etcd" ctl plain get --prefix --keys-only /ncclbpf/1-data/train/image/)" ]
ok "no image of it stays in the store" $?
run --fleet "$plain" -o tsv check agreement
grep -q '^west	c0ffee' out && grep -q '^east	c0ffee' out
ok "check agreement: rows of each site for communicators of one site" $?

# Keys that another writer has damaged
"$etcd" ctl plain put /ncclbpf/1/train/site/broken 'not JSON' >/dev/null
"$etcd" ctl plain put /ncclbpf/1/train/site/nowhere '{"address":5}' >/dev/null
run --fleet "$plain" -o wide list
[ "$rc" -eq 0 ] && grep -q "site/broken" out && grep -q "east, nowhere, west" out
ok "a damaged key is named, and the rest shown" $?
run --fleet "$plain" -o wide status
grep -q "site nowhere" err && grep -q "rank" out
ok "a site without an address is named as missing" $?
"$etcd" ctl plain del --prefix /ncclbpf/1/train/site/n >/dev/null
"$etcd" ctl plain del /ncclbpf/1/train/site/broken >/dev/null

# A change: the coordinator is a script here, which says what it was asked
cat >coordinator.lua <<'END'
local core = require "ncclbpf.core"
local f = assert(core.fleet { endpoints = arg[1] })
local answered = {}
io.stdout:write "ready\n" io.stdout:flush()
while true do
	core.sleep(0.02)
	for _, e in ipairs(assert(f:range "/ncclbpf/1/train/request/")) do
		if not answered[e.key] then
			answered[e.key] = true
			local q = core.decode(e.value)
			local audit = f:range "/ncclbpf/1-data/train/audit/"
			local image = f:get("/ncclbpf/1-data/train/image/" .. q.images[1].digest)
			local good = q.images[1].name == "size_aware"
				and core.sha256(image[1].value) == q.images[1].digest
			io.stdout:write(
				("%s images=%s lease=%s audits=%d check=%s\n"):format(q.line,
				tostring(good), tostring(e.lease ~= 0), #audit, tostring(q.check)))
			io.stdout:flush()
			if q.expected == 9 then
				repeat core.sleep(0.05) until core.stat "go"
			end
			local comm = { comm_id = "c0ffee0000000000", state = "committed",
				fence = 99, ranks = 4, sites = 2 }
			local reply = { ok = true, n = 7, digest = ("ab"):rep(32),
				comms = core.array { comm } }
			if q.expected == 3 and not q.line:find "if_generation" then
				local east = { site = "east", text = "is behind" }
				reply = { ok = false, error = "stale", sites = core.array { east },
					text = "generation 4 is in use" }
			end
			if q.expected ~= 8 then
				local id = e.key:match "[^/]+$"
				local puts = { { put = "/ncclbpf/1-data/train/reply/" .. id,
					value = core.encode(reply) } }
				if q.audit then
					q.outcome = reply.ok and "committed as generation 7"
						or "refused: " .. reply.text
					puts[2] = { put = "/ncclbpf/1-data/train/audit/" .. q.audit,
						value = core.encode(q) }
				end
				f:txn { success = puts }
			end
		end
	end
end
END
lua_run coordinator.lua "$plain" >coordinator.out 2>&1 &
jobs="$jobs $!"
await grep -q ready coordinator.out
P=$B/policies/size_aware.policy
status 0 "a policy for all sites" --fleet "$plain" -o tsv policy use "$P"
has "the coordinator's reply is shown" out "c0ffee0000000000	committed	99	4"
has "the coordinator got the line, the image by digest and an audit entry" coordinator.out \
	"policy use size_aware images=true lease=true audits=1 check=nil"
status 0 "-n asks the coordinator, too" --fleet "$plain" -n policy use "$P"
has "a dry run is no change, so there is no entry of it" coordinator.out \
	"policy use size_aware images=true lease=true audits=1 check=true"
fails 2 stale "a refusal" --fleet "$plain" policy use "$P" if_generation=3
run --fleet "$plain" -o tsv audit
[ "$(grep -c 'policy use size_aware' out)" -eq 2 ] && grep -q 'committed as generation 7' out &&
	grep -q 'refused: generation 4 is in use' out
ok "audit has both, and what came of them" $?
run --fleet "$plain" -o tsv audit count=1
! grep -q committed out && grep -q refused out
ok "audit count=1 has the last" $?
asked() { [ "$(wc -l <coordinator.out)" -gt "$1" ]; }
before=$(wc -l <coordinator.out)
"$S" --fleet "$plain" policy use "$P" if_generation=9 >out 2>err </dev/null &
shell=$!
await asked "$before"
kill -INT $shell
taken() { ! grep -q '^\(Shd\|Sig\)Pnd:.*[2367abef]$' "/proc/$shell/status"; } # SIGINT is bit 1
await taken
touch go
wait $shell
[ $? -eq 130 ]
ok "Ctrl-C while the sites change waits for the outcome" $?
has "and it is told" err "generation 7 was committed before Ctrl-C"
[ -z "$("$etcd" ctl plain get --prefix --keys-only /ncclbpf/1/train/request/)" ] &&
	[ -z "$("$etcd" ctl plain get --prefix --keys-only /ncclbpf/1-data/train/reply/)" ]
ok "no request and no reply stays in the store" $?
status 64 "audit of a job of this host" -S "$(ls "$T"/west/train.0.*.sock)" audit

# The desired state
status 0 "job set stores it for a job that does not run" \
	--fleet "$plain" -o table job set later "$P" "$B/policies/force.policy"
has "it says that no such job runs" out "no job of this name runs now"
run --fleet "$plain" -o table job set trian none
has "a mistyped name is noticed" out "no job of this name runs now (nearest: train)"
run --fleet "$plain" job clear trian
status 0 "a job that nobody has set" --fleet "$plain" -o table job clear trail
has "had nothing to clear" out "job trail had no desired state"
run --fleet "$plain" list
! grep -q trail out
ok "and leaves no trace in the store" $?
status 0 "job show" --fleet "$plain" -o tsv job show later
has "policies in their order" out "1	size_aware" "2	force"
"$etcd" ctl plain get --print-value-only \
	"/ncclbpf/1-data/later/image/$(sha256sum <"$P" | cut -c1-64)" |
	head -c "$(stat -c %s "$P")" | cmp - "$P"
ok "the image is in the store, under its digest" $?
cp "$P" "$B/policies/force.policy" .
echo '{"job": "later", "policies": ["size_aware.policy", "force.policy"]}' >later.json
status 0 "job diff: the file says the same" --fleet "$plain" job diff "$T/later.json"
echo '{"job": "later", "policies": ["force.policy"]}' >later.json
status 1 "job diff: it differs" --fleet "$plain" job diff "$T/later.json"
has "job diff names what" out "- 1 size_aware" "+ 1 force" "- 2 force"
status 0 "job apply" --fleet "$plain" -o tsv job apply "$T/later.json"
status 0 "job diff: applied" --fleet "$plain" job diff "$T/later.json"
echo '{"job": "later", "polices": []}' >later.json
status 65 "job apply: a field that is none" --fleet "$plain" job apply "$T/later.json"
status 0 "job clear" --fleet "$plain" job clear later
status 0 "job show: cleared" --fleet "$plain" -o table job show later
has "job show: nothing is there" out "no desired state"
status 64 "job set without a store" job set later "$P"

# A site whose agent is stopped
halt $agent && pids=$(pgrep -P $agent) && halt $pids
# the other one answers within that time, if not on a loaded machine at once
hangs() {
	run --fleet "$plain" -T 2 -o wide status
	grep -q "site east" err && [ "$rc" -ne 0 ] && grep -q "west\|rank" out
}
await hangs
ok "a site whose agent hangs is named, the other one shown" $?
! grep -Eq '[0-9a-f]{32}' err && grep -q '/…/v1/' err
ok "and its secret path is not shown" $?
kill -CONT $pids $agent
# A site whose agent was killed, without a word to the store
kill -KILL $pids
dead() { ! kill -0 $pids 2>/dev/null; }
await dead
run --fleet "$plain" -o wide status
{ grep -q "site east" err && [ "$rc" -ne 0 ]; }
ok "a site whose agent was killed is named" $?
has "the hint says what to start, and where" err "start ncclbpf-agent again on host"

# Rights by certificate
a=$T/tls
site north 0 "$secure" "$a/ca.pem" "$a/agent.pem" "$a/agent.key"
grep -q '^https://' north.agent
ok "an agent with a certificate serves HTTPS" $?
as() { # CERTIFICATE ARGS...
	cert=$1
	shift
	NCCLBPF_FLEET_CACERT=$a/ca.pem NCCLBPF_FLEET_CERT=$a/$cert.pem \
		NCCLBPF_FLEET_KEY=$a/$cert.key run --fleet "$secure" "$@"
}
two() { as ncclbpf-observe -o tsv status && [ "$(grep -c '^north' out)" -eq 2 ]; }
await two
ok "observe: may look" $?
as ncclbpf-observe -o json policy time on
[ "$rc" -eq 77 ] && grep -q '"code":"not_permitted"' out
ok "observe: may not control" $?
as ncclbpf-control policy time on
ok "control: may control" "$rc"
as client -o json status
[ "$rc" -eq 77 ] && grep -q '"code":"not_permitted"' out
ok "a certificate without a role may not even look" $?
as stranger list
[ "$rc" -ne 0 ]
ok "a certificate of another authority is refused by the store" $?
address=$(cat north.agent)
for c in stranger expired; do
	curl -s --cacert "$a/ca.pem" --cert "$a/$c.pem" \
		--key "$a/$c.key" "$address/v1/processes" >answer 2>&1
	{ [ $? -ne 0 ] || grep -q not_permitted answer; } && ! grep -q '"processes":' answer
	ok "a certificate that is of $c is refused by the agent" $?
done
curl -s --cacert "$a/ca.pem" "$address/v1/processes" >answer 2>&1
! grep -q '"processes":' answer
ok "no certificate: refused by the agent" $?
for line in 'nonsense' '' 'status' '@1 status\nmore'; do
	# shellcheck disable=SC2059
	printf "$line" |
		curl -s --data-binary @- --cacert "$a/ca.pem" --cert "$a/ncclbpf-observe.pem" \
		--key "$a/ncclbpf-observe.key" "$address/v1/line?pid=1" >answer 2>&1
	grep -q '"ok":false' answer
	ok "the agent refuses the body '$line'" $?
done
messages
