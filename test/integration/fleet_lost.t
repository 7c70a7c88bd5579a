#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# A site of three is lost in mid-change: its agent and ranks are killed at once, also when its
# network went first, and also if it coordinates. The change ends with one outcome, and the
# job begins again without the site (fleet_lost.py). LOST: numbers of cases (all).
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
[ $status -eq 0 ] || tail -40 "$dir"/lost*/log* | sed 's/^/# /'
exit $status
