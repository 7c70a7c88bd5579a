-- SPDX-License-Identifier: MIT
-- Build the search tree of a table's rows, for the program lua/bpf/table.bpf.c. One condition after
-- the other, the values that rows name split the range into segments, and each segment has the
-- rows that match there. Equal sets of rows are built once. The last condition is the size, which
-- ends in answers. Conditions that no row names have no level; the others have the same number of
-- levels on each path.
local errors = require "ncclbpf.base.errors"
local rows = require "ncclbpf.policy.table_rows"

local M = {}

local MAX = math.maxinteger
local FANOUT = 8
local MAX_DATA = 1 << 20 -- bytes of .rodata
local MAX_TREE = MAX_DATA - 4096 -- bytes of nodes and answers
local MAX_WORK = 16 << 20 -- rows visited in all sets together, each up to 6 bytes of memory
-- The parts of an answer, as in table.bpf.c.
local NEED, ALWAYS, CHANNELS, ALGO, PROTO = 42, 1 << 21, 32, 29, 27

local function too_large()
	error(errors.new("over_limit", "the rows overlap in too many ways: "
		.. "the search tree is over 1024 KiB", {
		hint = "set nodes, ranks and similar conditions in all rows or in none, "
			.. "or make several tables" }), 0)
end

-- Return the entries of the cost table that a row's answer needs. Bit 3 * algorithm + protocol
-- stands for a pair: an algorithm has three neighbouring bits, a protocol every third bit.
local function need(row)
	if row.algo < 0 and row.proto < 0 then return ALWAYS end
	if row.proto < 0 then return 7 << row.algo * 3 end
	if row.algo < 0 then return 0x49249 << row.proto end
	return 1 << row.algo * 3 + row.proto
end

local function answer(row)
	return need(row) << NEED | math.max(row.channels, 0) << CHANNELS | row.algo + 1 << ALGO
		| row.proto + 1 << PROTO
end

-- ---- sizes ----------------------------------------------------------------------

