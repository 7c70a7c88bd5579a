-- SPDX-License-Identifier: MIT
-- The rows of `top`: from what it observed (commands/top.lua) and what the user chose to the rows
-- of a screen, at any size. A row is a text, or {text, style, text, style, …}.
local core = require "ncclbpf.core"
local format = require "ncclbpf.base.format"
local lists = require "ncclbpf.base.lists"
local units = require "ncclbpf.base.units"

local M = {}

local function us(v) return v and v > 0 and ("%.1f"):format(v / 1000) or "-" end
local function gbs(v) return v and (v < 10 and "%.2f" or "%.1f"):format(v) or "-" end
local function percent(v) return ("%.0f"):format(v) end
local function signed(v) return ("%+.1f"):format(v) end

-- Show communicators by their first digits, or by their last digits if two begin alike.
local function short(row, now)
	if not now.names then
		local alike = {}
		now.names = {}
		for _, c in ipairs(now.comms) do
			local head = c.comm:sub(1, 6)
			alike[head] = (alike[head] or 0) + 1
		end
		for _, c in ipairs(now.comms) do
			local head = c.comm:sub(1, 6)
			now.names[c.comm] = alike[head] > 1 and ".." .. c.comm:sub(-4) or head
		end
	end
	return now.names[row.comm] or row.comm:sub(1, 6)
end

-- 12345.6 -> "12.3k"
local function per_second(v)
	if not v then return "-" end
	if v >= 1e6 then return ("%.1fM"):format(v / 1e6) end
	if v >= 1e4 then return ("%.1fk"):format(v / 1e3) end
	return ("%.0f"):format(v)
end

