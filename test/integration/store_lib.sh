# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# store_lib.sh: for tests that start etcd beside shell_lib.sh. They run in $T, and
# what they start in $T/etcd ends with them.
# shellcheck disable=SC2034
etcd=$TOP/test/fakes/etcd/etcd.sh
# The agents of a job's sites, as an operator's services: agents.py JOB DIRECTORY...
agents=$TOP/test/fakes/etcd/agents.py

# needs_store WHAT: skip the tests of WHAT where the stand-in or etcd is missing.
needs_store() {
	[ -x "$B/test/fakes/host/standin" ] || skip_all "$1" "the stand-in was not built"
	command -v etcd >/dev/null && command -v etcdctl >/dev/null ||
		skip_all "$1" "etcd is not installed"
}

# ctl ARGUMENTS...: etcdctl on the store
ctl() { "$etcd" ctl "$T/etcd" "$@" 2>>"$T/said"; }

# end_lease DIR JOB: the lease of the agent of the job's site in that directory ends. Suites that
# lose an agent start it with AGENT_TIMES=lease=600000, so that no lease ends by itself. An agent
# that leaves needs leave=10000, too: it has a second for its last requests, and else its keys stay.
end_lease() {
	for site in $(ctl get --prefix --keys-only "/ncclbpf/1/$2/site/"); do
		LC_ALL=C grep -qaP "${site##*/}\x00" "$T/$1/$2.seg" || continue
		ctl lease revoke "$(printf %x "$(ctl get -w fields "$site" |
			sed -n 's/^"Lease" : //p')")" >/dev/null
		return
	done
	return 1
}

# registrations: how many registrations the values of keys site/ have, which it reads
registrations() { grep -o '],"since":[1-9]' | grep -c .; }

# registered [N]: N sites (2) have registered their communicators
registered() {
	[ "$(ctl get --prefix --print-value-only "${keys:-/ncclbpf/1/$NCCLBPF_JOB}/site/" |
		registrations)" -eq "${1:-2}" ]
}

# answered ID: the request has a reply, which is in the file reply
answered() { ctl get --print-value-only "$data/reply/$1" >reply && [ -s reply ]; }

# column NAME: that column of the rows of -o tsv in $T/out
column() {
	awk -F '\t' -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next }
		c { print $c }' "$T/out"
}

# commit_n: the number of the job's last generation
commit_n() { ctl get --print-value-only "$keys/order/commit" | sed -n 's/.*"n":\([0-9]*\).*/\1/p'; }

# generations N: the job has two ranks, both with generation N
generations() {
	run -o tsv comm list
	[ "$rc" -eq 0 ] && [ "$(column generation | grep -cx "$1")" -eq 2 ]
}

leave() {
	"$etcd" stop "$T/etcd" >/dev/null 2>&1
	finish
}

# enter_store: from here on in $T, without a fleet of the caller's environment.
enter_store() {
	trap leave EXIT
	cd "$T" || exit 1
	unset NCCLBPF_FLEET NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY
	export ETCDCTL_API=3
}

# store_of JOB [WORD...]: a store, whose endpoints are $fleet; $keys and $data are where the job's
# keys begin. Each WORD is one of etcd.sh.
store_of() {
	keys=/ncclbpf/1/$1 data=/ncclbpf/1-data/$1
	shift
	"$etcd" start "$T/etcd" members=1 "$@"
	ok "a store" $?
	fleet=$(cat etcd/endpoints)
}

# fleet_of JOB: such a store, and what the suite starts is of that job
fleet_of() {
	store_of "$1"
	NCCLBPF_FLEET=$fleet NCCLBPF_JOB=$1
	export NCCLBPF_FLEET NCCLBPF_JOB
}

# serve JOB SITE...: the directories of the job's sites, where they are missing, with agents
serve() {
	served=$1
	shift
	for at; do
		mkdir -p -m 700 "$T/$at"
		set -- "$@" "$T/$at"
		shift
	done
	"$agents" "$served" "$@" >>log.agents 2>&1 &
	jobs="$jobs $!"
}

# tls_store JOB: a store with TLS, and a shell that may control its jobs.
tls_store() {
	store_of "$1" tls
	NCCLBPF_FLEET=$fleet
	NCCLBPF_FLEET_CACERT=$T/etcd/ca.pem NCCLBPF_FLEET_CERT=$T/etcd/ncclbpf-control.pem
	NCCLBPF_FLEET_KEY=$T/etcd/ncclbpf-control.key XDG_STATE_HOME=$T/state
	export NCCLBPF_FLEET NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY \
		XDG_STATE_HOME
}

# ranks_of JOB OPTION...: the job's four ranks on site a; what they print is in JOB.out
ranks_of() {
	this=$1
	shift
	NCCLBPF_JOB=$this NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_DEBUG=INFO \
		NCCLBPF_SOCKET_DIR=$T/a timeout 0 "$B/test/fakes/host/standin" --procs --ranks 4 \
		--seconds inf "$@" >"$T/$this.out" 2>&1 &
	job=$! jobs="$jobs $!"
}

# sites_of JOB OPTION...: the same, two on site a and two on site b, with agents
sites_of() {
	keys=/ncclbpf/1/$1
	NCCLBPF_FLEET=$fleet serve "$1" a b
	NCCLBPF_FLEET=$fleet ranks_of "$@" --rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" \
		--rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" --rank-env 0:RANK=0 --rank-env 1:RANK=1 \
		--rank-env 2:RANK=2 --rank-env 3:RANK=3
	await registered
	need "two sites run the job: $1" $?
}

# stop_ranks: ask them to end. Its status is theirs.
stop_ranks() {
	kill -TERM "$job"
	wait "$job"
}

# two_sites JOB OPTIONS...: four ranks on the sites a and b that replay times, of which
# one channel has 20 times longer ones from 4 MiB on
two_sites() {
	NCCLBPF_JOB=$1
	export NCCLBPF_JOB
	shift
	awk -F, '
		$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }
	' "$TOP/test/fakes/vgpu/b300.csv" >cheap.csv
	{
		grep '^collective' "$TOP/test/fakes/vgpu/b300.csv"
		cat cheap.csv
		grep -v '^#\|^collective' "$TOP/test/fakes/vgpu/b300.csv"
	} >times.csv
	NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key \
		NCCLBPF_AGENT_LISTEN=127.0.0.1 serve "$NCCLBPF_JOB" a b
	NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/a" \
		timeout 0 "$B/test/fakes/host/standin" --ranks 4 --nodes 2 --procs \
		--events --min 1M --max 64M --factor 8 --seconds inf --pause-ms 1 \
		--table times.csv --rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" \
		--rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" "$@" >log 2>&1 &
	job=$! jobs="$jobs $!"
	await registered
	ok "two sites run the job" $?
}
