#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# Five hundred faults in 15 s on a job of three sites with a store of three members:
# fleet_faults.py says which. FAULTS, FAULT_SECONDS and FLEET_SEED are its.
command -v etcd >/dev/null && command -v etcdctl >/dev/null && command -v openssl >/dev/null || {
	echo "1..0 # SKIP faults on three sites: etcd or openssl is not installed"
	exit 0
}
dir=$(mktemp -d)
etcd=$TOP/test/fakes/etcd/etcd.sh
end() {
	"$etcd" stop "$dir/etcd" >/dev/null 2>&1
	[ "${KEEP:-}" ] || rm -rf "$dir"
}
trap end EXIT
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$TOP/test/bench:$TOP/test/fakes/proxy" \
	python3 "$TOP/test/integration/fleet_faults.py" "$B" "$dir" "$etcd"
status=$?
[ $status -eq 0 ] || tail -40 "$dir/log" | sed 's/^/# /'
exit $status
