#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600  needs: etcd
# A job ends and restarts on two sites whose agents, which are services, live on. Its
# communicator has the same identity. The agents were stopped meanwhile, so they never saw
# it away. The new one begins with NCCL's own choice, registers anew, and can be changed.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "a job that restarts"
enter_store
fleet_of again
mkdir -m 700 a b
agents=
for s in a b; do
	AGENT_TIMES=lease=600000,leave=10000 NCCLBPF_AGENT_LISTEN=127.0.0.1 \
		"$B/ncclbpf-agent" --job again --dir "$T/$s" >>log.agents 2>&1 &
	agents="$agents $!"
done
jobs=$agents

ranks() { # N: the job's two ranks, one on each site, in its run N
	pids=
	for r in 0 1; do
		[ $r -eq 0 ] && s=a || s=b
		NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/$s" \
			"$B/test/fakes/host/standin" --ranks 2 --nodes 2 --rank $r \
			--meet "$T/meet.$1" --min 4M --max 32M --seconds inf \
			--pause-ms 5 >"log.$1.$r" 2>&1 &
		pids="$pids $!"
	done
	jobs="$agents $pids"
}
# since R: both sites have registered the communicator after revision R of the store
since() {
	ctl get --prefix --print-value-only $keys/site/ | sed -n 's/.*],"since":\([0-9]*\).*/\1/p' |
		awk -v after="$1" '$1 > after { n++ } END { exit n != 2 }'
}
revision() { ctl get -w fields $keys/ | sed -n 's/^"Revision" : //p'; }

ranks 1
await since 0
ok "two sites have ranks of one communicator" $?
status 0 "a change of both sites" policy use "$B/policies/size_aware.policy"
await generations "$(commit_n)"
ok "both ranks have it" $?
before=$(revision)
halt $agents
kill $pids
wait $pids
ok "the ranks end, and have decided alike" $?
ranks 2
begun() { # on each site the new communicator has decided
	for s in a b; do
		NCCLBPF_FLEET= NCCLBPF_SOCKET_DIR=$T/$s run -J again -o json comm list
		grep -q '"decisions":[1-9]' out || return
	done
}
await begun
first=0
for s in a b; do
	NCCLBPF_FLEET='' NCCLBPF_SOCKET_DIR=$T/$s run -J again -o tsv comm list
	[ "$(column generation)" = 0 ] || first=1
done
ok "the new communicator begins with NCCL's own choice" $first
kill -CONT $agents
await since "$before"
ok "it is registered, not taken for the first one" $?
# The coordinator gives it the job's policies, sooner or later: another one, then.
status 0 "it can be changed" -o tsv policy use "$B/policies/noop.policy"
await generations "$(awk -F '\t' 'END { print $6 }' out)"
ok "both ranks have the new change" $?
run check agreement
ok "the ranks agree" "$rc"
kill $pids
wait $pids
ok "no two ranks have decided differently" $?

# Each time its job ends, an agent that is a service says so to the store
gone() { [ "$(ctl get --prefix --keys-only $keys/ended/ | grep -c ended)" -eq 2 ]; }
await gone
ok "both sites have ended, in the second run, too" $?
before=$(revision)
ranks 3
await since "$before"
sites() { [ "$(ctl get --prefix --keys-only $keys/site/ | grep -c site)" -eq "$1" ]; }
await sites 2
before=$(revision)
kill $pids
wait $pids
anew() {
	[ "$(ctl get -w json --prefix $keys/ended/ | grep -o '"mod_revision":[0-9]*' | cut -d: -f2 |
		awk -v after="$before" '$1 > after' | grep -c .)" -eq 2 ]
}
await anew
ok "and in the third" $?

ranks 4
await sites 2
kill -KILL $agents
killed() { run -o tsv list && [ "$(grep -c 'does not answer' out)" -eq 2 ]; }
await killed
ok "list says that killed agents do not answer" $?
run -o table list
has "and why" out "does not answer" "Failed to connect"
kill $pids
