#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# The store of a job on two sites goes away for a second or two and comes back
# with the same data, three times: the first change asked for afterwards is
# committed, each time, and agents' logs stay short. An agent's write that failed
# meanwhile is tried again.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "a change after an outage"
enter_store
store_of outage
policy=$B/policies/size_aware.policy
digest=$(sha256sum <"$policy" | cut -c1-64)
ask() { ctl put "$keys/request/$1" "{\"line\":\"$2\",\"images\":[$3]}" >/dev/null; }
# change ID none|size_aware: is the first answer a commit? A request of late ranks or a late site is
# made again, with another ID.
change() {
	image= id=$1
	[ "$2" = none ] || image="{\"name\":\"$2\",\"digest\":\"$digest\"}"
	while :; do
		: >reply
		await ask "$id" "policy use $2" "$image" && await answered "$id" || break
		is_late reply && [ ${#id} -lt 60 ] || break
		id=$id.again
	done
	grep -q '"ok":true' reply && grep -q '"state":"committed"' reply
	changed=$?
	cat reply log log.agents agent.a agent.b said >why 2>/dev/null
	return $changed
}

for s in a b; do
	mkdir -m 700 $s
	NCCLBPF_FLEET=$fleet "$agents" outage "$T/$s" >>agent.$s 2>&1 &
	jobs="$jobs $!"
done
env NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=outage NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCLBPF_SOCKET_DIR="$T/a" timeout 0 "$B/test/fakes/host/standin" --ranks 4 --nodes 2 \
	--procs --min 4M --max 32M --seconds inf --pause-ms 5 \
	--rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" --rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
jobs="$jobs $!"
await registered && ctl put "$data/image/$digest" <"$policy" >/dev/null && change before size_aware
ok "a change is committed before the store goes away" $?
# both PATTERN: true if the agents of both sites have logged PATTERN in this outage
both() { grep -q "$1" agent.a && grep -q "$1" agent.b; }
for i in 1 2 3; do
	[ $((i % 2)) -eq 1 ] && use=none || use=size_aware
	for s in a b; do cat agent.$s >>log.agents && : >agent.$s; done
	"$etcd" kill "$T/etcd" 1
	await both 'ncclbpf-agent: store: '
	"$etcd" restart "$T/etcd" 1
	began=$(date +%s%N)
	change "after$i" $use
	ok "after outage $i the first change is committed" $?
	await both 'the store answers again'
	echo "# $((($(date +%s%N) - began) / 1000000)) ms"
done
# Each agent: what failed first, perhaps other kinds of failures, and the end.
cat agent.a agent.b >>log.agents
[ "$(grep -c 'ncclbpf-agent: store: ' log.agents)" -le 30 ]
logged=$?
cp log.agents why
ok "the agents log an outage in a few lines" $logged

# An order may bring small images, which the store then need not have.
small=$B/policies/cheap_ring.policy
other=$(sha256sum <"$small" | cut -c1-64)
brings() { # ID BASE64
	images="[{\"name\":\"cheap_ring\",\"digest\":\"$other\"}]"
	order="\"line\":\"policy use cheap_ring\",\"images\":$images"
	id=$1
	while :; do
		ctl put "$keys/request/$id" "{$order,\"inline\":{\"$other\":\"$2\"}}" >/dev/null
		: >reply
		await answered "$id" || return
		is_late reply && [ ${#id} -lt 60 ] || break
		id=$id.again
	done
}
brings wrong "$(base64 -w 0 <"$policy")" && grep -q '"ok":false' reply &&
	grep -q "the store has no image" reply
ok "bytes of another digest are not the image" $?
brings right "$(base64 -w 0 <"$small")" && grep -q '"ok":true' reply &&
	grep -q '"state":"committed"' reply
ok "an image that comes with the order is used" $?
cp reply why
[ -z "$(ctl get --prefix "$data/image/$other")" ] &&
	! ctl get --print-value-only "$keys/order/commit" | grep -q inline
ok "the store keeps neither the image nor its bytes in the order to commit" $?

# A store that has lost its data: the sites register again, one of them writes the communicator's
# record again, and a change moves it.
"$etcd" kill "$T/etcd" 1
rm -rf etcd/data.1
"$etcd" restart "$T/etcd" 1
await registered
need "both sites register in a store that has lost its data" $?
begun=$(date +%s)
ctl put "$data/image/$digest" <"$policy" >/dev/null
anew() { ctl get --prefix --print-value-only $keys/order/record/ | grep -q '"over"'; }
await anew
ok "the record is written again" $?
change lost size_aware
ok "and a change is committed" $?
echo "# $(($(date +%s) - begun)) s"
told() { run --fleet "$fleet" -J outage doctor; grep -q "the store has gone back" out err; }
await told
ok "doctor says what has happened" $?
