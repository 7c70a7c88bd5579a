#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# A store that refuses the agents, and a job that goes on: the store's quota is
# used up, an agent's certificate has expired or is of another authority, and a
# second agent is started for a site.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "a store that refuses"
enter_store
"$etcd" start "$T/etcd" members=1 tls quota=4194304
ok "a store of 4 MiB" $?
NCCLBPF_FLEET=$(cat etcd/endpoints)
NCCLBPF_FLEET_CACERT=$T/etcd/ca.pem
export NCCLBPF_FLEET NCCLBPF_FLEET_CACERT
# start JOB CERTIFICATE: two ranks of one site
start() {
	mkdir -m 700 "$T/$1"
	NCCLBPF_FLEET_CERT=$T/etcd/$2.pem NCCLBPF_FLEET_KEY=$T/etcd/$2.key \
		NCCLBPF_AGENT_LISTEN=127.0.0.1 "$agents" "$1" "$T/$1" >>"$1.agents" 2>&1 &
	jobs="$jobs $!"
	NCCLBPF_JOB=$1 NCCLBPF_SOCKET_DIR=$T/$1 \
		NCCL_TUNER_PLUGIN=$B/libncclbpf.so timeout 0 "$B/test/fakes/host/standin" \
		--ranks 2 --procs --min 4M --max 32M --seconds inf --pause-ms 5 >"$1.log" 2>&1 &
	job=$! jobs="$jobs $!"
}
fleet() {
	NCCLBPF_FLEET_CERT=$T/etcd/ncclbpf-control.pem \
		NCCLBPF_FLEET_KEY=$T/etcd/ncclbpf-control.key \
		run --fleet "$NCCLBPF_FLEET" -J full -o tsv "$@"
}
decisions() { # of both ranks
	fleet status
	awk -F '\t' '
		NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		{ n += $h["decisions"] }
		END { print n + 0 }
	' out
}

# ---- certificates ----
start expired expired
expired=$job
start stranger stranger
stranger=$job
start full agent
full=$job
for name in expired stranger; do
	await grep -q 'ncclbpf-agent: store: ' $name.agents
	ok "$name: the log says that the store does not accept the agent's certificate" $?
done

# ---- a second agent ----
site() { [ "$(ctl get --prefix --keys-only /ncclbpf/1/full/site/ | grep -c site)" -eq 1 ]; }
await site
before=$(ctl get --prefix --keys-only /ncclbpf/1/full/site/)
NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key \
	NCCLBPF_AGENT_LISTEN=127.0.0.1 \
	"$B/ncclbpf-agent" --job full --dir "$T/full" >second.log 2>&1 &
second=$! jobs="$jobs $!"
await test -s second.log
first=$(sed -n 's/.* PID \([0-9]*\) .*/\1/p' second.log)
[ "$first" -ne "$second" ] && [ "$(cat "/proc/$first/comm")" = ncclbpf-agent ]
ok "a second agent of a site names the first, for which it waits" $?
# it sleeps between two tries
slept() { awk '/^voluntary/ { print $2 }' "/proc/$second/status"; }
before_tries=$(slept)
tried() { [ "$(slept)" -gt $((before_tries + 2)) ]; }
await tried
kill "$second"
wait "$second"
[ "$(wc -l <second.log)" -eq 1 ]
ok "it says so once, not at each try" $?
[ "$(ctl get --prefix --keys-only /ncclbpf/1/full/site/)" = "$before" ]
ok "and changes nothing" $?
fleet policy use "$B/policies/size_aware.policy"
ok "the first goes on" "$rc"

# ---- the certificates: the agents have tried again meanwhile ----
kill "$expired" "$stranger"
wait "$expired" && wait "$stranger"
ok "jobs run whose agents have a certificate that is not accepted" $?
for name in expired stranger; do
	cp $name.agents why
	[ "$(wc -l <$name.agents)" -le 12 ]
	ok "$name: the log says it once, not at each try" $?
done
[ "$(ctl get --prefix --keys-only /ncclbpf/1/ | grep -c '^/ncclbpf/1/[es][xt]')" -eq 0 ]
ok "nothing of them is in the store" $?

# ---- a request that is too large for its copies ----
{
	printf '{"line":"'
	head -c 1100000 /dev/zero | tr '\0' l
	printf '"}'
} >large
ctl put /ncclbpf/1/full/request/large <large >/dev/null
refused() { ctl get /ncclbpf/1-data/full/reply/large | grep -q 'the request has 1100011 bytes'; }
await refused
ok "a request of more than 256 KiB is refused" $?
[ -z "$(ctl get --keys-only /ncclbpf/1/full/request/large)" ]
ok "and is gone" $?
fleet policy use "$B/policies/size_aware.policy"
ok "the next one is carried out" "$rc"

# ---- the quota ----
head -c 1000000 /dev/urandom >big
n=0
while ctl put "/other/$n" <big >/dev/null 2>&1 && [ $n -lt 20 ]; do n=$((n + 1)); done
[ $n -lt 20 ]
ok "the store is full" $?
fleet policy use none
[ "$rc" -ne 0 ]
ok "a change is refused" $?
has "and says why" err "database space exceeded"
made=$(decisions)
more() { [ "$(decisions)" -gt "$made" ]; }
await more
ok "the job goes on, and commands that read answer" $?
ctl del --prefix /other/ >/dev/null
revision=$(ctl get -w fields /x | sed -n 's/^"Revision" : //p')
ctl compact "$revision" >/dev/null && ctl defrag >/dev/null && ctl alarm disarm >/dev/null
again() { fleet policy use none && [ "$rc" -eq 0 ]; }
await again
ok "changes are made again once there is room" $?
kill "$full"
wait "$full"
[ $? -ne 3 ]
ok "no two ranks have decided differently" $?
