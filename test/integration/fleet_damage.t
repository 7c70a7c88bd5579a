#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# Another writer damages keys of a running job of two sites: the agents write them
# again, those that were deleted, too, the next change is committed, and a communicator's
# record that is damaged or deleted is written again by a site. A second job of the same
# name, with communicators of the same identity, is told apart from the first.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "damaged keys"
enter_store
store_of damage
NCCLBPF_FLEET=$fleet serve damage a b c d
# start RANKS DIRECTORY...: a job with a rank in each directory
start() {
	ranks=$#
	set -- "$@" --
	r=0
	while [ "$1" != -- ]; do
		set -- "$@" --rank-env "$r:NCCLBPF_SOCKET_DIR=$T/$1"
		shift
		r=$((r + 1))
	done
	shift
	NCCLBPF_FLEET=$fleet NCCLBPF_JOB=damage NCCL_TUNER_PLUGIN=$B/libncclbpf.so \
		timeout 0 "$B/test/fakes/host/standin" --ranks $ranks --nodes $ranks --procs \
		--min 4M --max 32M --seconds inf --pause-ms 5 "$@" >>log 2>&1 &
	job=$! jobs="$jobs $!"
}
start a b
first=$job
has_members() { ctl get --prefix --print-value-only $keys/members/ | grep -q '"sites"'; }
await registered 2 && await has_members
ok "two sites run the job" $?
# change POLICY: is it committed by the communicator of both sites
change() {
	run --fleet "$fleet" -J damage -o tsv policy use "$1"
	[ "$rc" -eq 0 ] && grep -q '^c0ffee[0-9a-f]*	committed' out
}
change "$B/policies/size_aware.policy"
ok "a change" $?
list() { ctl get --prefix --keys-only "$keys/$1" | grep .; }
for key in $keys/order/coordinator $keys/order/stage $keys/order/commit $keys/order/notes \
		$keys/order/drop $keys/request/x $data/reply/x $data/audit/x $data/image/x \
		$keys/desired $(list members/) $(list site/) $(list answer/); do
	ctl put "$key" "no JSON $key" >/dev/null
done
mended() { ! ctl get --prefix --print-value-only $keys/site/ | grep -q '^no' && registered 2; }
await mended
ok "the agents write the keys of their sites again" $?
await has_members
ok "the coordinator writes again which sites a communicator has" $?
ctl del $keys/desired >/dev/null
change "$B/policies/nvlink_ring_mid.policy"
ok "the next change is committed" $?
# Requests that no shell writes: names that are none, a text cut within a character
ctl put "$keys/request/$(printf '%0200d' 0)" '{"line":"policy use none","images":[]}' >/dev/null
ctl put "$keys/request/" '{"line":"policy use none","images":[]}' >/dev/null
maker=$(printf '%0198d' 0)é
ctl put "$keys/request/cut" \
	"{\"line\":\"policy use none\",\"images\":[],\"maker\":{\"text\":\"$maker\"}}" >/dev/null
replied() { ctl get --print-value-only "$data/reply/cut" | grep -q '"ok":true'; }
await replied
ok "a request whose maker is too long is carried out" $?
was=$(commit_n)
change "$B/policies/cheap_ring.policy"
ok "requests with impossible names do not hold up the next one" $?
[ "$(commit_n)" -eq $((was + 1 + refused)) ]
ok "and are not carried out" $?

# ---- two jobs of one name on different hosts; their communicators have the same identity ----
made() { ctl get -w fields --prefix $keys/order/record/ | sed -n 's/^"CreateRevision" : //p'; }
record=$(made)
start c d
await registered 4
need "a second job of this name registers" $?
run --fleet "$fleet" -J damage -o tsv list
[ "$(grep -c '^damage	' out)" -eq 4 ]
ok "list shows its sites" $?
noted() { ctl get --print-value-only $keys/order/notes | grep -q "4 sites report 4 ranks of 2"; }
await noted
ok "both communicators are left alone, with the reason" $?
run --fleet "$fleet" -J damage -o tsv policy use "$B/policies/size_aware.policy"
[ "$rc" -eq 2 ] && grep -q '^c0ffee[0-9a-f]*	unchangeable	' out &&
	! grep -q '^c0ffee[0-9a-f]*	committed' out
ok "a change moves neither of them" $?
kill "$job"
wait "$job" 2>/dev/null
[ $? -ne 3 ]
ok "its ranks have decided alike" $?
two_sites() { ctl get --prefix --keys-only $keys/site/ | grep -c . | grep -qx 2; }
await two_sites
ok "it goes with its processes" $?
change "$B/policies/force.policy"
ok "the first job's communicator moves again" $?
[ "$record" ] && [ "$(made)" = "$record" ]
ok "its record is still the first one" $?

# ---- the record ----
anew() { ctl get --prefix --print-value-only $keys/order/record/ | grep -q '"over"'; }
record=$(list order/record/ | head -1)
ctl put "$record" "no JSON" >/dev/null
await anew
ok "a damaged record is written again" $?
change "$B/policies/size_aware.policy"
ok "the communicator moves again" $?
ctl del "$record" >/dev/null
await anew
ok "and so is a deleted one" $?

# ---- keys that somebody else deletes ----
here() { [ "$(list "$1" | grep -c .)" -eq 2 ]; }
for family in site/ answer/; do
	ctl del --prefix "$keys/$family" >/dev/null
	await here $family
	ok "deleted keys $family are written again" $?
done
ctl del --prefix $keys/ >/dev/null
all() { here site/ && here answer/ && anew && list order/coordinator; }
await all
ok "and all of a job" $?
run --fleet "$fleet" -J damage list
grep -q "not running" out
[ $? -ne 0 ]
ok "list shows the job" $?
changed() { change "$B/policies/cheap_ring.policy"; }
await changed
ok "a change is committed" $?
kill "$first"
wait "$first"
[ $? -ne 3 ]
ok "no two ranks have decided differently" $?
