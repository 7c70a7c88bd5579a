# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# store_lib.sh: for tests that start etcd beside shell_lib.sh. They run in $T, and
# what they start in $T/etcd ends with them.
# shellcheck disable=SC2034
etcd=$TOP/test/fakes/etcd/etcd.sh

# needs_store WHAT: skip the tests of WHAT where the stand-in or etcd is missing.
needs_store() {
	[ -x "$B/test/fakes/host/standin" ] || skip_all "$1" "the stand-in was not built"
	command -v etcd >/dev/null && command -v etcdctl >/dev/null || skip_all "$1" "etcd is not installed"
}

leave() {
	"$etcd" stop "$T/etcd" >/dev/null 2>&1
	finish
}

# enter_store: from here on in $T, without a fleet of the caller's environment.
enter_store() {
	trap leave EXIT
	cd "$T" || exit 1
	unset NCCLBPF_FLEET NCCLBPF_FLEET_CACERT NCCLBPF_FLEET_CERT NCCLBPF_FLEET_KEY NCCLBPF_FLEET_SIGNERS
	export ETCDCTL_API=3
}
