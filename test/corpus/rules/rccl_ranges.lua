-- SPDX-License-Identifier: MIT
-- The rule of RCCL's protocols on several nodes: ranges of the size per rank, of the whole size for
-- AllReduce and Broadcast; LL128 before LL, and else Simple. From three nodes on, LL128 of an
-- AllReduce reaches 3.8 times as far. The ranges are made up.
return {
	{ coll = "reducescatter", nodes = "2..", bytes_per_rank = "8193..2M", proto = "ll128" },
	{ coll = "reducescatter", nodes = "2..", bytes_per_rank = "1..16K", proto = "ll" },
	{ coll = "reducescatter", nodes = "2..", proto = "simple" },
	{ coll = "allgather", nodes = "2..", bytes_per_rank = "4097..1M", proto = "ll128" },
	{ coll = "allgather", nodes = "2..", bytes_per_rank = "1..32K", proto = "ll" },
	{ coll = "allgather", nodes = "2..", proto = "simple" },
	{ coll = "allreduce", nodes = 2, bytes = "16385..3000000", proto = "ll128" },
	{ coll = "allreduce", nodes = "3..", bytes = "16385..11400000", proto = "ll128" },
	{ coll = "allreduce", nodes = "2..", bytes = "1..64K", proto = "ll" },
	{ coll = "allreduce", nodes = "2..", proto = "simple" },
	{ coll = "broadcast", nodes = "2..", bytes = "1025..500000", proto = "ll128" },
	{ coll = "broadcast", nodes = "2..", bytes = "1..8K", proto = "ll" },
	{ coll = "broadcast", nodes = "2..", proto = "simple" },
}
