-- SPDX-License-Identifier: MIT
-- Random tables against their rows read one after the other; large and entangled tables; faults of
-- texts and their places; damaged texts and damaged rows of images.
local core = require "ncclbpf.core"
local nb = require "ncclbpf"
local rows = require "ncclbpf.policy.table_rows"
local tables = require "ncclbpf.policy.table"
local tree = require "ncclbpf.policy.table_tree"
local tap = dofile(os.getenv "TOP" .. "/test/integration/tap.lua")

local MAX = math.maxinteger
local random = math.random
local FIELDS = { "min", "max", "coll", "algo", "proto", "channels", table.unpack(rows.CONDITIONS) }

-- ---- the model: the first row that holds and that NCCL can do ----------------------

local function offered(row, usable)
	if row.algo < 0 and row.proto < 0 then return true end
	for i = 0, 20 do
		if usable >> i & 1 == 1 and (row.algo < 0 or row.algo == i // 3)
			and (row.proto < 0 or row.proto == i % 3) then
			return true
		end
	end
	return false
end

local function agree(row, c)
	for _, name in ipairs { "coll", table.unpack(rows.CONDITIONS) } do
		if row[name] >= 0 and row[name] ~= c[name] then return false end
	end
	-- sizes from 2^63 on are negative here
	local large = c.bytes < 0
	return (large or c.bytes >= row.min) and offered(row, c.usable)
		and (row.max == MAX or not large and c.bytes <= row.max)
end

local function model(list, c)
	for _, row in ipairs(list) do
		if c.coll < 5 and agree(row, c) then
			return { algo = row.algo, proto = row.proto,
				channels = math.max(row.channels, 0) }
		end
	end
	return { algo = -1, proto = -1, channels = 0 }
end

-- ---- random tables ------------------------------------------------------------------

local function bound(taste)
	local kind = random(8)
	if kind == 1 then return random(0, 3) end
	if kind == 2 then return MAX - random(0, 2) end
	return random(0, taste.bounds) << random(0, 19)
end

local function value(taste, bit, most, least)
	if taste.dims >> bit & 1 == 0 or random(100) <= taste.wild then return -1 end
	return least + random(0, most - 1)
end

local function random_row(taste, line)
	local a, b = bound(taste), bound(taste)
	local row = { min = math.min(a, b), max = math.max(a, b), line = line,
		coll = value(taste, 0, 5, 0), nodes = value(taste, 1, 20, 1),
		ranks = value(taste, 2, 5, 1), pipe_ops = value(taste, 3, 3, 1),
		reg_buff = value(taste, 4, 2, 0), algo = random(0, taste.answers) % 8 - 1,
		proto = random(0, taste.answers) % 4 - 1,
		channels = random(3) > 1 and -1 or random(64) }
	if row.algo < 0 and row.proto < 0 and row.channels < 0 then row.channels = 1 end
	return row
end

local function random_table()
	local taste = { bounds = 1 + random(100), dims = random(4) > 1 and random(0, 31) or 0,
		wild = random(0, 100), answers = random(0, 59) }
	local list = {}
	for i = 1, random(1 << random(0, 7)) do list[i] = random_row(taste, i + 1) end
	return list
end

-- Sizes at the edges of rows, and others.
local function some_bytes(list)
	local row = list[random(#list)]
	local near = random(2) == 1 and row.min or row.max
	if random(8) == 1 then return random(0, 0xffffffff) << random(0, 32) end
	if random(30) == 1 then return -random(2) end
	return near + random(-1, 1)
end

local function some_context(list)
	return { bytes = some_bytes(list), coll = random(20) > 1 and random(0, 4) or random(0, 8),
		ranks = random(0, 7), nodes = random(20) > 1 and random(0, 23) or 0xffffffff,
		pipe_ops = random(0, 4), reg_buff = random(0, 1),
		usable = random(3) > 1 and random(0, (1 << 21) - 1) or (1 << 21) - 1 }
end

local function same_rows(a, b)
	if #a ~= #b then return false end
	for i, row in ipairs(a) do
		for _, name in ipairs(FIELDS) do
			if row[name] ~= b[i][name] then return false end
		end
	end
	return true
end

local function compile(list)
	return tables.compile(rows.text(list),
		{ name = "t", file = "t.csv", hidden = "keep", coherence = "off" })
end

-- Return what differs between the compiled table and its rows; nil: nothing. Count the answers, and
-- the tables whose tree is too large.
local answers, large = 0, 0
local function differs(list, contexts)
	local image, err = compile(list)
	if not image then
		large = large + 1
		return err.code ~= "over_limit" and tostring(err) or nil
	end
	if not same_rows(list, rows.of_image(image) or {}) then return "rows of the image" end
	for i, got in ipairs(assert(core.policy_run(image, contexts, {}, true))) do
		local want = model(list, contexts[i])
		if want.algo >= 0 then answers = answers + 1 end
		for _, field in ipairs { "algo", "proto", "channels" } do
			if got[field] ~= want[field] then
				return ("%s: %s %d, the rows say %d"):format(
					nb.json.encode(contexts[i]), field, got[field], want[field])
			end
		end
	end
end

local many, seed = tonumber(os.getenv "TABLES" or 60), tonumber(os.getenv "TABLE_SEED" or 1)
local wrong
for n = seed, seed + many - 1 do
	math.randomseed(n)
	local list, contexts = random_table(), {}
	for i = 1, 500 do contexts[i] = some_context(list) end
	local what = differs(list, contexts)
	wrong = wrong or what and ("TABLE_SEED=%d TABLES=1, %d rows: %s"):format(n, #list, what)
end
tap.test("random tables decide as their rows do", not wrong, wrong)
tap.test("and answer often", answers > many and large <= many / 50, answers)

-- ---- large tables ---------------------------------------------------------------------

local list, contexts = {}, {}
for i = 0, 9999 do
	list[i + 1] = { min = i * 1000, max = i * 1000 + 998, coll = 4, algo = i % 7, proto = i % 3,
		channels = 1 + i % 64, nodes = -1, ranks = -1, pipe_ops = -1, reg_buff = -1,
		line = i + 2 }
end
for bytes = 0, 10010000, 333 do
	contexts[#contexts + 1] = { bytes = bytes, coll = 4, usable = (1 << 21) - 1 }
end
local image = assert(compile(list))
for i, got in ipairs(assert(core.policy_run(image, contexts, {}, true))) do
	local row = contexts[i].bytes % 1000 <= 998 and list[contexts[i].bytes // 1000 + 1]
	if got.algo ~= (row and row.algo or -1) or got.channels ~= (row and row.channels or 0) then
		wrong = wrong or contexts[i].bytes
	end
end
tap.test("each size of 10,000 rows", not wrong, wrong)

-- Rows that name ever other nodes, ranks and operations.
local some = table.move(list, 1, 1000, 1, {})
for i, row in ipairs(some) do
	row.min, row.max, row.nodes, row.ranks, row.pipe_ops = i, i + 5000, -1, -1, -1
	row[rows.CONDITIONS[i % 3 + 1]] = i
end
local e = tap.fails("entangled rows", "over_limit", "the rows overlap in too many ways",
	tables.compile(rows.text(some), { name = "t", hidden = "keep" }))
tap.test("with a hint", e.hint and e.hint:find "in all rows or in none", e)
tap.fails("more than 20,000 rows", "over_limit", "more than 20000 rows",
	tables.compile(("allreduce,0,1,ring,ll,1,1,1\n"):rep(20001), { name = "t" }))

-- ---- text -----------------------------------------------------------------------------

local NV = "allreduce,0,65536,tree,ll,2,1,-1"
for _, f in ipairs {
	{ "", nil, nil, "a table without rows" },
	{ "# nothing\n\n", nil, nil, "a table without rows" },
	{ NV .. "\nallreduce,0,65536,tree,ll,2,1\n", 2, 1,
		"the row has 7 fields, but a row of a table without a header has 8 to 10: "
		.. "collective, min_bytes, max_bytes, algorithm, protocol, channels, nodes, ranks, "
		.. "pipe_ops, reg_buff" },
	{ NV .. ",1,-1,5\n", 1, 1,
		"the row has 11 fields, but a row of a table without a header has 8 to 10" },
	{ "allreduze,0,1,tree,ll,2,1,1", 1, 1, 'collective "allreduze": broadcast, reduce, '
		.. "allgather, reducescatter, allreduce, or -1 expected" },
	{ "reduce_none,0,1,ring,ll,1,1,1", 1, 1, 'collective "reduce_none"' },
	{ "allreduce,4X,1,tree,ll,2,1,1", 1, 11,
		'min_bytes "4X": bytes (4194304, 4M, 4MiB) or -1 expected' },
	{ ",,,,,,,\n", 1, 4, "the row has no answer" },
	{ "allreduce,-2,1,tree,ll,2,1,1", 1, 11, 'min_bytes "-2": bytes' },
	{ "allreduce,0x10,1,tree,ll,2,1,1", 1, 11, '"0x10": bytes' },
	{ "allreduce,1.5M,1,tree,ll,2,1,1", 1, 11, '"1.5M": bytes' },
	{ "allreduce,1 2,3,tree,ll,2,1,1", 1, 11, '"1 2": bytes' },
	{ "allreduce,4iB,3,tree,ll,2,1,1", 1, 11, '"4iB": bytes' },
	{ "allreduce,18446744073709551615,-1,tree,ll,2,1,1", 1, 11, "less than 2^63 expected" },
	{ "allreduce,0,99e9,tree,ll,2,1,1", 1, 13, 'max_bytes "99e9"' },
	{ "allreduce,9,8,tree,ll,2,1,1", 1, 13, "max_bytes 8: at least min_bytes, 9, expected" },
	{ "allreduce,0,1,threee,ll,2,1,1", 1, 15, 'algorithm "threee": tree, ring, collnet_direct, '
		.. "collnet_chain, nvls, nvls_tree, pat, or -1 expected" },
	{ "allreduce,0,1,1,ll,2,1,1", 1, 15, 'algorithm "1": tree' },
	{ "allreduce,0,18446744073709551616,tree,ll,2,1,1", 1, 13,
		'max_bytes "18446744073709551616": less than 2^64 bytes expected' },
	{ "allreduce,0,17179869184G,tree,ll,2,1,1", 1, 13, "less than 2^64 bytes expected" },
	{ "allreduce,0,1,tree,l128,2,1,1", 1, 20,
		'protocol "l128": ll, ll128, simple, or -1 expected' },
	{ "allreduce,0,1,tree,ll,0,1,1", 1, 23, "1 to 64, or -1 for NCCL's own, expected" },
	{ "allreduce,0,1,tree,ll,65,1,1", 1, 23, 'channels "65": 1 to 64' },
	{ "allreduce,0,1,tree,ll,two,1,1", 1, 23, 'channels "two"' },
	{ "allreduce,0,1,tree,ll,2,0,1", 1, 25, 'nodes "0": 1 or more, or -1, expected' },
	{ "allreduce,0,1,tree,ll,2,1,-8", 1, 27, 'ranks "-8"' },
	{ "allreduce,0,1,tree,ll,2,1,99999999999999999999", 1, 27, "ranks" },
	{ "allreduce,0,1,tree,ll,2,1,8,0", 1, 29, 'pipe_ops "0"' },
	{ "allreduce,0,1,tree,ll,2,1,8,1,2", 1, 31, 'reg_buff "2": 0, 1 or -1 expected' },
	{ "allreduce,0,1,-1,-1,-1,1,1", 1, 15, "the row has no answer: algo, proto or channels" },
	{ NV .. '\n"allreduce",0,1,tree,ll,2,1,1\n', 2, 1, 'collective ""allreduce""' },
	{ "allreduce;0;1;tree;ll;2;1;1", 1, 1,
		"the row has 1 fields, but a row of a table without a header has 8 to 10" },
	{ NV .. "\nallreduce,0,1\1,tree,ll,2,1,1\n", 2, 14, "byte 0x01: not text" },
	{ "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", 1, 1, "more than 16 fields" },
	{ ("x"):rep(1025), 1, 1, "the line has 1025 bytes; at most 1024 are allowed" },
	{ "coll,bites,algo\n", 1, 6, 'column "bites": no such column' },
	{ "coll,algo,Algorithm\n", 1, 11, "another column sets the same value" },
	{ "coll,bytes,min_bytes,algo\n", 1, 12, "another column sets the same value" },
	{ "coll,min_bytes,max_bytes_per_rank\n", 1, 16, "another column sets the same value" },
	{ "coll,algo\nallreduce\n", 2, 1, "1 fields; the header names 2" },
	{ "coll,bytes,algo\nallreduce,4M-8M,ring\n", 2, 11, 'bytes "4M-8M": an interval of bytes '
		.. "(4M..32M, 4M.., ..32M, 4M) or -1 expected" },
	{ "coll,bytes,algo\nallreduce,8M..4M,ring\n", 2, 11, "the smaller size first expected" },
	{ "coll,bytes,algo\nallreduce,..,ring\n", 2, 11, "an interval" },
	{ "coll,bytes_per_rank,algo\nallgather,4M,ring\n", 2, 11, "need the number of ranks" },
	{ "coll,bytes_per_rank,ranks,algo\nallgather,4T..,9999999,ring\n", 2, 11,
		"a size below 2^63 bytes over all ranks" },
	{ "coll,algo,proto\nallreduce,,\n", 2, 11, "the row has no answer" },
} do
	local _, faults = rows.read(f[1], 10)
	local first = faults[1] or {}
	tap.test(f[4], #faults == 1 and first.line == f[2] and first.col == f[3]
		and first.message:find(f[4], 1, true), first.message and ("%s at %s:%s"):format(
		first.message, first.line, first.col))
end

-- f(row, field, value): does the text's row have that value?
local function rows_are(name, text, want)
	local got, faults = rows.read(text, 10)
	local good = #faults == 0 and #got == #want
	for i, fields in ipairs(good and want or {}) do
		for field, v in pairs(fields) do good = good and got[i][field] == v end
	end
	tap.test(name, good and same_rows(got, rows.read(rows.text(got), 1)), faults[1])
end
rows_are("blanks, a byte order mark and any case",
	"\xef\xbb\xbf# NVIDIA's columns\r\n\r\n AllReduce , 0,65536, Tree,LL , -1, 1, 8 \r\n",
	{ { line = 3, coll = 4, max = 65536, algo = 0, proto = 0, channels = -1, ranks = 8,
		pipe_ops = -1 } })
rows_are("named columns", "coll,Bytes,nNodes,ALGO,proto,nChannels,num_pipe_ops\n"
	.. "allreduce,4M..32M,1,ring,ll128,8,\nany,1G..,,nvls,,any,2", {
	{ min = 4 << 20, max = 32 << 20, nodes = 1, channels = 8, pipe_ops = -1 },
	{ coll = -1, min = 1 << 30, max = MAX, channels = -1, pipe_ops = 2 } })
rows_are("sizes per rank", "coll,bytes_per_rank,ranks,algo\n"
	.. "allgather,1K..2K,8,ring\nallgather,4K..,8,tree\n", {
	{ min = 8 << 10, max = 16 * 1024 + 7 }, { min = 32 << 10, max = MAX } })
rows_are("the largest sizes", "any,9223372036854775807,18446744073709551615,ring,ll,1,1,1",
	{ { min = MAX, max = MAX } })

-- ---- rows that never win ----------------------------------------------------------------

local function compiled(text, hidden)
	return tables.compile(text, { name = "t", file = "t.csv", hidden = hidden })
end
for i, text in ipairs {
	-- the same; narrower; no need beyond the first row's; through two rows
	"allreduce,0,9,ring,ll,1,-1,-1\nallreduce,0,9,ring,ll,2,1,1\n",
	"any,0,-1,ring,-1,1,-1,-1\nallreduce,5,9,ring,simple,2,1,1\n",
	"allreduce,0,9,-1,-1,4,-1,-1\nallreduce,3,3,ring,ll,2,1,1\n",
	"#\nany,0,5,ring,ll,1,-1,-1\nany,6,9,ring,ll,1,-1,-1\nallreduce,1,8,ring,ll,1,-1,-1\n",
} do
	local err = tap.fails("a row that never wins", "malformed",
		i < 4 and "line 1 always matches first" or "earlier rows always match first",
		compiled(text))
	tap.test("has its line", err.where and err.where.line == (i < 4 and 2 or 4), err)
	tap.test("and is accepted with hidden=keep", compiled(text, "keep"))
end
tap.test("rows that win somewhere", compiled("allreduce,0,9,ring,ll,1,-1,-1\n"
	.. "allreduce,0,9,ring,simple,1,-1,-1\nallreduce,0,10,ring,ll,1,-1,-1\n"
	.. "any,0,9,ring,ll,1,-1,-1\n"))
e = tap.fails("reg_buff differs between ranks", "malformed", "registered on one rank",
	compiled("any,0,9,ring,ll,1,1,1,1,0\n"))
tap.test("and is named", e.field == "reg_buff" and e.where.line == 1, e)

-- ---- damage ---------------------------------------------------------------------------

local TEXT = "coll,bytes,nodes,algo,proto,channels\nallreduce,4M..32M,1,ring,ll128,8\n"
	.. "allgather,..64K,-1,tree,ll,-1\n# comment\nany,1G..,2,nvls,simple,any\n"

local function damaged(text)
	if text == "" then return "x" end
	local at, from = random(#text), random(#text)
	local byte = random(2) == 1 and string.char(random(0, 255)) or text:sub(from, from)
	text = text:sub(1, at - 1) .. byte .. text:sub(at + 1)
	return random(6) > 1 and text or text:sub(1, random(0, #text - 1))
end

math.randomseed(seed)
local good, refused = 0, 0
wrong = nil
for _ = 1, 2000 do
	local text = TEXT
	for _ = 1, random(2) do text = damaged(text) end
	local got, faults = rows.read(text, 3)
	local line = 0
	if #faults == 0 then
		good = good + 1
		if not same_rows(got, rows.read(rows.text(got), 1)) then wrong = wrong or text end
	else
		refused = refused + 1
	end
	for _, f in ipairs(faults) do
		if f.message == "" or not (f.line and f.line > line
			or f.message:find "without rows") then
			wrong = wrong or text .. "\n" .. f.message
		end
		line = f.line
	end
end
tap.test("a damaged text: rows, or faults in the order of the lines",
	not wrong and good > 50 and refused > 100, wrong or good)

list = table.move(list, 1, 40, 1, {})
local data, bytes = assert(tree.build(list)), rows.pack(list)
good, refused = 0, 0
for _ = 1, 60 do
	local lie = damaged(bytes)
	lie = assert(core.table_image("t", data, lie == "" and "x" or lie, "", 0, ""))
	if rows.of_image(lie) then
		good = good + 1
	else
		refused = refused + 1
	end
end
tap.test("damaged rows of an image are read or refused", good > 0 and refused > 5,
	("%d read, %d refused"):format(good, refused))

image = assert(core.table_image("t", data, bytes, "", 0, ""))
tap.test("rows that give the tree", same_rows(list, tree.of_image(image) or {}))
tap.fails("rows of another tree", "bad_image", "are not those of its search tree", tree.of_image(
	assert(core.table_image("t", data, rows.pack { list[2] }, "", 0, ""))))
tap.fails("a table with a condition before it", "not_found", "was not made from a table",
	tree.of_image(assert(require "ncclbpf.policy.restrict".image(image, "part",
		{ { coll = 4, min = 0, max = MAX } }, "allreduce"))))
image = assert(compiled "allreduce,0,9,ring,ll,1,-1,-1\n")
require "ncclbpf.job.read".one = function() return {}, image end
local function rows_named(p)
	p.name = "t"
	local _, named = require "ncclbpf.policy.explain".why({}, { why = {}, policies = { p },
		coll = "allreduce", bytes = 1, context = { usable = (1 << 21) - 1 } })
	return #named
end
tap.test("explain names the row that answers", rows_named { algo = "ring",
	proto = "ll", changed = true } == 1)
tap.test("and none if the policy left it", rows_named {} == 0)

-- ---- objects ----------------------------------------------------------------------------

image = assert(compile(list))
local back = assert(core.object_image(assert(core.image_object(image)), "t"))
local a, b = core.image(image):info(), core.image(back):info()
local code, again = core.image(image):disasm(1), core.image(back):disasm(1)
local equal = #a.maps == #b.maps and #code == #again
for i, m in ipairs(a.maps) do equal = equal and m.init == b.maps[i].init end
for i, l in ipairs(code) do equal = equal and l.insn == again[i].insn end
tap.test("an object has the same instructions and sections", equal)

print("1.." .. tap.n)
