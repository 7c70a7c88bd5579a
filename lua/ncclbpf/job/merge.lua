-- SPDX-License-Identifier: MIT
-- Merge the replies of a job's processes: equal values are shown once, and only ranks that differ
-- are named (docs/shell.md, "Many ranks").
local ascii = require "ncclbpf.base.ascii"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"
local format = require "ncclbpf.base.format"

local M = {}

-- Return the members as text: "rank 3", "ranks 0-3,7", or their PIDs.
function M.who(members)
	local ranks, pids, slots, sites = {}, {}, {}, {}
	for _, m in ipairs(members) do
		if m.slot then
			slots[#slots + 1] = m.slot
		elseif m.rank then
			ranks[#ranks + 1] = m.rank
		elseif m.site then
			sites[#sites + 1] = (m.pid > 0 and "pid " .. m.pid .. " of " or "")
				.. "site " .. m.site
		elseif m.unseen then
			sites[#sites + 1] = ("pid %d of PID namespace %s"):format(m.pid,
				tostring(m.ns))
		else
			pids[#pids + 1] = m.pid
		end
	end
	local t = {}
	if #ranks > 0 then t[1] = (#ranks > 1 and "ranks " or "rank ") .. units.ranges(ranks) end
	if #pids > 0 then
		table.sort(pids)
		t[#t + 1] = (#pids > 1 and "pids " or "pid ") .. table.concat(pids, ",")
	end
	if #slots > 0 then
		t[#t + 1] = (#slots > 1 and "slots " or "slot ") .. units.ranges(slots)
	end
	if #sites > 0 then t[#t + 1] = table.concat(sites, ", ") end
	return table.concat(t, " and ")
end

-- Return the members as text of a table's cell: "0-3,7" or "pid 4711".
function M.cell(members)
	return (M.who(members):gsub("^ranks? ", ""):gsub("^slots? ", "slot "))
end

-- Return the number of sites of the members; nil: all are on this host.
function M.sites(members)
	local seen, n = {}, nil
	for _, m in ipairs(members) do
		if m.site and not seen[m.site] then seen[m.site], n = true, (n or 0) + 1 end
	end
	return n
end

-- Return groups of equal values, the largest first: { {value, members} }
function M.groups(items, text)
	local by, list = {}, {}
	for _, it in ipairs(items) do
		local key = (text or format.plain)(it.value)
		local g = by[key] or lists.add(list, by, key, {
			value = it.value, text = key, members = {} })
		g.members[#g.members + 1] = it.member
	end
	for i, g in ipairs(list) do g.at = i end
	table.sort(list, function(a, b)
		if #a.members ~= #b.members then return #a.members > #b.members end
		return a.at < b.at
	end)
	return list
end

-- Return a sentence about the groups that differ from the first group, or nil. @ahead: the group
-- with the largest value is ahead, so the sentence names the groups behind it.
function M.outliers(what, groups, opts)
	if #groups < 2 then return nil end
	opts = opts or {}
	local all, rest = 0, 0
	for i, g in ipairs(groups) do
		all = all + #g.members
		if i > 1 then rest = rest + #g.members end
	end
	local main = groups[1]
	local bound = opts.verbose and all // 2 or math.min(10, all // 4)
	if rest > math.max(bound, 1) then
		local t = {}
		for i = 1, math.min(#groups, opts.verbose and #groups or 4) do
			t[i] = ("%s (%d of %d)"):format(
				groups[i].text == "" and "-" or groups[i].text, #groups[i].members,
				all)
		end
		return ("%s differs: %s%s"):format(what, table.concat(t, ", "), #groups > #t
			and ", ..." or "")
	end
	local function number(g) return tonumber(g.text) end
	if opts.ahead and number(main) then
		local ahead = true
		for i = 2, #groups do
			ahead = ahead and number(groups[i]) and number(groups[i]) > number(main)
		end
		if ahead then
			return ("%s: %s behind at %s, %s at %s"):format(
				what, M.who(main.members)
				.. (#main.members > 1 and " are" or " is"),
				main.text, M.who(groups[2].members), groups[2].text)
		end
	end
	local t = {}
	for i = 2, #groups do
		t[#t + 1] = ("%s %s %s"):format(M.who(groups[i].members),
			#groups[i].members > 1 and "have" or "has",
			groups[i].text == "" and "-" or groups[i].text)
	end
	return ("%s: %s; all others have %s"):format(what, table.concat(t, "; "),
		main.text == "" and "-" or main.text)
end

local function key_of(id, row)
	if type(id) == "function" then return id(row) end
	return format.plain(row[id])
end

-- Return the sum over the sites of the largest number of each site's processes, or nil.
function M.over_sites(items)
	local most, sum = {}, nil
	for _, it in ipairs(items) do
		local site = it.member.site or ""
		if type(it.value) == "number" then
			most[site] = math.max(most[site] or it.value, it.value)
		end
	end
	for _, v in pairs(most) do sum = (sum or 0) + v end
	return sum
end

-- Return the smallest number, the largest and the sum; nil: no value is a number.
function M.extent(items)
	local lo, hi, sum
	for _, it in ipairs(items) do
		local v = it.value
		if type(v) == "number" then
			lo, hi, sum = math.min(lo or v, v), math.max(hi or v, v), (sum or 0) + v
		end
	end
	return lo, hi, sum
end

local function merged_value(column, items)
	local how = column.merge
	if how == "sites" then return M.over_sites(items) end
	if how == "sum" or how == "max" or how == "min" or how == "range" then
		local lo, hi, sum = M.extent(items)
		if how == "sum" then return sum end
		if how == "max" then return hi end
		if how == "min" then return lo end
		if lo == hi then return lo end
		return ("%s..%s"):format(lo, hi)
	end
	if how == "first" or #items == 1 then return items[1].value end
	if how == "any" then
		for _, it in ipairs(items) do
			if it.value then return it.value end
		end
		return items[1].value
	end
	local groups = M.groups(items)
	return groups[1].value, groups
end

-- A process may hold several ranks, distinguished by the slot of their rows. Then the ranks are
-- merged, not the processes.
local function by_slot(per, id)
	local seen, twice = {}, false
	for _, row in ipairs(per.rows) do
		local key = key_of(id, row)
		twice = twice or seen[key] and row.slot ~= nil
		seen[key] = true
	end
	if not twice then return nil end
	local slots, list = {}, {}
	for _, row in ipairs(per.rows) do
		local slot = row.slot or 0
		local s = slots[slot] or lists.add(list, slots, slot,
			{ member = { slot = slot, pid = per.member.pid }, rows = {} })
		table.insert(s.rows, row)
	end
	return list
end

-- Merge rows of many processes. @per: { {member=, rows=} }
-- -> rows for people, notes on what differs
function M.rows(per, columns, id, opts)
	if #per == 1 then per = by_slot(per[1], id) or per end
	if #per <= 1 then return per[1] and per[1].rows or {}, {} end
	local order, by = {}, {}
	for _, p in ipairs(per) do
		for _, row in ipairs(p.rows) do
			local key = key_of(id, row)
			if not by[key] then lists.add(order, by, key, { key = key }) end
			table.insert(by[key], { member = p.member, row = row })
		end
	end
	local out, notes = {}, {}
	for _, g in ipairs(order) do
		local row, members = lists.copy(g[1].row), lists.map(g, "member")
		for _, c in ipairs(columns) do
			local items = lists.map(g, function(x)
				return { member = x.member, value = x.row[c[1]] }
			end)
			local value, groups = merged_value(c, items)
			row[c[1]] = value
			if groups and #groups > 1 then
				-- A note writes values as the column does.
				for _, shown in ipairs(c.show and not c.ahead and groups or {}) do
					shown.text = tostring(c.show(shown.value, row))
				end
				local what = ("%s of %s"):format(
					c.title and ascii.lower(c.title)
						or (c[1]:gsub("_", " ")), g.key)
				notes[#notes + 1] = M.outliers(
					what, groups, { ahead = c.ahead, verbose = opts
					and opts.verbose })
			end
		end
		row.on = #members == #per and "all" or M.cell(members)
		row.sites = M.sites(members)
		out[#out + 1] = row
	end
	return out, notes
end

return M
