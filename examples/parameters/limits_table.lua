-- SPDX-License-Identifier: MIT
-- The choices of limits.bpf.c as a table, which needs no compiler. A name of a parameter stands in
-- place of a number.
return {
	params = {
		small = { "32K", min = 0, max = "1G" },
		middle = { "4M", min = 0, max = "64G" },
		wide = { 16, min = 1, max = 128 },
	},
	{ coll = "allreduce", bytes = "..small", algo = "tree", proto = "ll" },
	{ coll = "allreduce", bytes = "..middle", algo = "ring", proto = "ll128" },
	{ coll = "allreduce", algo = "ring", proto = "simple", channels = "wide" },
}
