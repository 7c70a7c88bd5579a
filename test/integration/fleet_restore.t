#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd,etcdctl
# A store that goes back: etcd is restored from a snapshot while the agents of a job on two sites
# live, and one of them begins anew. All ranks keep the generation that they have agreed on, the
# store's records are made anew, and the next change is committed. A fence that was armed when the
# snapshot was taken has one outcome.
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
n() { ctl get --print-value-only $keys/order/commit | sed -n 's/.*"n":\([0-9]*\).*/\1/p'; }
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

change size_aware && await generations 1
ok "a first change" $?
snapshot
ok "a snapshot" $?
first=$(record)
# the restored store must not catch up at once with the revisions that the agents know
pad() { for i in $(seq "$1"); do ctl put $keys/x "$i" >/dev/null; done; }
pad 40
change nvlink_ring_mid && await generations 2
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
lost() { grep -q "the store lost the record that this site has copied" agent.a agent.b; }
await lost
ok "the record is a lost one" $?
digest=$(echo "$second" | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')
again() { record | grep -q "\"digest\":\"$digest"; }
await again
ok "and is made anew of the sites' copies" $?
await generations 2
ok "both ranks keep the second change" $?
cat agent.a agent.b log.0 log.1 >why
number() { [ "$(n)" = 2 ]; }
await number
ok "the store has the number of the last change again" $?
told() { run doctor; grep -q "the store has gone back from revision" out; }
await told
ok "doctor says so" $?
# status has one notice, and ranks that have not registered again come first
status_told() { run -o table status; grep -q "the store has gone back from revision" out; }
await status_told
ok "so does status" $?
change cheap_ring
ok "the next change is committed" $?
await generations "$(n)"
ok "by both ranks" $?
run check agreement
ok "the ranks agree" "$rc"
[ "$(revision)" -gt 0 ] && echo "# revisions: $before, then $(revision)"

# A site that was away while the restored store went on, beyond the revision that it knew.
snapshot
change size_aware && await generations "$(n)"
ok "another change" $?
now=$(n)
halt $agent_a $agent_b
restore
# the restored store makes as many revisions as it has lost, and more
pad 60
kill -CONT $agent_a $agent_b
# each agent compares its own keys with the store, and the sites' copies count
mended() { generations "$now" && record | grep -q '"from"'; }
await mended
ok "a store that has caught up with its former revision has lost the record, too" $?
number() { [ "$(n)" = "$now" ]; }
await number
ok "and the change" $?
change nvlink_ring_mid && await generations "$(n)"
ok "and commits the next one" $?
run check agreement
ok "the ranks agree" "$rc"
kill $ranks
wait $ranks
ok "no two ranks have decided differently" $?
