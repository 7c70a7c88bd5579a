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

# end_lease DIR JOB: the lease of the agent of the job's site in that directory ends. Suites that
# lose an agent start it with AGENT_TIMES=lease=600000, so that no lease ends by itself.
end_lease() {
	for site in $("$etcd" ctl "$T/etcd" get --prefix --keys-only "/ncclbpf/1/$2/site/"); do
		LC_ALL=C grep -qaP "${site##*/}\x00" "$T/$1/$2.seg" || continue
		"$etcd" ctl "$T/etcd" lease revoke "$(printf %x "$("$etcd" ctl "$T/etcd" get \
			-w fields "$site" | sed -n 's/^"Lease" : //p')")" >/dev/null
		return
	done
	return 1
}

# registrations: how many registrations the values of keys site/ have, which it reads
registrations() { grep -o '],"since":[1-9]' | grep -c .; }

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

# tls_store: a store with TLS, and a shell that may control its jobs.
tls_store() {
	"$etcd" start "$T/etcd" members=1 tls
	ok "a store" $?
	NCCLBPF_FLEET=$(cat etcd/endpoints)
	NCCLBPF_FLEET_CACERT=$T/etcd/ca.pem NCCLBPF_FLEET_CERT=$T/etcd/ncclbpf-control.pem
	NCCLBPF_FLEET_KEY=$T/etcd/ncclbpf-control.key XDG_STATE_HOME=$T/state
	export NCCLBPF_FLEET NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY \
		XDG_STATE_HOME
}

# two_sites JOB SECONDS OPTIONS...: four ranks on the sites a and b that replay times, of which
# one channel has 20 times longer ones from 4 MiB on
two_sites() {
	NCCLBPF_JOB=$1
	export NCCLBPF_JOB
	seconds=$2
	shift 2
	mkdir -m 700 a b
	awk -F, '
		$2 == "NVLS" && $5 >= 4194304 { print $1 ",*,*,1," $5 "," $6 / 20 }
	' "$TOP/test/fakes/vgpu/b300.csv" >cheap.csv
	{
		grep '^collective' "$TOP/test/fakes/vgpu/b300.csv"
		cat cheap.csv
		grep -v '^#\|^collective' "$TOP/test/fakes/vgpu/b300.csv"
	} >times.csv
	NCCLBPF_FLEET_CERT=$T/etcd/agent.pem NCCLBPF_FLEET_KEY=$T/etcd/agent.key \
		NCCLBPF_AGENT_LISTEN=127.0.0.1 \
		"$agents" "$NCCLBPF_JOB" "$T/a" "$T/b" >>log.agents 2>&1 &
	jobs="$jobs $!"
	NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/a" \
		timeout $((seconds + 20)) "$B/test/fakes/host/standin" --ranks 4 --nodes 2 --procs \
		--events --min 1M --max 64M --factor 8 --seconds "$seconds" --pause-ms 1 \
		--table times.csv --rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" \
		--rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" "$@" >log 2>&1 &
	job=$! jobs="$jobs $!"
	await registered
	ok "two sites run the job" $?
}
registered() {
	[ "$("$etcd" ctl "$T/etcd" get --prefix --print-value-only "/ncclbpf/1/$NCCLBPF_JOB/site/" |
		registrations)" -eq 2 ]
}
