# SPDX-License-Identifier: MIT
# Sourced by net.t and net_plugins.t: the example $R runs once over our net plugin, for $rounds.
. "$TOP/test/integration/shell_lib.sh"
R=$B/examples/ring-allreduce/ring_allreduce
[ -x "$R" ] || skip_all "ring AllReduce" "the example was not built"
trap finish EXIT
cd "$TOP" || exit 1
export NCCL_SOCKET_IFNAME=lo
# shellcheck disable=SC2086
timeout 300 "$R" "$B/libncclbpf.so" $rounds >"$T/out" 2>"$T/err"
if [ $? -ne 0 ] && grep -q 'no device' "$T/err"; then
	skip_all "ring AllReduce" "no loopback interface is up"
fi