-- Cut to @width columns or fill with blanks.
local function fit(text, width, right)
	text = text:gsub("%c", "?")
	local have = core.width(text)
	if have > width then
		local cut = text
		while core.width(cut) > width - 1 do
			cut = cut:sub(1, (utf8.offset(cut, -1) or #cut) - 1)
		end
		return width > 0 and cut .. ">" or ""
	end
	local fill = (" "):rep(width - have)
	return right and fill .. text or text .. fill
end

-- ---- the tables ------------------------------------------------------------------------

-- Columns: title, width (0: the rest), field or function, right-aligned. sort: sort keys, the
-- first is the default; larger values come first unless up is set. command: command for the
-- page of a row.
M.tables = {
	{ name = "collectives", list = "kinds", empty = "nothing measured: telemetry on",
		columns = {
			{ "COLLECTIVE", 13, "coll" },
			{ "SIZE", 5, function(t) return units.bytes(t.bytes) end, true },
			{ "RAN", 11, "ran" },
			{ "P50 us", 8, function(t) return us(t.p50_ns) end, true },
			{ "P99 us", 8, function(t) return us(t.p99_ns) end, true },
			{ "GB/s NOW", 8, function(t) return gbs(t.now_busbw) end, true },
			{ "GB/s ALL", 8, function(t) return gbs(t.busbw) end, true },
			{ "PER s", 5, function(t) return per_second(t.per_second) end, true },
			{ "COMM", 0, short },
		},
		sort = { { "size", "bytes" }, { "GB/s now", "now_busbw" }, { "P50", "p50_ns" },
			{ "rate", "per_second" } },
		command = function(t)
			return { "explain", t.coll, tostring(t.bytes), "comm=" .. t.comm }
		end },
	{ name = "communicators", list = "comms", empty = "no communicators yet",
		columns = {
			{ "COMM", 6, short },
			{ "RANKS", 5, "ranks", true }, { "HERE", 5, "here", true },
			{ "NODES", 6, "nodes", true },
			{ "DECISIONS", 11, "decisions", true },
			{ "PER s", 7, function(t) return per_second(t.per_second) end, true },
			{ "GEN", 5, "generation", true },
			{ "WHO DECIDES", 0, "policies" },
		},
		sort = { { "rate", "per_second" }, { "decisions", "decisions" },
			{ "ranks", "ranks" } },
		command = function(t) return { "comm", "show", t.comm } end },
	{ name = "ranks", list = "ranks", empty = "nothing measured: telemetry on",
		columns = {
			{ "COMM", 6, short },
			{ "RANK", 5, "rank", true },
			{ "TIME vs MEAN %", 16, function(t) return signed(t.pct) end, true },
			{ "LONGEST %", 11, function(t) return percent(t.longest) end, true },
			{ "SHORTEST %", 12, function(t) return percent(t.shortest) end, true },
			{ "COLLECTIVES", 13, "n", true },
		},
		note = "A rank that comes late has the shortest time: the others wait for it.",
		sort = { { "longest", "longest" }, { "shortest", "shortest" }, { "time", "pct" } },
		command = function(t)
			return { "sample", "tail", "count=50", "comm=" .. t.comm }
		end },
	{ name = "policies", list = "policies", empty = "no policies: NCCL decides",
		columns = {
			{ "POLICY", 24, "name" },
			{ "IN USE", 7, function(t) return t.in_use and "yes" or "no" end },
			{ "RUNS", 12, "runs", true },
			{ "PER s", 8, function(t) return per_second(t.per_second) end, true },
			{ "DROPPED", 8, "refused", true },
			{ "ns", 6, function(t) return t.mean_ns and tostring(t.mean_ns) or "-" end,
				true },
			{ "HOOKS", 0, "hooks" },
		},
		sort = { { "rate", "per_second" }, { "runs", "runs" }, { "dropped", "refused" } },
		command = function(t) return { "policy", "show", t.id:sub(1, 8) } end },
	{ name = "alerts", list = "alerts", empty = "none",
		columns = {
			{ "MORE", 15, function(t) return table.concat(t.command, " ") end },
			{ "ALERT", 0, "text" },
		},
		sort = { { "order" } },
		command = function(t) return t.command end },
}

M.help = {
	"1 to 5, Tab     the table: collectives, communicators, ranks, policies, alerts",
	"up, down, Page  select a row, or scroll a page",
	"Enter           run the command that explains the row",
	"Esc             back",
	"s, r            sort by the next column; reverse the order",
	"p, Space        pause; press again to continue",
	"q               quit",
	"",
	"GB/s NOW is the bus bandwidth since the last refresh, GB/s ALL since telemetry began.",
	"Each time is that of the slowest rank.",
}

local function sorted(ui, t, list)
	local by = t.sort[((ui.sort[ui.table] or 1) - 1) % #t.sort + 1]
	local field, reverse = by[2], ui.reverse[ui.table]
	local copy = table.move(list, 1, #list, 1, {})
	for i, row in ipairs(copy) do row.position = i end
	local function key(row) return field and (row[field] or -1) or -row.position end
	table.sort(copy, function(a, b)
		local x, y = key(a), key(b)
		if x == y then -- keep the rows in one order
			x, y = a.position, b.position
			local p, q = a.id or a.comm or a.name, b.id or b.comm or b.name
			if p and q and p ~= q then return p < q end
			return x < y
		end
		if reverse then return x < y end
		return x > y
	end)
	return copy, by[1]
end

-- Parts of the screen.

local function clock(time) return tostring(time):match "T(%d+:%d+:%d+)" or "" end

local function head(ui, now, width)
	local left = (" %s: %s, generation %d, up %s"):format(now.job,
		units.count(now.processes, "process"), now.generation, units.seconds(now.uptime))
	local right = (ui.paused and "PAUSED " or "") .. clock(now.time) .. " "
	return { { fit(left, math.max(0, width - #right)) .. right, "reverse" } }
end

local function summary(now)
	local who = lists.unique(lists.map(lists.select(now.policies, function(p)
		return p.in_use
	end), "name"))
	local r = now.rollout
	return {
		("%s decisions/s   %s   telemetry %s"):format(per_second(now.per_second),
			units.count(#now.comms, "communicator"),
			now.telemetry == 0 and "off" or now.telemetry == now.processes and "on"
				or ("in %d of %d"):format(now.telemetry, now.processes)),
		("who decides: %s%s"):format(#who > 0 and table.concat(who, ", ") or "NCCL",
			r and ("   rollout: %s"):format(tostring(r.state):gsub("_", " ")) or ""),
	}
end

-- Return the first alerts whose texts fit @room lines, or the line "no alerts". The title of
-- table 5 counts all.
local function alarms(now, room, width)
	local t = {}
	for _, a in ipairs(now.alerts) do
		local lines = {}
		format.wrap(lines, "! " .. a.text, width)
		if #t > 0 and #t + #lines > room then break end
		for i = 1, math.min(#lines, room) do t[#t + 1] = { lines[i], "red" } end
	end
	return #t > 0 and t or { { "no alerts", "green" } }
end

local function tabs(ui, now, width)
	local t, used = {}, 0
	for i, x in ipairs(M.tables) do
		local text = (" %d %s "):format(i, x.name)
		if i == 5 and #now.alerts > 0 then text = (" 5 alerts: %d "):format(#now.alerts) end
		if used + #text > width then break end
		used = used + #text
		t[#t + 1] = text
		t[#t + 1] = i == ui.table and "reverse" or "dim"
	end
	return t
end

-- Draw a row of table @t, or its titles if @row is nil. Leave out columns that do not fit.
local function line_of(t, row, now, width)
	local parts, used = {}, 0
	for _, c in ipairs(t.columns) do
		local field = c[3]
		local v = row and (type(field) == "function" and field(row, now) or row[field])
		if not row then v = c[1] end
		local w = c[2] == 0 and math.max(0, width - used) or c[2]
		if used + w > width then break end
		parts[#parts + 1] = fit(tostring(v == nil and "-" or v), w, c[4])
		used = used + w + 1
	end
	return fit(table.concat(parts, " "), width)
end

local function body(ui, now, width, room)
	local t = M.tables[ui.table]
	local list, by = sorted(ui, t, now[t.list])
	local rows = { { line_of(t, nil, now, width), "bold" } }
	local lines = math.max(1, room - 1 - (t.note and 1 or 0))
	ui.rows, ui.at = lines, math.max(1, math.min(ui.at, #list))
	local from = math.max(1, math.min(ui.at - lines // 2, #list - lines + 1))
	for i = from, math.min(#list, from + lines - 1) do
		rows[#rows + 1] = { line_of(t, list[i], now, width),
			i == ui.at and "reverse" or nil }
	end
	ui.selected = list[ui.at] and { command = t.command(list[ui.at]),
		text = t.list == "alerts" and list[ui.at].text or nil } or nil
	if #list == 0 then rows[2] = { t.empty, "dim" } end
	if t.note and #list > 0 then
		for i = #rows + 1, room - 1 do rows[i] = "" end
		rows[room] = { t.note, "dim" }
	end
	return rows, ("%d of %d, by %s%s"):format(#list > 0 and ui.at or 0, #list, by,
		ui.reverse[ui.table] and ", reversed" or "")
end

local function page(ui, width, room)
	local p = ui.page
	p.from = math.max(1, math.min(p.from, #p.lines - room + 2))
	local rows = { { fit(p.title, width), "bold" } }
	for i = p.from, math.min(#p.lines, p.from + room - 2) do
		rows[#rows + 1] = { fit(p.lines[i], width) }
	end
	ui.rows = math.max(1, room - 1)
	return rows, ("line %d of %d"):format(p.from, #p.lines)
end

-- M.rows(ui, now, failure, columns, rows) -> the screen. @failure: the reason why there are no
-- new data.
function M.rows(ui, now, failure, width, height)
	if width < 20 or height < 8 then return { "too small" } end
	if not now then
		return { { failure and failure.message or "asking the job", "bold" } }
	end
	local t = head(ui, now, width)
	for _, x in ipairs(summary(now)) do t[#t + 1] = { fit(x, width) } end
	local room = height >= 20 and 3 or 1
	if failure then
		t[#t + 1] = { "! " .. failure.message, "red" }
	else
		for _, x in ipairs(alarms(now, room, width)) do t[#t + 1] = x end
	end
	t[#t + 1] = tabs(ui, now, width)
	local left, rows, where = height - #t - 1, nil, nil
	if ui.page then
		rows, where = page(ui, width, left)
	else
		rows, where = body(ui, now, width, left)
	end
	table.move(rows, 1, #rows, #t + 1, t)
	for i = #t + 1, height - 1 do t[i] = "" end
	local keys = ui.page and "Esc back  q quit" or "q quit  p pause  s sort  Enter more  ? keys"
	t[height] = { fit(" " .. keys, math.max(0, width - #where - 1)) .. where .. " ", "reverse" }
	return t
end

return M
