#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# policies/costs: the files have the costs that the real NCCL 2.28.9 offers on virtual GPUs, whose
# node has the topology of an HGX H100: each GPU has a 400 Gbit/s InfiniBand adapter beside it.
# GOLDEN=record writes the files.
. "$TOP/test/integration/shm_room.sh"
shm_room "NCCL's costs" "$0" "$@"
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/verbs_lib.sh"
J=$B/test/fakes/vgpu/job
if [ ! -x "$J" ] || [ "$("$J" --nccl)" != 22809 ]; then
	skip_all "NCCL's costs" "they are those of NCCL 2.28.9, which is not there"
fi
trap finish EXIT
cd "$T" || exit 1
awk 'BEGIN {
	print "<system version=\"1\">"
	for (cpu = 0; cpu < 2; cpu++) {
		printf "<cpu numaid=\"%d\" arch=\"x86_64\" vendor=\"GenuineIntel\" ", cpu
		print "familyid=\"6\" modelid=\"143\" affinity=\"ffffffff\">"
		link = "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\""
		for (i = 4 * cpu; i < 4 * cpu + 4; i++) {
			bus = sprintf("%02x:00.0", 16 + 8 * i)
			printf "<pci busid=\"7e58:%s\" class=\"0x060400\" %s>\n", bus, link
			printf "<pci busid=\"7e57:%s\" class=\"0x030200\" %s>", bus, link
			printf "<gpu dev=\"%d\" gdr=\"1\"/></pci>\n", i
			printf "<pci busid=\"7e59:%s\" class=\"0x020700\" %s><nic>", bus, link
			printf "<net name=\"vhca%d\" dev=\"%d\" speed=\"400000\" gdr=\"1\"/>", i, i
			print "</nic></pci></pci>"
		}
		print "</cpu>"
	}
	print "</system>"
}' >node.xml

record() { # FILE GPU ARCH NODES: append to FILE.new
	ranks=$((8 * $4))
	rm -f "$VHCA"
	set -- "$@" --ranks $ranks --loops 1 --min 64 --max 8G \
		--coll broadcast,reduce,allgather,reducescatter,allreduce
	[ "$4" -eq 1 ] || set -- "$@" --procs --per-node 8
	file=$1 gpu=$2 nodes=$4
	facts="\"gpu_arch\":$3,\"gpus_per_node\":8,\"nics\":8,\"nic_mbps\":400000"
	shift 4
	env LD_LIBRARY_PATH="$V" LD_PRELOAD="$B/test/fakes/vgpu/libvgpu.so" VGPU_CLOCK=virtual \
		VGPU_GPU="$gpu" VGPU_MULTICAST=1 VHCA_RAILS=8 NCCL_TOPO_FILE="$T/node.xml" \
		NCCL_NET=IB NCCL_GIN_TYPE=0 COSTS="$T/costs" FACTS="$facts" \
		NCCL_TUNER_PLUGIN="$B/test/fakes/vgpu/tuner_costs.so" \
		timeout $HANG "$J" "$@" >"$T/why" 2>&1
	rc=$?
	[ "$(wc -l <"$T/costs")" -eq $((5 * 28)) ] || rc=1
	ok "NCCL's costs of 5 collectives and 28 sizes, on $nodes x 8 $gpu" $rc
	cat "$T/costs" >>"$file.new"
}
same() { # FILE NOTE
	file=$TOP/policies/costs/$1.ndjson
	echo "{\"note\":\"NCCL 2.28.9 on $2; made by test/integration/nccl_costs.t\"}" >"$1.head"
	cat "$1.head" "$1.new" >"$1.got"
	[ -z "${GOLDEN:-}" ] || cp "$1.got" "$file"
	diff "$1.got" "$file" >why
	ok "policies/costs/$1.ndjson has them" $?
}
record h100 h100 90 1
record h100 h100 90 2
same h100 "nodes of 8 virtual H100 with NVLink, NVLS and 8 adapters of 400 Gbit/s"
record b300 b300 103 1
same b300 "a node of 8 virtual B300 with NVLink and NVLS"
