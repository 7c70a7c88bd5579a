#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# One job on two sites with a real etcd: its ranks begin with NCCL's own choice,
# a change is made at one decision by all ranks of both sites, and where an agent
# leaves at a moment that matters, no two ranks decide differently: the stand-in
# compares every decision of all ranks and ends with status 3 if they differ.
# fleet_faults.t has faults at any moment.
set -u
command -v etcd >/dev/null && command -v etcdctl >/dev/null || {
	echo "1..0 # SKIP a change over two sites: etcd is not installed"
	exit 0
}
dir=$(mktemp -d)
etcd=$TOP/test/fakes/etcd/etcd.sh
job= services= n=0
end() {
	[ "$job" ] && kill "$job" 2>/dev/null
	[ "$services" ] && kill "$services" 2>/dev/null
	wait 2>/dev/null
	"$etcd" stop "$dir/etcd" >/dev/null 2>&1
	rm -rf "$dir"
}
trap end EXIT
mkdir -m 700 "$dir/a" "$dir/b"
. "$TOP/test/tap.sh"
log="$dir/log $dir/log.agents $dir/said"
"$etcd" start "$dir/etcd" >"$dir/said" 2>&1 || exit 1
NCCLBPF_FLEET=$(cat "$dir/etcd/endpoints")
NCCLBPF_JOB=fleet
export NCCLBPF_FLEET NCCLBPF_JOB NCCL_TUNER_PLUGIN="$B/libncclbpf.so" ETCDCTL_API=3
keys=/ncclbpf/1/fleet
data=/ncclbpf/1-data/fleet
ctl() { etcdctl --endpoints="$NCCLBPF_FLEET" --command-timeout=60s "$@" 2>>"$dir/said"; }
site() { # which, words: the shell on one site
	which=$1
	shift
	env -u NCCLBPF_FLEET NCCLBPF_SOCKET_DIR="$dir/$which" timeout 300 \
		"$B/ncclbpf-shell" --no-rc -o tsv -J fleet "$@" 2>>"$dir/said"
}
# ask ID LINE [POLICY]: a request, as the shell makes one
ask() {
	images='[]'
	if [ "${3:-}" ]; then
		file=$B/policies/$3.policy
		digest=$(sha256sum "$file" | cut -c 1-64)
		ctl put "$data/image/$digest" <"$file" >>"$dir/said"
		images="[{\"name\":\"$3\",\"digest\":\"$digest\"}]"
	fi
	ctl put "$keys/request/$1" "{\"line\":\"$2\",\"images\":$images}" >>"$dir/said"
}
answered() { ctl get --print-value-only "$data/reply/$1" >"$dir/reply" && [ -s "$dir/reply" ]; }
# A reply goes with the lease of the coordinator that gave it, so it may be missed.
is_over() {
	answered "$1" || { ctl get --keys-only "$keys/request/$1" >"$dir/there" &&
		[ ! -s "$dir/there" ] && { answered "$1" || :; }; }
}
reply() { # ID
	await is_over "$1"
	cat "$dir/reply" >>"$dir/said"
}
member() { sed -n 's/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p' "$dir/reply"; }
ok() { grep -q '"ok":true' "$dir/reply"; }
# changed ID LINE POLICY: such a request is carried out. At first ranks may have passed every fence,
# or a site's agent may have only begun again.
asked=0
changed() {
	asked=$((asked + 1))
	ask "$1$asked" "$2" "$3"
	reply "$1$asked"
	ok
}

# A change waits for an agent that is stopped as long as the suite takes to get there, and an agent
# that leaves waits until the store has answered.
AGENT_TIMES=lease=600000,leave=10000,stage=600000 \
	"$TOP/test/fakes/etcd/agents.py" fleet "$dir/a" "$dir/b" >>"$dir/log.agents" 2>&1 &
services=$!
NCCLBPF_SOCKET_DIR=$dir/a timeout 0 \
	"$B/test/fakes/host/standin" ${HOST:-} --ranks 4 --nodes 2 --procs --min 4M --max 32M \
	--seconds inf --pause-ms 40 \
	--rank-env "2:NCCLBPF_SOCKET_DIR=$dir/b" \
	--rank-env "3:NCCLBPF_SOCKET_DIR=$dir/b" >"$dir/log" 2>&1 &
job=$!

registered() {
	[ "$(ctl get --prefix --print-value-only $keys/site/ | grep -o '],"since":[1-9]' |
		grep -c .)" -eq 2 ]
}
await registered
say $? "both sites have an agent, which registers the communicator"
site a comm list | awk -F '\t' 'NR > 1 { n++; bad += $10 != 0 } END { exit bad || n != 2 }'
say $? "its ranks begin with NCCL's own choice"

