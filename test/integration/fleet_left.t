#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# The processes of one of two sites end while the other site still has the
# communicator. If the agent saw that, changes go on, and say why the communicator
# does not move. If nobody saw it, a change is refused: the ranks may run on.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "a site that has left"
enter_store
fleet_of left
AGENT_TIMES=lease=600000,leave=10000 serve left a b

# rank N DIR: one rank of a job of two, alone on its site
rank() {
	NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/$2" \
		"$B/test/fakes/host/standin" --ranks 2 --nodes 2 --rank "$1" --meet "$T/meet" \
		--min 4M --max 32M --seconds inf --pause-ms 5 >"log.$1" 2>&1 &
	pid=$!
	jobs="$jobs $pid"
}
both() {
	rm -f meet
	ctl del --prefix $keys/members/ >/dev/null
	rank 0 a
	first=$pid
	rank 1 b
	second=$pid
	await members && await registered
}
members() { ctl get --prefix --print-value-only $keys/members/ | grep -q '"sites":\[".*",".*"\]'; }
sites() { [ "$(ctl get --prefix --keys-only $keys/site/ | grep -c site)" -eq "$1" ]; }
ended() { [ "$(ctl get --prefix --keys-only $keys/ended/ | grep -c ended)" -eq "$1" ]; }
agent_of() { # DIR: the PID of the site's agent
	LC_ALL=C grep -la "^ncclbpf-agent.*$T/$1" /proc/[0-9]*/cmdline 2>/dev/null |
		tr -dc '0-9\n'
}
both
ok "two sites have ranks of one communicator" $?
status 0 "a change of both sites" policy use "$B/policies/size_aware.policy"
agent=$(agent_of b)
[ -n "$agent" ]
ok "site b has an agent" $?
lose "$second" "$agent"
end_lease b left && await sites 1
ok "agent and rank of site b are killed at once, and the agent's lease ends" $?
run status
[ "$rc" -ne 0 ] && grep -q size_aware out &&
	grep -q "site .* has ranks of communicator .*, and its agent's lease has ended" err
ok "status shows the other site, and fails for the lost one" $?
run policy use none
[ "$rc" -ne 0 ] &&
	grep -q "site .* has ranks of communicator .*, and its agent's lease has ended" err
ok "a change is refused: nobody has seen that the ranks ended" $?
kill -KILL "$first"
await sites 0
ended 1
ok "the store says of site a alone that its processes have ended" $?

both
ok "the job runs again" $?
# A site of the first run may have had the name of site b, if the segment has its inode now.
ctl del --prefix $keys/ended/ >/dev/null
status 0 "a change of both sites again" policy use "$B/policies/size_aware.policy"
kill -KILL "$second"
await sites 1
ok "site b has ended, and its agent says so" $?
status 2 "site a is not refused, but its one communicator does not change" policy use none
run policy use "$B/policies/force.policy"
[ "$rc" -eq 2 ] &&
	grep -q "1 of 2 ranks are left: site .* has ended or destroyed the communicator" out err
ok "the change says why the communicator does not move" $?
ended 1
ok "and the store says of site b that its processes have ended" $?