-- Return the sorted sizes at which the rows of @set begin or have ended, from 0 on, and their
-- positions.
local function edges(b, set)
	local list, at = { 0 }, { [0] = 1 }
	local function add(size)
		if not at[size] then list[#list + 1], at[size] = size, true end
	end
	for _, i in ipairs(set) do
		add(b.rows[i].min)
		if b.rows[i].max < MAX then add(b.rows[i].max + 1) end
	end
	table.sort(list)
	for i, size in ipairs(list) do at[size] = i end
	return list, at
end

-- Return the first interval from @i on that rows of the same need have not visited.
local function unvisited(next, i)
	while next[i] do
		next[i] = next[next[i]] or next[i]
		i = next[i]
	end
	return i
end

-- Return for each interval between edges the rows to try, in their order. A row is left out where
-- earlier rows need nothing that it does not need.
local function rows_to_try(b, set, list, at)
	local try, covered, visited = {}, {}, {}
	for i = 1, #list do try[i], covered[i] = {}, 0 end
	for _, k in ipairs(set) do
		local row, n = b.rows[k], b.need[k]
		visited[n] = visited[n] or {}
		local next = visited[n]
		local stop = row.max < MAX and at[row.max + 1] or #list + 1
		local i = unvisited(next, at[row.min])
		while i < stop do
			if covered[i] < ALWAYS and n & ~covered[i] ~= 0 then
				table.insert(try[i], k)
				covered[i] = covered[i] | n
				b.won[k] = true
			end
			next[i] = i + 1
			i = unvisited(next, i + 1)
		end
	end
	return try
end

-- Return the first of the answers of rows; each names the next one among the alternatives.
local function chain(b, list)
	local word = 0
	b.chain = math.max(b.chain, #list)
	for i = #list, 1, -1 do
		word = b.answer[list[i]] | (i < #list and b.number[word] or 0)
		if i > 1 and not b.number[word] then
			b.alternatives[#b.alternatives + 1] = word
			b.number[word] = #b.alternatives - 1
		end
	end
	return word
end

-- Return the intervals of sizes with their answers, as children of nodes.
local function intervals(b, set)
	local list, at = edges(b, set)
	local out = {}
	for i, try in ipairs(rows_to_try(b, set, list, at)) do
		local word, last = chain(b, try), list[i + 1] and list[i + 1] - 1 or MAX
		if #out > 0 and out[#out].word == word then
			out[#out].last = last
		else
			out[#out + 1] = { last = last, word = word }
		end
	end
	return out
end

-- ---- nodes ----------------------------------------------------------------------

-- Store the children, and return nodes above them, each for at most eight: {last =, node =}. A
-- node has the last keys of seven children, and the number of the first child (answers: -1 - it).
local function raise(b, children)
	local up = {}
	for i = 1, #children, FANOUT do
		local stop, node = math.min(i + FANOUT - 1, #children), {}
		local to = children[i].word and b.answers or b.nodes
		for c = 1, FANOUT - 1 do
			node[c] = i + c - 1 < stop and children[i + c - 1].last or MAX
		end
		node[FANOUT] = children[i].word and -1 - #to or #to
		for c = i, stop do to[#to + 1] = children[c].word or children[c].node end
		up[#up + 1] = { last = children[stop].last, node = node }
	end
	if #b.nodes * 64 + #b.answers * 8 > MAX_TREE then too_large() end
	return up
end

local function size_node(b, set)
	local children, levels = intervals(b, set), 0
	repeat
		children, levels = raise(b, children), levels + 1
	until #children == 1
	b.levels[#rows.CONDITIONS + 1] = math.max(b.levels[#rows.CONDITIONS + 1], levels)
	return children[1].node
end

-- Return the values of a condition that rows of @set name, sorted.
local function values(b, set, condition)
	local list, seen = {}, {}
	for _, i in ipairs(set) do
		local v = b.rows[i][condition]
		if v >= 0 and not seen[v] then list[#list + 1], seen[v] = v, true end
	end
	table.sort(list)
	return list
end

-- Return the rows of @set that match a value; -1: a value that no row names.
local function matching(b, set, condition, value)
	local list = {}
	for _, i in ipairs(set) do
		local v = b.rows[i][condition]
		if v < 0 or v == value then list[#list + 1] = i end
	end
	b.work = b.work + #set
	return list
end

local build

local function condition_node(b, d, set)
	local name, from, children = rows.CONDITIONS[d], 0, {}
	local others = matching(b, set, name, -1)
	for _, v in ipairs(values(b, set, name)) do
		if from < v then
			children[#children + 1] = { last = v - 1, node = build(b, d + 1, others) }
		end
		children[#children + 1] = { last = v,
			node = build(b, d + 1, matching(b, set, name, v)) }
		from = v + 1
	end
	children[#children + 1] = { last = MAX, node = build(b, d + 1, others) }
	for _ = 1, b.levels[d] do children = raise(b, children) end
	return children[1].node
end

-- Return a node for the rows of @set, from condition @d on.
function build(b, d, set)
	while b.levels[d] == 0 and d <= #rows.CONDITIONS do d = d + 1 end
	b.work = b.work + #set
	if b.work > MAX_WORK then too_large() end
	local key = d .. ":" .. table.concat(set, ",")
	if not b.memo[key] then
		b.memo[key] = rows.CONDITIONS[d] and condition_node(b, d, set) or size_node(b, set)
	end
	return b.memo[key]
end

-- Set the number of levels of each condition: enough for the values of the whole table.
local function set_levels(b, all)
	for d, name in ipairs(rows.CONDITIONS) do
		local room, segments = 1, 2 * #values(b, all, name) + 1
		b.levels[d] = 0
		while room < segments do room, b.levels[d] = room * FANOUT, b.levels[d] + 1 end
	end
	b.levels[#rows.CONDITIONS + 1] = 0
end

-- Return the bytes of .rodata, as table.bpf.c reads them.
local function packed(b, root)
	local nodes, words = #b.nodes, {}
	local t = { ("<I4I4I4I4I4I4I4I4I4I4"):pack(nodes, #b.answers, #b.alternatives, root,
		b.levels[1], b.levels[2], b.levels[3], b.levels[4], b.levels[5], b.chain),
		("\0"):rep(24) }
	for _, node in ipairs(b.nodes) do
		if node[FANOUT] < 0 then node[FANOUT] = nodes - 1 - node[FANOUT] end
		t[#t + 1] = ("<i8i8i8i8i8i8i8i8"):pack(table.unpack(node))
	end
	for _, word in ipairs(b.answers) do words[#words + 1] = ("<i8"):pack(word) end
	for _, word in ipairs(b.alternatives) do words[#words + 1] = ("<i8"):pack(word) end
	t[#t + 1] = table.concat(words)
	local bytes = table.concat(t)
	return #bytes <= MAX_DATA and bytes or too_large()
end

-- Build the tree of a table's rows. -> bytes, {[row number] = true: it wins somewhere} | nil, err
M.build = errors.catch(function(list)
	local b = { rows = list, need = {}, answer = {}, won = {}, nodes = {}, answers = {},
		alternatives = { 0 }, number = {}, levels = {}, chain = 0, memo = {}, work = 0 }
	local all, roots = {}, {}
	for i, row in ipairs(list) do
		all[i], b.need[i], b.answer[i] = i, need(row), answer(row)
	end
	set_levels(b, all)
	for coll = 0, rows.COLLS - 1 do
		roots[coll + 1] = build(b, 1, matching(b, all, "coll", coll))
	end
	local root = #b.nodes
	table.move(roots, 1, rows.COLLS, root + 1, b.nodes)
	return packed(b, root), b.won
end)

-- Return the rows that an image was compiled from: they give the image's tree. -> rows | nil, err
M.of_image = errors.catch(function(image)
	local list, data = errors.try(rows.of_image(image))
	if M.build(list) == data then return list end
	return errors.fail("bad_image", "the rows in the policy are not those of its search tree")
end)

-- ---- rows that never win --------------------------------------------------------

-- Does row @a match wherever @b matches, and need only entries that @b needs too?
local function covers(a, b)
	for _, name in ipairs { "coll", table.unpack(rows.CONDITIONS) } do
		if a[name] >= 0 and a[name] ~= b[name] then return false end
	end
	return a.min <= b.min and a.max >= b.max
		and (need(a) == ALWAYS or need(b) & ~need(a) == 0)
end

-- Return at most @most faults of rows that never win.
function M.hidden(list, won, most)
	local faults = {}
	for i, row in ipairs(list) do
		if #faults == most then break end
		if not won[i] then
			local by = 1
			while by < i and not covers(list[by], row) do by = by + 1 end
			faults[#faults + 1] = errors.new("malformed",
				("this row never wins: %s first"):format(by < i
					and ("line %d always matches"):format(list[by].line)
					or "earlier rows always match"), {
				line = row.line, col = 1, hint = "the first matching row wins: "
					.. "put the narrower row first, or remove this row" })
		end
	end
	return faults
end

return M
