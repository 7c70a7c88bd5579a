-- SPDX-License-Identifier: MIT
-- Build the search tree of a table's rows, for the program lua/bpf/table.bpf.c. One condition after
-- the other, the values that rows name split the range into segments, and each segment has the
-- rows that match there. Equal sets of rows are built once. The last condition is a size, which
-- ends in answers. Conditions that no row names have no level; the others have the same number of
-- levels on each path.
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local rows = require "ncclbpf.policy.table_rows"

local M = {}

local MAX = math.maxinteger
local BYTES_PER_RANK, BYTES = #rows.CONDITIONS - 1, #rows.CONDITIONS
local FANOUT = 8
local MAX_DATA = 1 << 20 -- bytes of .rodata
local MAX_TREE = MAX_DATA - 4096 -- bytes of nodes and answers
local MAX_WORK = 16 << 20 -- rows visited in all sets together, each up to 6 bytes of memory
-- The parts of an answer, as in table.bpf.c.
local NEED, ALWAYS, CHANNELS, ALGO, PROTO, CHUNK = 42, 1 << 21, 32, 29, 27, 17
local MAX_CHUNKS = (1 << 10) - 1 -- different chunk sizes

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

-- Return the number of a row's chunk size + 1; 0: NCCL's own.
local function chunk_number(b, size)
	if size < 0 then return 0 end
	if not b.chunk_number[size] then
		b.chunks[#b.chunks + 1] = size
		b.chunk_number[size] = #b.chunks
		if #b.chunks > MAX_CHUNKS then
			errors.raise("over_limit", "more than %d different chunk sizes", MAX_CHUNKS)
		end
	end
	return b.chunk_number[size]
end

local function answer(b, row)
	if row.left then return need(row) << NEED end
	return need(row) << NEED | math.max(row.channels, 0) << CHANNELS | row.algo + 1 << ALGO
		| row.proto + 1 << PROTO | chunk_number(b, row.chunk_size) << CHUNK
end

-- ---- values of a condition -------------------------------------------------------

-- Return the condition @name of a row in the tree; nil: any value.
local function condition(row, name)
	return not (row.left and name == "reg_buff") and row[name] or nil
end

-- Return the largest value that is not nearer to @b than to @a by ratio, for @a < @b below 2^31.
function M.middle(a, b)
	local v = math.floor(math.sqrt(a * b))
	while v * v > a * b do v = v - 1 end
	while (v + 1) * (v + 1) <= a * b do v = v + 1 end
	return v
end

-- Return the values between which each of the measured values @list is the nearest:
-- {[value] = {lowest, highest}}
local function nearest(list)
	local t, from = {}, 0
	list = lists.unique(list)
	table.sort(list)
	for i, v in ipairs(list) do
		local to = list[i + 1] and M.middle(v, list[i + 1]) or MAX
		t[v], from = { from, to }, to + 1
	end
	return t
end

-- Return the values of the condition @name at which the rows of @set match: {[row number] =
-- {lowest, highest}}; none: at all values.
local function spans(b, set, name)
	local t, measured = {}, {}
	for _, i in ipairs(set) do
		t[i] = condition(b.rows[i], name)
		if t[i] and t[i].near then measured[#measured + 1] = t[i][1] end
	end
	if #measured > 0 then
		local near = nearest(measured)
		for i, r in pairs(t) do
			if r.near then t[i] = near[r[1]] end
		end
	end
	return t
end

-- Return the position of number @i, or of the first larger one, in a sorted list.
local function position(list, i)
	local lo, hi = 1, #list + 1
	while lo < hi do
		local mid = (lo + hi) // 2
		if list[mid] < i then lo = mid + 1 else hi = mid end
	end
	return lo
end

-- Add the rows @events to the sorted list @now; negative numbers are removed. If they are many, the
-- list is made anew of the rows @set, of which on[row] says whether they match. -> the list
local function change(now, events, set, on)
	for _, i in ipairs(events) do on[math.abs(i)] = i > 0 end
	if #events * #now > #set then
		return lists.select(set, function(i) return on[i] end)
	end
	for _, i in ipairs(events) do
		local at = position(now, math.abs(i))
		if i > 0 then table.insert(now, at, i) else table.remove(now, at) end
	end
	return now
end

-- Return the segments of the values of a condition: {last =, set = the rows that match}.
local function segments(b, set, name)
	local span, now, points, events, out, on = spans(b, set, name), {}, {}, {}, {}, {}
	local function event(v, i)
		if not events[v] then points[#points + 1] = v end
		lists.push(events, v, i)
	end
	for _, i in ipairs(set) do
		if span[i] and span[i][1] > 0 then
			event(span[i][1], i)
		else
			now[#now + 1], on[i] = i, true
		end
		if span[i] and span[i][2] < MAX then event(span[i][2] + 1, -i) end
	end
	table.sort(points)
	for k = 0, #points do
		now = change(now, events[points[k]] or {}, set, on)
		b.work = b.work + #now
		if b.work > MAX_WORK then too_large() end
		out[#out + 1] = { last = points[k + 1] and points[k + 1] - 1 or MAX,
			set = table.move(now, 1, #now, 1, {}) }
	end
	return out
end

-- ---- sizes ----------------------------------------------------------------------

-- Return the sorted sizes at which the rows of @set begin or have ended, from 0 on, and their
-- positions.
local function edges(span, set)
	local list, at = { 0 }, { [0] = 1 }
	local function add(size)
		if not at[size] then list[#list + 1], at[size] = size, true end
	end
	for _, i in ipairs(set) do
		local r = span[i]
		if r then add(r[1]) end
		if r and r[2] < MAX then add(r[2] + 1) end
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
local function rows_to_try(b, set, span, list, at)
	local try, covered, visited = {}, {}, {}
	for i = 1, #list do try[i], covered[i] = {}, 0 end
	for _, k in ipairs(set) do
		local r, n = span[k], b.need[k]
		visited[n] = visited[n] or {}
		local next = visited[n]
		local stop = r and r[2] < MAX and at[r[2] + 1] or #list + 1
		local i = unvisited(next, r and at[r[1]] or 1)
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
	local span = spans(b, set, rows.CONDITIONS[b.leaf])
	local list, at = edges(span, set)
	local out = {}
	for i, try in ipairs(rows_to_try(b, set, span, list, at)) do
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
	b.levels[b.leaf] = math.max(b.levels[b.leaf], levels)
	return children[1].node
end

local build

local function condition_node(b, d, set)
	local children = lists.map(segments(b, set, rows.CONDITIONS[d]), function(s)
		return { last = s.last, node = build(b, d + 1, s.set) }
	end)
	for _ = 1, b.levels[d] do children = raise(b, children) end
	return children[1].node
end

-- Return a node for the rows of @set, from condition @d on.
function build(b, d, set)
	while b.levels[d] == 0 and d < b.leaf do d = d + 1 end
	b.work = b.work + #set
	if b.work > MAX_WORK then too_large() end
	local key = d .. ":" .. table.concat(set, ",")
	if not b.memo[key] then
		b.memo[key] = d < b.leaf and condition_node(b, d, set) or size_node(b, set)
	end
	return b.memo[key]
end

-- Return the largest number of segments into which rows of the table may split a condition.
local function most_segments(list, name)
	local n, seen = 1, {}
	local function edge(v)
		if v ~= 0 and not seen[v] then n, seen[v] = n + 1, true end
	end
	for _, row in ipairs(list) do
		local r = condition(row, name)
		if r and r.near then
			edge(-r[1])
		elseif r then
			edge(r[1])
			edge(r[2] < MAX and r[2] + 1 or r[1])
		end
	end
	return n
end

-- Set the last condition of the tree and the number of levels of the others: enough for the values
-- of the whole table. The tree ends in sizes per rank where rows name only these.
local function set_levels(b)
	local most = lists.map(rows.CONDITIONS, function(name)
		return most_segments(b.rows, name)
	end)
	b.leaf = most[BYTES] == 1 and most[BYTES_PER_RANK] > 1 and BYTES_PER_RANK or BYTES
	for d = 1, BYTES do
		local room = 1
		b.levels[d] = 0
		while d < b.leaf and room < most[d] do
			room, b.levels[d] = room * FANOUT, b.levels[d] + 1
		end
	end
end

-- Return the bytes of .rodata, as table.bpf.c reads them.
local function packed(b, root)
	local nodes, words = #b.nodes, {}
	local t = { ("<I4I4I4I4"):pack(nodes, #b.answers, #b.alternatives, root),
		("<" .. ("I4"):rep(BYTES)):pack(table.unpack(b.levels)),
		("<I4I4"):pack(b.chain, #b.chunks), ("\0"):rep(12) }
	for _, node in ipairs(b.nodes) do
		if node[FANOUT] < 0 then node[FANOUT] = nodes - 1 - node[FANOUT] end
		t[#t + 1] = ("<i8i8i8i8i8i8i8i8"):pack(table.unpack(node))
	end
	for _, word in ipairs(b.answers) do words[#words + 1] = ("<i8"):pack(word) end
	for _, word in ipairs(b.alternatives) do words[#words + 1] = ("<i8"):pack(word) end
	for _, size in ipairs(b.chunks) do words[#words + 1] = ("<i8"):pack(size) end
	t[#t + 1] = table.concat(words)
	local bytes = table.concat(t)
	return #bytes <= MAX_DATA and bytes or too_large()
end

-- Build the tree of a table's rows. -> bytes, {[row number] = true: it wins somewhere} | nil, err
M.build = errors.catch(function(list)
	local b = { rows = list, need = {}, answer = {}, won = {}, nodes = {}, answers = {},
		alternatives = { 0 }, number = {}, levels = {}, chain = 0, memo = {}, work = 0,
		chunks = {}, chunk_number = {} }
	local roots = {}
	for i, row in ipairs(list) do b.need[i], b.answer[i] = need(row), answer(b, row) end
	set_levels(b)
	for coll = 0, rows.COLLS - 1 do
		local set = {}
		for i, row in ipairs(list) do
			if row.coll < 0 or row.coll == coll then set[#set + 1] = i end
		end
		roots[coll + 1] = build(b, 1, set)
	end
	local root = #b.nodes
	table.move(roots, 1, rows.COLLS, root + 1, b.nodes)
	return packed(b, root), b.won
end)

-- Does the tree in @data have levels for the condition @name?
local function has_level(data, name)
	for d, other in ipairs(rows.CONDITIONS) do
		if other == name then
			return #data >= 64 and ("<I4"):unpack(data, 4 * d + 13) > 0
		end
	end
end

-- Return the rows that an image was compiled from: they give the image's tree. -> rows | nil, err
M.of_image = errors.catch(function(image)
	local list, data = errors.try(rows.of_image(image))
	if data and not has_level(data, "reg_buff") then rows.leave(list) end
	if M.build(list) == data then return list end
	return errors.fail("bad_image", "the rows in the policy are not those of its search tree")
end)

-- ---- rows that never win --------------------------------------------------------

-- Does the condition @a hold wherever @b holds?
local function includes(a, b)
	if not a then return true end
	if not b or a.near ~= b.near then return false end
	return a.near and a[1] == b[1] or not a.near and a[1] <= b[1] and a[2] >= b[2]
end

-- Does row @a match wherever @b matches, and need only entries that @b needs too?
local function covers(a, b)
	for _, name in ipairs(rows.CONDITIONS) do
		if not includes(a[name], b[name]) then return false end
	end
	return (a.coll < 0 or a.coll == b.coll)
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
