#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd,etcdctl
# A store that goes back: etcd is restored from a snapshot while the agents of a job on two sites
# live, and one of them begins anew. All ranks keep the generation that they have agreed on, the
# sites write the lost outcome again, and the next change is committed. An armed fence that the
# store has lost, and of which no site knows an outcome, is rolled back.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "a restored store"
enter_store
fleet_of restore
mkdir -m 700 a b
agent() { # SITE
	NCCLBPF_AGENT_LISTEN=127.0.0.1 "$B/ncclbpf-agent" --job restore --dir "$T/$1" \
		>>"agent.$1" 2>&1 &
	eval "agent_$1=$!"
	jobs="$jobs $!"
}
jobs=
agent a
agent b
ranks=
for r in 0 1; do
	[ $r -eq 0 ] && s=a || s=b
	NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/$s" \
		"$B/test/fakes/host/standin" --ranks 2 --nodes 2 --rank $r --meet "$T/meet" \
		--min 4M --max 32M --seconds inf --pause-ms 5 >"log.$r" 2>&1 &
	ranks="$ranks $!"
done
jobs="$jobs $ranks"
await registered
need "two sites have ranks of one communicator" $?
change() {
	run -o tsv policy use "$B/policies/$1.policy"
	[ "$rc" -eq 0 ] && grep -q 'committed' out
}
record() { ctl get --prefix --print-value-only $keys/order/record/; }
snapshot() {
	rm -f snapshot
	ctl snapshot save snapshot >/dev/null
}
# restore: the store has the snapshot's state and revision, and the same cluster and member ids
restore() {
	"$etcd" kill "$T/etcd" 1
	rm -rf etcd/data.1
	word() { sed -n "s/.*--$1 \([^ ]*\).*/\1/p" etcd/command.1; }
	ETCDCTL_API=3 etcdctl snapshot restore snapshot --name m1 --data-dir etcd/data.1 \
		--initial-cluster "$(word initial-cluster)" \
		--initial-advertise-peer-urls "$(word initial-advertise-peer-urls)" \
		>/dev/null 2>>said
	"$etcd" restart "$T/etcd" 1
}
revision() { ctl get -w fields $keys/ | sed -n 's/^"Revision" : //p'; }

change size_aware && await generations "$(commit_n)"
ok "a first change" $?
snapshot
ok "a snapshot" $?
first=$(record)
# the restored store must not catch up at once with the revisions that the agents know
pad() { for i in $(seq "$1"); do ctl put $keys/x "$i" >/dev/null; done; }
pad 40
change nvlink_ring_mid && now=$(commit_n) && await generations "$now"
ok "a second change" $?
second=$(record)
[ "$first" != "$second" ]
ok "has another record" $?
before=$(revision)
# the agent of site b begins anew after the restore, and so reads the store's older record
kill -KILL $agent_b
restore
ok "the store is restored" $?
agent b
said() { grep -q "the store has gone back from revision" agent.a agent.b; }
await said
ok "an agent says that the store has gone back" $?
both() { grep -q "has its record again" agent.a && grep -q "has its record again" agent.b; }
await both
ok "both sites say that it has its record again" $?
digest=$(echo "$second" | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')
again() { record | grep -q "\"digest\":\"$digest"; }
await again
ok "which they have written" $?
await generations "$now"
ok "both ranks keep the second change" $?
cat agent.a agent.b log.0 log.1 >why
told() { run doctor; grep -q "the store has gone back from revision" out; }
await told
ok "doctor says so" $?
# status has one notice, and ranks that have not registered again come first
status_told() { run -o table status; grep -q "the store has gone back from revision" out; }
await status_told
ok "so does status" $?
change cheap_ring && [ "$(commit_n)" -gt "$now" ]
ok "the next change is committed, with a number of its own" $?
await generations "$(commit_n)"
ok "by both ranks" $?
run check agreement
ok "the ranks agree" "$rc"
[ "$(revision)" -gt 0 ] && echo "# revisions: $before, then $(revision)"

# A site that was away while the restored store went on, beyond the revision that it knew.
snapshot
change size_aware && await generations "$(commit_n)"
ok "another change" $?
now=$(commit_n)
halt $agent_a $agent_b
restore
# the restored store makes as many revisions as it has lost, and more
pad 60
kill -CONT $agent_a $agent_b
# each agent compares its own keys with the store, and the sites' copies count
mended() { generations "$now" && record | grep -q '"over"'; }
await mended
ok "a store that has caught up with its former revision gets the record, too" $?
change nvlink_ring_mid && await generations "$(commit_n)"
ok "and commits the next one" $?
run check agreement
ok "the ranks agree" "$rc"

# The store goes back while a fence is armed. Another writer arms it, so no coordinator decides it.
comm=$(ctl get --prefix --keys-only $keys/order/record/ | grep .)
field() { echo "$base" | sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p"; }
copied() {
	[ "$(ctl get --prefix --print-value-only $keys/answer/ | grep -c "\"id\":$id[,}]")" -eq 2 ]
}
# arm: both sites have copied an armed record, and their agents have ended before it had an outcome
arm() {
	run -o tsv comm list
	fence=$(($(column decisions | sort -n | tail -n 1) + 300))
	base=$(record)
	id=$((id + 1))
	word="\"n\":$(field n),\"digest\":\"$(field digest)\""
	back="{\"state\":\"commit\",$word,\"fence\":$(field fence)}"
	links="\"id\":$id,\"was\":$(field id),\"back\":$back"
	ctl put "$comm" "{\"state\":\"armed\",$word,\"fence\":$fence,$links}" >/dev/null
	await copied
	kill -KILL $agent_a $agent_b
	record | grep -q '"armed"'
}
id=700 tries=0
snapshot
pad 40
# on a slow machine the ranks may reach the fence too early, and their agents roll it back
until arm || [ $((tries += 1)) -ge 5 ]; do
	agent a
	agent b
	await generations "$(commit_n)"
done
[ $tries -lt 5 ]
ok "the agents end while a fence is armed" $?
restore
agent a
agent b
passed() {
	run -o tsv comm list
	[ "$(column decisions | awk -v fence="$fence" '$1 > fence' | grep -c .)" -eq 2 ] &&
		! record | grep -q '"armed"'
}
await passed
ok "all sites say that they know no outcome, and the ranks pass the fence" $?
await change cheap_ring && await generations "$(commit_n)"
ok "a further change is committed" $?
run check agreement
ok "the ranks agree" "$rc"
kill $ranks
wait $ranks
ok "no two ranks have decided differently" $?