await changed one "policy use size_aware" size_aware && [ "$(member state)" = committed ]
say $? "a change is committed"
fence=$(member fence)
beyond() {
	site a decision tail count=1 | awk -F '\t' -v f="$fence" '
		NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		$h["seq"] <= f { bad = 1 }
		END { exit bad || NR < 2 }
	'
}
await beyond
for s in a b; do site $s decision tail count=1000; done | awk -F '\t' -v f="$fence" '
	/seq/ && /generation/ { for (i = 1; i <= NF; i++) h[$i] = i; next }
	{
		rank[$h["rank"]]
		late = $h["seq"] >= f
		bad += late != ($h["generation"] > 0)
		seen[late]++
	}
	END {
		for (r in rank) n++
		print n " ranks, " seen[0] + 0 " decisions before, " seen[1] + 0 " after, " \
			bad + 0 " wrong"
		exit bad || n != 4 || !seen[0] || !seen[1]
	}' >>"$dir/said"
say $? "by all four ranks at the same decision"

site a policy use none >/dev/null
[ $? -ne 0 ] && grep -q "belongs to a fleet" "$dir/said"
say $? "one site alone changes nothing"
ask two "policy use nonsense"
reply two
! ok && grep -q '"text":"site .*no policy nonsense' "$dir/reply"
say $? "a refusal names the site and the reason"

# ---- agents that leave ----

# The agent's pid of site $1 (a, b), by its directory.
agent() {
	LC_ALL=C grep -la "^ncclbpf-agent.*$dir/$1" /proc/[0-9]*/cmdline 2>/dev/null |
		tr -dc '0-9\n'
}

# The agent of the other site ends while its answer to an arming is outstanding: it
# is stopped before the order, goes on to stage while the coordinator, which has, is stopped, and
# is stopped again before the arming. Its keys vanish; its ranks decide on.
orders() { ctl get --print-value-only "$keys/order/stage" | grep -q '"request":"armed"'; }
have_staged() { [ "$(ctl get --prefix --print-value-only $keys/answer/ |
	grep -c "\"n\":$(ctl get --print-value-only $keys/order/stage |
	sed 's/.*"n":\([0-9]*\).*/\1/'),.*\"state\":\"staged\"")" -eq $1 ]; }
revision() {
	ctl get -w fields --prefix "$keys/$2/" | sed -n "s/^\"$1\" : //p" | sort -n | tail -1
}
was_armed() { [ "$(revision ModRevision order/record)" -gt "$before" ]; }
is_armed() { ctl get --prefix --print-value-only $keys/order/record/ | grep -q '"state":"armed"'; }
roles() { # c, o: agents of the coordinator and of the other site
	coordinator=$(ctl get --print-value-only $keys/order/coordinator |
		sed 's/.*"site":"\([^"]*\)".*/\1/')
	if grep -qa "$coordinator" "$dir/a/fleet.seg"; then
		c=$(agent a) o=$(agent b)
	else
		c=$(agent b) o=$(agent a)
	fi
}
roles
before=$(revision ModRevision order/record)
halt $o
ask armed "policy use none"
await orders && await have_staged 1 && halt $c && kill -CONT $o &&
	await have_staged 2 &&
	halt $o && kill -CONT $c && await was_armed
armed=$? # 0: got there
kill -TERM $o
kill -CONT $o $c
: >"$dir/reply"
reply armed
echo "armed: $armed, commit $(revision ModRevision order/record)," \
	"keys $(revision CreateRevision site)" >>"$dir/said"
# Without a commit, or with one later than the keys of the agent that follows it.
await registered
[ $armed -eq 0 ] && [ -s "$dir/reply" ] && ! is_armed &&
	{ ! ok ||
	[ "$(revision ModRevision order/record)" -gt "$(revision CreateRevision site)" ]; }
say $? "nothing is committed while the agent of a site has left that has not answered"

# The other site's lease ends before the change is asked for, its ranks decide on.
has_members() {
	ctl get --prefix --print-value-only $keys/members/ | grep -q '"sites":\[".*",".*"\]'
}
await has_members
say $? "the store keeps the names of a communicator's sites"
roles
lease=$(printf %x "$(ctl get -w fields --prefix $keys/site/ | awk -v not="/site/$coordinator\"" '
	/^"Key"/ { other = !index($0, not) } /^"Lease"/ && other { print $3 }')")
halt $o
ctl lease revoke "$lease" >>"$dir/said"
ask away "policy use nvlink_ring_mid" nvlink_ring_mid
: >"$dir/reply"
reply away
kill -CONT $o 2>/dev/null
if ok; then [ "$(member state)" = committed ]; else grep -q "lease has ended" "$dir/reply"; fi
say $? "nothing is committed without a site whose lease ended before the change"
await registered
await changed last "policy use size_aware" size_aware
say $? "afterwards changes are committed again"
kill "$job" # as if its time was up
wait "$job"
rc=$?
job=
[ $rc -eq 0 ]
say $? "no two ranks have decided differently (status $rc)"
gone() { [ -z "$(ctl get --prefix --keys-only $keys/site/)" ]; }
await gone
say $? "the sites' keys leave the store when the job ends"
echo "1..$n"
exit $bad
