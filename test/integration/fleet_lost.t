#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# Who is lost in which state of a change: a whole site of three (its agent and rank at once, also
# when its network went first), or an agent alone, the coordinator's or another. The change ends
# with one outcome, and the job is whole again afterwards (fleet_lost.py). LOST: numbers of cases.
command -v etcd >/dev/null && command -v etcdctl >/dev/null || {
	echo "1..0 # SKIP a lost site: etcd is not installed"
	exit 0
}
dir=$(mktemp -d)
etcd=$TOP/test/fakes/etcd/etcd.sh
end() {
	for store in "$dir"/etcd*; do "$etcd" stop "$store" >/dev/null 2>&1; done
	[ "${KEEP:-}" ] || rm -rf "$dir"
}
trap end EXIT
# shellcheck disable=SC2086
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$TOP/test/bench:$TOP/test/fakes/proxy" \
	python3 "$TOP/test/integration/fleet_lost.py" "$B" "$dir" "$etcd" ${LOST:-}
status=$?
[ $status -eq 0 ] || tail -40 "$dir"/*/log.[0-9]* | sed 's/^/# /'
exit $status
