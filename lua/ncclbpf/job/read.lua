-- SPDX-License-Identifier: MIT
-- Shared by commands that read: ask every process, keep each reply for programs, merge replies for
-- people, report processes that did not answer.
local core = require "ncclbpf.core"
local errors = require "ncclbpf.base.errors"
local lists = require "ncclbpf.base.lists"
local merge = require "ncclbpf.job.merge"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"

local M = {}

-- Return a field that should be a list of tables. Other values are dropped, because a target may be
-- of any version.
function M.list(d, field)
	local t = {}
	local v = type(d) == "table" and d[field]
	for _, x in ipairs(type(v) == "table" and v or {}) do
		if type(x) == "table" then t[#t + 1] = x end
	end
	return t
end

-- Iterate over list @field of all answers: for element, answer in read.each(answers, "comms")
function M.each(answers, field)
	local i, k, list = 0, 0, {}
	return function()
		k = k + 1
		while list[k] == nil do
			i, k = i + 1, 1
			if not answers[i] then return nil end
			list = M.list(answers[i].data, field)
		end
		return list[k], answers[i]
	end
end

-- Return the value if it has the type, otherwise an empty value.
function M.record(v) return type(v) == "table" and v or {} end
function M.number(v) return type(v) == "number" and v or 0 end
function M.text(v) return type(v) == "string" and v or nil end
function M.bytes(v) return units.bytes(M.number(v)) end
function M.age(ms) return units.seconds(M.number(ms) // 1000) end

local RANK = { "rank", num = true, flat = true }
local NOTES = 3 -- number of differences that are shown one by one
local PID = { "pid", num = true, flat = true }
local SITE = { "site", flat = true }

-- Return the JSON data of all replies: {"processes":[{pid, rank, data | error}]}
local function everything(results, map)
	local list = core.array {}
	for i, r in ipairs(results) do
		list[i] = setmetatable({
			pid = r.member.pid, rank = r.member.rank, site = r.member.site,
			data = r.data and (map and map(r.data, r.member) or r.data), error = r.err,
		}, { order = { "pid", "rank", "site", "data", "error" } })
	end
	return { processes = list }
end

-- Add the process to @row.
function M.identify(row, member)
	row.rank, row.pid, row.site = member.rank, member.pid, member.site
	return row
end

-- Return @columns, after a column for the site if the answers @per come from several sites.
function M.with_site(columns, per)
	local t = { per[1] and per[1].member.site and SITE or nil }
	return table.move(columns, 1, #columns, #t + 1, t)
end

-- Fetch the rest of a list that does not fit one reply.
local function pages(s, r, line, field)
	local d = r.data
	while d.more and d.next ~= nil and type(d[field]) == "table" do
		local n = s:ask(line .. " after=" .. tostring(d.next),
			{ members = { r.member } })[1]
		if n.err or type(n.data[field]) ~= "table" or #n.data[field] == 0 then
			r.err, r.data = n.err, nil
			return
		end
		for _, x in ipairs(n.data[field]) do d[field][#d[field] + 1] = x end
		d.more, d.next = n.data.more, n.data.next
	end
end

-- Send @line to all processes. -> answers { {member, data} }, JSON data, failure (an error, or
-- nil); or nil, err if nobody answered. opts.results: replies that have been received already.
function M.ask(ctx, line, opts)
	local s, err = ctx:session()
	if not s then return nil, err end
	local results = opts and opts.results or s:ask(line, opts)
	local per, failures, absent = {}, {}, {}
	for _, r in ipairs(results) do
		if r.data and opts and opts.list then pages(s, r, line, opts.list) end
		if r.err and opts and r.err.code == opts.absent then
			absent[#absent + 1] = r
		elseif r.err then
			failures[#failures + 1] = r
		else
			per[#per + 1] = r
		end
	end
	-- "Not found" is no failure if another process has the object.
	if #per == 0 then
		for _, r in ipairs(absent) do failures[#failures + 1] = r end
	end
	local failure = session.sum_up(failures, #results)
	if #per == 0 then return nil, failure end
	if failure then
		errors.because(failure, "the output is the reply of %s",
			merge.who(lists.map(per, "member")))
	end
	return per, everything(results, opts and opts.map), failure
end

-- Return what people and programs that read lines see of the answers @per: rows, merged, columns,
-- head, foot.
local function view(ctx, spec, per)
	local flat, replies = {}, {}
	for i, r in ipairs(per) do
		local rows = spec.rows(r.data, r.member) or {}
		replies[i] = { member = r.member, rows = rows }
		for _, row in ipairs(rows) do
			flat[#flat + 1] = M.identify(lists.copy(row), r.member)
		end
	end
	local merged, notes = merge.rows(replies, spec.columns, spec.id,
		{ verbose = ctx.flags.verbose })
	local columns = M.with_site({ RANK, PID }, per)
	for _, c in ipairs(spec.columns) do columns[#columns + 1] = c end
	if spec.arrange then merged = spec.arrange(merged) end
	if per[1].member.site then
		columns[#columns + 1] = { "sites", num = true, people = true }
	end
	for _, row in ipairs(merged) do
		if row.on and row.on ~= "all" then
			columns[#columns + 1] = { "on", title = "ON", people = true }
			break
		end
	end
	local foot = spec.foot and spec.foot(per, merged) or {}
	-- Ranks that are a few decisions apart may differ in every row. Then show one note, not
	-- one for each row.
	local shown = (ctx.flags.verbose or #notes <= NOTES + 1) and #notes or NOTES
	for i = 1, shown do foot[#foot + 1] = "note: " .. notes[i] end
	if shown < #notes then
		foot[#foot + 1] = ("note: %d more differences between ranks; -v shows all"):format(
			#notes - shown)
	end
	return { rows = flat, merged = merged, columns = columns, foot = foot,
		head = spec.head and spec.head(per) }
end

local VIEW = { rows = true, merged = true, columns = true, foot = true, head = true }

-- Run a reading command. spec: schema, line, rows(data, member), columns, id (field or function
-- that identifies a row), name (field for -o name), head(per), foot(per, merged), empty,
-- arrange(merged), opts. Rows are made when somebody wants them: JSON and scripts do not.
function M.command(ctx, spec)
	local per, data, failure = M.ask(ctx, spec.line, spec.opts)
	if not per then return nil, data end
	return setmetatable({
		schema = spec.schema, data = data, empty = spec.empty,
		id = spec.name or (type(spec.id) == "string" and spec.id) or nil,
		failure = failure, vertical = spec.vertical,
	}, { __index = function(t, k)
		if not VIEW[k] then return nil end
		for name, v in pairs(view(ctx, spec, per)) do
			if rawget(t, name) == nil then t[name] = v end
		end
		return rawget(t, k)
	end })
end

-- Ask one process, for values that all processes share.
function M.one(ctx, line, opts)
	local s, err = ctx:session()
	if not s then return nil, err end
	return s:one(line, opts)
end

-- Run a reading command whose rows differ between processes. spec as for M.command, and: list (the
-- member of the replies), key (the fields that identify a row in its process), complete(row), word
-- and line_of(records) (the summary), why_none(per) (what is shown if there is no summary)
function M.own(ctx, spec)
	spec.opts = { list = spec.list }
	-- Two processes may have the same pid, in PID namespaces of their own.
	function spec.id(row)
		return ("%s %s"):format(table.concat(lists.map(spec.key, function(field)
			return tostring(row[field] or "")
		end), " "), row.process)
	end
	function spec.rows(d, member)
		return lists.map(M.list(d, spec.list), function(entry)
			local row = lists.copy(entry)
			row.pid, row.site, row.process = member.pid, member.site, member.process
			return spec.complete and spec.complete(row) or row
		end)
	end
	function spec.arrange(merged)
		table.sort(merged, lists.by("on", table.unpack(spec.key)))
		return merged
	end
	function spec.head(per)
		local line = spec.line_of(M.records(per))
		return line and ("%s: %s"):format(spec.word, line)
			or spec.why_none and spec.why_none(per)
	end
	return M.command(ctx, spec)
end

-- Return a table with the sum of each of @fields over the tables @list.
function M.sums(list, fields)
	local sums = {}
	for _, field in ipairs(fields) do
		sums[field] = 0
		for _, t in ipairs(list) do sums[field] = sums[field] + M.number(t[field]) end
	end
	return sums
end

-- Return the sums of the counters in table @field of the replies as text; nil: all are 0.
function M.counters(per, field)
	local sum = {}
	for _, r in ipairs(per) do
		for k, v in pairs(M.record(r.data[field])) do
			if type(v) == "number" and v ~= 0 then sum[k] = (sum[k] or 0) + v end
		end
	end
	local t = lists.map(lists.keys(sum), function(k) return ("%s %d"):format(k, sum[k]) end)
	return #t > 0 and table.concat(t, ", ") or nil
end

-- Move the fields @parts of the tables @names in a row to the row: put = {p50_ns=1} becomes
-- put_p50_ns = 1.
function M.flatten(row, names, parts)
	for _, name in ipairs(names) do
		local t = M.record(row[name])
		row[name] = nil
		for _, part in ipairs(parts) do row[name .. "_" .. part] = t[part] end
	end
	return row
end

-- Return texts of the counters in @fields that are not 0 in @sums: { "errors 2", ... }
function M.nonzero(sums, fields)
	return lists.map(lists.select(fields, function(field) return sums[field] > 0 end),
		function(field) return ("%s %d"):format(field:gsub("_", " "), sums[field]) end)
end

-- Return the table @field of each of the replies @per; nil: their data.
function M.records(per, field)
	return lists.map(per, function(r) return field and M.record(r.data[field]) or r.data end)
end

return M
