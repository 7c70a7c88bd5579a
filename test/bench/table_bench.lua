-- SPDX-License-Identifier: MIT
-- table_bench.lua FOLDER: compile the tables that table_bench and decision measure to
-- FOLDER/NAME.policy, beside their text in FOLDER/NAME.csv, and print the row of the time from text
-- to image, for $BENCH_ROWS.
local core = require "ncclbpf.core"
local tables = require "ncclbpf.policy.table"

local folder = ...
local ALGOS, PROTOS = { "tree", "ring" }, { "ll", "ll128", "simple" }

-- The sizes of each group, in rows of @step bytes each: all unlike their neighbours.
-- groups: ten nodes by ten ranks; else one behind the other
local function text(rows, step, groups)
	local each, t = groups and rows // 100 or rows, {}
	for i = 0, rows - 1 do
		local k, g = i % each, i // each
		local nodes, ranks = groups and 1 + g // 10 or 1, groups and 8 * (1 + g % 10) or -1
		t[i + 1] = ("allreduce,%d,%d,%s,%s,%d,%d,%d"):format(k * step, (k + 1) * step - 1,
			ALGOS[k % 2 + 1], PROTOS[k % 3 + 1], 1 + k % 32, nodes, ranks)
	end
	return table.concat(t, "\n")
end

local function compile(name, ...)
	local csv = text(...)
	local start = os.clock()
	local image = assert(tables.compile(csv, { name = "t" }))
	local ms = (os.clock() - start) * 1000
	assert(tables.save(image, ("%s/%s.policy"):format(folder, name)))
	assert(core.write(("%s/%s.csv"):format(folder, name), csv))
	return ms
end

-- The 10,000 sizes for each of the ranks, which costs a division.
local function compile_per_rank()
	local csv = "collective,min_bytes_per_rank,max_bytes_per_rank,algorithm,protocol,channels,"
		.. "nodes,ranks\n" .. text(10000, 1024)
	local image = assert(tables.compile(csv, { name = "t" }))
	assert(tables.save(image, folder .. "/10k_per_rank.policy"))
end

compile("10", 10, 4 << 20)
compile("200", 200, 1024)
compile("10k_shapes", 10000, 1024, true)
compile_per_rank()
local ms = {}
for i = 1, 5 do ms[i] = compile("10k", 10000, 1024) end
table.sort(ms)
print(("table.compile\ttable of 10,000 rows, from its text to an image\t%.1f\tms\t500\t0"):format(
	ms[3]))
