#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# Sites whose wall clocks are ten years ahead and ten years behind. Without TLS
# changes are committed as ever, because leases and waits are by the store and the
# monotonic clock. With TLS the store's certificate is not valid at such a time: the
# agent's log says it, the change says which ranks are missing, and the job goes on.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "clocks that are years off"
enter_store
cat >shim.c <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include "wall_clock.h"
static time_t wall_clock_error(void)
{
	const char *off = getenv("CLOCK_OFF_S");
	return off ? atol(off) : 0;
}
END
cc -shared -fPIC -O1 -w -I"$TOP/test/integration" -o shim.so shim.c 2>/dev/null ||
	skip_all "clocks that are years off" "no compiler for the shim"
years=315360000
# agent NAME SECONDS: an agent's program with a clock that is so far off
agent() {
	printf '#!/bin/sh\nCLOCK_OFF_S=%s LD_PRELOAD=%s exec "%s" "$@"\n' \
		"$2" "$T/shim.so" "$B/ncclbpf-agent" >"$1"
	chmod 700 "$1"
}
agent ahead $years
agent behind -$years
[ "$(CLOCK_OFF_S=$years LD_PRELOAD=$T/shim.so date +%Y)" -gt $(($(date +%Y) + 8)) ] &&
	[ "$(CLOCK_OFF_S=-$years LD_PRELOAD=$T/shim.so date +%Y)" -lt $(($(date +%Y) - 8)) ]
ok "clocks that are years off" $?
# start JOB: a rank on each of three sites, a of the right time
start() {
	mkdir -m 700 "$1.a" "$1.ahead" "$1.behind"
	NCCLBPF_AGENT_LISTEN=127.0.0.1 "$agents" "$1" "$T/$1.a" AGENT="$T/ahead" "$T/$1.ahead" \
		AGENT="$T/behind" "$T/$1.behind" >>"$1.agents" 2>&1 &
	jobs="$jobs $!"
	NCCLBPF_JOB=$1 NCCL_TUNER_PLUGIN=$B/libncclbpf.so \
		timeout 0 "$B/test/fakes/host/standin" --ranks 3 --nodes 3 --procs --min 4M \
		--max 32M --seconds inf --pause-ms 5 --rank-env "0:NCCLBPF_SOCKET_DIR=$T/$1.a" \
		--rank-env "1:NCCLBPF_SOCKET_DIR=$T/$1.ahead" \
		--rank-env "1:LD_PRELOAD=$T/shim.so" \
		--rank-env "1:CLOCK_OFF_S=$years" --rank-env "2:NCCLBPF_SOCKET_DIR=$T/$1.behind" \
		--rank-env "2:LD_PRELOAD=$T/shim.so" \
		--rank-env "2:CLOCK_OFF_S=-$years" >"$1.log" 2>&1 &
	job=$! jobs="$jobs $!"
}
count() { # STORE KEYS PATTERN: the keys' values with the pattern
	"$etcd" ctl "$1" get --prefix --print-value-only "/ncclbpf/1/$2" | grep -ac -e "$3"
}

# ---- without TLS ----
store_of open
NCCLBPF_FLEET=$fleet
export NCCLBPF_FLEET
start open
await registered 3
need "three sites register" $?
# in_force N: the ranks of all three sites decide with generation N of the job
in_force() {
	run --fleet "$NCCLBPF_FLEET" -J open -o tsv comm list
	[ "$rc" -eq 0 ] && [ "$(column generation | grep -cx "$1")" -eq 3 ] &&
		[ "$(column site | sort -u | wc -l)" -eq 3 ]
}
made=0
change() { # POLICY: a change that is committed and that all ranks have taken
	run --fleet "$NCCLBPF_FLEET" -J open -o tsv policy use "$1"
	[ "$rc" -eq 0 ] && grep -q '^c0ffee[0-9a-f]*	committed' out || return
	generation=$(column generation) made=$((made + 1))
	await in_force "$generation"
}
for policy in "$B/policies/size_aware.policy" none "$B/policies/nvlink_ring_mid.policy"; do
	change "$policy"
	taken=$?
	name=$(basename "$policy" .policy)
	ok "a change is committed, and the ranks of all sites take it: $name" $taken
done
run --fleet "$NCCLBPF_FLEET" -J open -o tsv audit
[ "$rc" -eq 0 ] && [ "$(grep -c committed out)" -eq $made ]
ok "the audit has all of them" $?
run --fleet "$NCCLBPF_FLEET" -J open check agreement
ok "the ranks agree" "$rc"
kill "$job"
wait "$job"
ok "no two ranks have decided differently" $?
"$etcd" stop etcd

# ---- with TLS ----
"$etcd" start "$T/tls" members=1 tls
NCCLBPF_FLEET=$(cat tls/endpoints) NCCLBPF_FLEET_CACERT=$T/tls/ca.pem
NCCLBPF_FLEET_CERT=$T/tls/agent.pem NCCLBPF_FLEET_KEY=$T/tls/agent.key
export NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY
start shut
alone() { [ "$(count tls shut/site/ processes)" -eq 1 ]; }
await alone
said() {
	grep -q "ncclbpf-agent: store: .*expired" shut.agents &&
		grep -q "ncclbpf-agent: store: .*not yet valid" shut.agents
}
await said
rc=$?
grep "ncclbpf-agent" shut.agents >why
ok "the logs say that the store's certificate has expired, or is not yet valid" $rc
left_alone() { # once the site that the store accepts has registered its rank
	NCCLBPF_FLEET_CERT=$T/tls/ncclbpf-control.pem \
		NCCLBPF_FLEET_KEY=$T/tls/ncclbpf-control.key \
		run --fleet "$NCCLBPF_FLEET" -J shut policy use "$B/policies/size_aware.policy"
	grep -q "1 of 3 ranks have registered" out err
}
await left_alone
ok "a change leaves the communicator alone, and says that two ranks are missing" $?
kill "$job"
wait "$job"
ok "the job has gone on to its end, and its ranks have decided alike" $?
"$etcd" stop tls
