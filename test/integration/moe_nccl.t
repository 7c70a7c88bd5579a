#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# The example moe-alltoall over the real libnccl, as moe_alltoall.t has it over our plugin.
. "$TOP/test/integration/shm_room.sh"
shm_room "all-to-all of experts" "$0" "$@"
. "$TOP/test/integration/moe_lib.sh"
R=$B/examples/moe-alltoall/moe_nccl
vgpu="LD_PRELOAD=$B/test/fakes/vgpu/libvgpu.so"
why=
[ -x "$R" ] || why="no libnccl, NCCL's device headers or libcu++ to build it with"
[ -n "$why" ] || why=$(env "$vgpu" "$R" --help 2>&1 | sed -n 's/.*SKIP: *//p')
if [ -n "$why" ]; then
	tests=$((tests + 1))
	echo "ok $tests - the real libnccl # SKIP $why"
	exit
fi
for mode in direct chunks; do
	counted "libnccl, $mode" env "$vgpu" NCCL_NET_PLUGIN="$B/libncclbpf.so" \
		NCCL_CUMEM_ENABLE=1 NCCL_WIN_ENABLE=1 NCCL_GIN_NCONTEXTS=1 \
		"$R" --mode $mode --tokens 100
done
# The figures of the slow link are two runs more, where it can be had.
link=$(unshare -rn tc qdisc add dev lo root tbf rate 100mbit burst 256kb limit 8mb 2>&1) && link=
demo "libnccl" nccl $((5 + 2 * !${#link}))
grep -q '^libnccl, chunks' "$T/out" && grep -q '^libnccl, direct' "$T/out"
ok "both forms ran over libnccl" $?
# COUNT is column 5 of `stats`
awk '$1 == "allreduce" && $5 == 3 { n++ } END { exit n != 1 }' "$T/out"
ok "an all-reduce of each layer ran on the same communicator" $?
