#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# Ranks that begin after others: a rank whose first call comes after the fleet's first fence, or
# after the second change was asked for; one that registers after others have decided; and a
# process of a site that belongs to no fleet. The host ends with status 3 where ranks decided
# differently.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
R=$B/test/corpus/accept/replicated_count.bpf.o P=$B/policies/size_aware.policy
needs_store "ranks that begin late"
[ -e "$R" ] || skip_all "ranks that begin late" "the compiled policies are missing"
enter_store
store_of late
calls='--coll allgather,allreduce --min 1M --max 1M --events'

ask() { run --fleet "$fleet" -J "$this" "$@"; }
# rows WANT...: column POLICIES of the ranks in the order of their numbers
rows() {
	ask -o tsv comm list
	column policies | tr '\n' ' ' | grep -qx "$*"
}
record() { ctl get --prefix --print-value-only "$keys/order/record/" | grep -q "$1"; }
fence() {
	ctl get --prefix --print-value-only "$keys/order/record/" | grep -o '"fence":[0-9]*' |
		cut -d : -f 2
}
# The three ranks that do not wait have made their calls at the fence.
passed() {
	ask -o tsv comm list
	column decisions | awk -v f="$(fence)" '$1 > f { n++ } END { exit n != 3 }'
}

# ---- the first call comes after the fleet's fence
# The others make seven calls a second, and may be 1,900 ahead of it.

for policy in "$R" "$P"; do
	name=$(basename "$policy" | cut -d . -f 1)
	rm -f "$T/go"
	NCCLBPF_POLICY=$policy
	export NCCLBPF_POLICY
	sites_of "hold_$name" $calls --nodes 1 --nccl 2.29.7 --ahead 1900 --pause-ms 300 \
		--rank-env "3:STANDIN_HOLD=$T/go"
	unset NCCLBPF_POLICY
	await record '"state":"commit"' && await passed
	ok "$name: the fleet's first fence is passed by the ranks that make calls" $?
	# once, because `run` would ask again
	timeout $HANG "$S" -T 300 --fleet "$fleet" -J "$this" policy use none >out 2>err </dev/null
	[ $? -eq 75 ]
	ok "$name: another change waits for the rank that has made none" $?
	: >"$T/go"
	await rows "$name $name $name $name "
	ok "$name: that rank has the policy from the fence on" $?
	ask policy use none
	[ "$rc" -eq 0 ]
	ok "$name: then changes are possible" $?
	await rows '\[\] \[\] \[\] \[\] '
	stop_ranks
	ok "$name: all ranks have decided alike" $?
done

# ---- one process lacks NCCLBPF_FLEET

sites_of alone $calls --nodes 2 --nccl 2.29.7 --pause-ms 20 --rank-env 1:NCCLBPF_FLEET=
ask -o json policy use "$R"
[ "$rc" -eq 2 ] && grep -q 'NCCLBPF_FLEET of .*: set; of .*: \|NCCLBPF_FLEET of .*: not set; ' out
ok "a process without NCCLBPF_FLEET is named" $?
stop_ranks
ok "and NCCL decides on all ranks" $?

# ---- a policy that the ranks cannot use, from the start

NCCLBPF_POLICY=$R
export NCCLBPF_POLICY
sites_of start $calls --nodes 2 --nccl 2.28.9 --pause-ms 20
unset NCCLBPF_POLICY
ask -o json policy use "$R"
[ "$rc" -eq 2 ] && grep -q '"state":"unchangeable"' out
ok "ranks that count no API calls cannot change to a policy with replicated maps" $?
stop_ranks
ok "and NCCL decides on all ranks" $?

# ---- a rank that registers after others have decided, without a fleet

rm -f "$T/go"
NCCLBPF_API_CLOCK=on
export NCCLBPF_API_CLOCK
ranks_of apart $calls --nodes 4 --nccl 2.28.9 --ahead 8 --pause-ms 5 \
	--rank-env "1:STANDIN_LATE=$T/go" --rank-env 0:STANDIN_ALONE=1 \
	--rank-env 1:STANDIN_ALONE=1 --rank-env 2:STANDIN_ALONE=1 --rank-env 3:STANDIN_ALONE=1
here() { NCCLBPF_SOCKET_DIR=$T/a run -J apart "$@"; }
begun() { here -o tsv comm list; column decisions | awk '$1 > 0 { n++ } END { exit n < 3 }'; }
await begun
: >"$T/go"
all() { here -o tsv comm list; [ "$(column decisions | awk '$1 > 0' | wc -l)" -eq 4 ]; }
await all
ok "a rank registers after the others have decided" $?
rc_all=0
for _ in 1 2 3 4; do
	here policy use "$P"
	[ "$rc" -eq 0 ] || [ "$rc" -eq 2 ] || rc_all=1
	here policy use none
	[ "$rc" -eq 0 ] || [ "$rc" -eq 2 ] || rc_all=1
done
ok "changes are made, or said to be impossible" $rc_all
stop_ranks
ok "and all ranks have decided alike" $?
