-- SPDX-License-Identifier: MIT
-- The commands that show telemetry (for Prometheus: commands/metrics.lua)
local lists = require "ncclbpf.base.lists"
local collectives = require "ncclbpf.job.collectives"
local core = require "ncclbpf.core"
local ascii = require "ncclbpf.base.ascii"
local errors = require "ncclbpf.base.errors"
local gin = require "ncclbpf.commands.gin"
local verbs = require "ncclbpf.commands.verbs"
local profiler = require "ncclbpf.job.profiler"
local reach = require "ncclbpf.job.selector"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local units = require "ncclbpf.base.units"

local M = {}

local TIMES = { "enqueue", "gpu", "proxy", "exec" }
local PARTS = { "count", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns" }
local HOST = { "host_count", "host_mean_ns", "host_p50_ns", "host_p99_ns", "host_max_ns",
	"host_busbw_gbs" }

-- Fields of a flat row: exec_p50_ns and the like
local FIELDS = {}
for _, name in ipairs(TIMES) do
	for _, part in ipairs(PARTS) do FIELDS[#FIELDS + 1] = name .. "_" .. part end
end

-- Append to the columns @c those of @fields that it does not have yet, for programs.
local function add_fields(c, fields, how)
	local shown = lists.set(lists.map(c, function(x) return x[1] end))
	for _, field in ipairs(fields) do
		if not shown[field] then
			c[#c + 1] = { field, num = true, flat = true, merge = how }
		end
	end
	return c
end

local us, gbs = units.ns_us, units.gbs

-- Return one flat row.
local function flat(t)
	local row = read.flatten(lists.copy(t), TIMES, PARTS)
	row.ran = collectives.choice(t)
	-- The rank distinguishes several ranks of one process.
	row.slot = t.comm_rank
	return row
end
M.flat = flat

local function rows_of(ctx)
	local want = ctx.args[1] and ascii.lower(ctx.args[1])
	return function(d)
		local rows = {}
		for _, t in ipairs(read.list(d, "rows")) do
			if not want or t.coll == want then rows[#rows + 1] = flat(t) end
		end
		return rows
	end
end

local function line_of(ctx) return "stats" .. reach.words(ctx.opt.comm) end

local function state(per)
	local on, silent, gpu, proxy = 0, 0, 0, 0
	for _, r in ipairs(per) do
		local d = r.data
		if d.telemetry == true then on = on + 1 end
		if d.gpu == true and not read.text(d.no_gpu_times) then gpu = gpu + 1 end
		if d.proxy == true then proxy = proxy + 1 end
		if read.number(d.profiler_abi) == 0 then silent = silent + 1 end
	end
	return on, silent, gpu, proxy
end

local function head(per)
	local on, _, gpu, proxy = state(per)
	if on == 0 then return "telemetry is off" end
	local with = {}
	if gpu > 0 then with[#with + 1] = "GPU" end
	if proxy > 0 then with[#with + 1] = "proxy" end
	return ("telemetry is on%s%s; times within 6.25 %%"):format(
		on < #per and (" in %d of %d processes"):format(on, #per) or "",
		#with > 0 and ", with " .. table.concat(with, " and ") .. " times" or "")
end

-- @off: the user has just disabled telemetry
local function foot(per, off)
	local on, silent = state(per)
	local t = profiler.notes(per)
	if silent == 0 and on == 0 and not off then t[#t + 1] = "hint: telemetry on" end
	for _, note in ipairs(profiler.refused(per)) do t[#t + 1] = note end
	local line = gin.line(read.records(per, "gin"))
	t[#t + 1] = line and ("gin: %s (stats gin)"):format(line)
	line = verbs.line(read.records(per, "verbs"))
	t[#t + 1] = line and ("verbs: %s (verbs)"):format(line)
	local lost = read.counters(per, "lost")
	t[#t + 1] = lost and "note: events that were not measured: " .. lost
	local unreported = read.sums(read.records(per), { "unreported" }).unreported
	if unreported > 0 then
		t[#t + 1] = ("note: %d calls are not measured: NCCL reports no collective for " ..
			"symmetric kernels and for broadcasts of several roots in a group"):format(
				unreported)
	end
	for _, r in ipairs(per) do
		if read.text(r.data.times) then
			t[#t + 1] = "note: times are " .. r.data.times
			break
		end
	end
	return t
end

local function columns()
	local c = {
		{ "comm", wide = true }, { "coll" }, { "bytes_from", title = "SIZE", num = true,
			show = units.bytes },
		{ "bytes_last", title = "LAST", num = true, wide = true, merge = "max",
			show = units.bytes },
		{ "ran", title = "RAN", people = true },
		{ "channels", title = "CH", num = true, merge = "max", drop = 4 },
		{ "count", num = true, merge = "range", drop = 1 },
		-- The other ranks wait for the slowest one.
		{ "enqueue_mean_ns", title = "ENQUEUE us", num = true, merge = "max", drop = 7,
			show = us },
		{ "gpu_p50_ns", title = "GPU us", num = true, merge = "max", drop = 5, show = us },
		{ "proxy_p50_ns", title = "PROXY us", num = true, merge = "max", drop = 6,
			show = us },
		{ "exec_p50_ns", title = "P50 us", num = true, merge = "max", show = us },
		{ "exec_p99_ns", title = "P99 us", num = true, merge = "max", show = us },
		-- Times of the last collectives only. They may be below P50, which covers
		-- all collectives.
		{ "host_p50_ns", title = "RECENT P50 us", num = true, drop = 3, show = us },
		{ "host_p99_ns", title = "RECENT P99 us", num = true, wide = true, show = us },
		{ "algbw_gbs", title = "ALG GB/s", num = true, wide = true, merge = "min",
			show = gbs },
		{ "busbw_gbs", title = "BUS GB/s", num = true, merge = "min", show = gbs },
	}
	for _, name in ipairs { "bytes_to", "algo", "proto", "comm_rank", "ranks", "nodes",
		"source" } do
		c[#c + 1] = { name, flat = true, merge = "first" }
	end
	return add_fields(add_fields(c, HOST, "first"), FIELDS, "first")
end

local function row_id(row)
	return ("%s %s %s %s"):format(row.comm, row.coll, row.bytes_from, row.ran)
end

-- Times of the host for each row of `stats`: { id = {host_count=, host_p50_ns=, …} }, from
-- the latest collectives that have samples of all ranks here. A collective takes as long as
-- its slowest rank.
local function hosts(results)
	local out = {}
	for _, op in pairs(collectives.of(results)) do
		local id = ("%s %s %s %s"):format(op.comm, op.coll, op.size, op.ran)
		lists.push(out, id, op.ns)
	end
	for id, list in pairs(out) do
		local sum = 0
		table.sort(list)
		for _, ns in ipairs(list) do sum = sum + ns end
		out[id] = { host_count = #list, host_mean_ns = sum // #list,
			host_p50_ns = list[(#list + 1) // 2],
			host_p99_ns = list[math.ceil(#list * 0.99)], host_max_ns = list[#list] }
	end
	return out
end

-- Add the host's times to a rank's row.
local function add_host(row, host)
	if not host then return end
	for k, v in pairs(host) do row[k] = v end
	if type(row.busbw_gbs) == "number" and type(row.exec_mean_ns) == "number"
		and host.host_mean_ns > 0 then
		row.host_busbw_gbs = row.busbw_gbs * row.exec_mean_ns / host.host_mean_ns
	end
end

-- `stats tags`: times of the calls that the application has tagged. A collective takes as long as
-- its slowest rank.
local function tagged(ctx)
	local cols = {
		{ "comm", wide = true }, { "tag", num = true },
		{ "count", num = true, merge = "range" },
		{ "bytes", num = true, merge = "max", drop = 2, show = units.bytes },
		{ "enqueue_mean_ns", title = "ENQUEUE us", num = true, merge = "max", drop = 1,
			show = us },
		{ "exec_mean_ns", title = "MEAN us", num = true, merge = "max", show = us },
		{ "exec_p50_ns", title = "P50 us", num = true, merge = "max", show = us },
		{ "exec_p99_ns", title = "P99 us", num = true, merge = "max", show = us },
		{ "exec_sum_ns", title = "TOTAL us", num = true, merge = "max", show = us },
		{ "comm_rank", flat = true, merge = "first" },
	}
	local parts = lists.copy(PARTS)
	parts[#parts + 1] = "sum_ns"
	return read.command(ctx, {
		schema = "stats.tags/1", line = "stats tags=yes" .. reach.words(ctx.opt.comm),
		opts = { list = "tags" }, name = "tag",
		id = function(row) return ("%s %s"):format(row.comm, row.tag) end,
		rows = function(d)
			return lists.map(read.list(d, "tags"), function(t)
				local row = lists.copy(t)
				row.slot = t.comm_rank
				return read.flatten(row, { "enqueue", "exec" }, parts)
			end)
		end,
		empty = "no tagged calls measured yet (userProfilerTag, NCCL 2.31 and later)",
		head = head, foot = foot,
		columns = add_fields(cols, lists.map({ "count", "p90_ns", "max_ns" }, function(part)
			return "exec_" .. part
		end), "first"),
		arrange = function(merged)
			for _, row in ipairs(merged) do
				if row.comm ~= merged[1].comm then cols[1].wide = false end
			end
			table.sort(merged, lists.by("comm", "tag"))
			return merged
		end,
	})
end

function M.cmd_stats(ctx)
	if ctx.args[1] == "gin" then return gin.stats(ctx) end
	if ctx.args[1] == "tags" then return tagged(ctx) end
	local host, cols = {}, columns()
	local result, err = read.command(ctx, {
		schema = "stats/1", line = line_of(ctx), opts = { list = "rows" },
		rows = rows_of(ctx), name = "coll",
		id = row_id,
		empty = "nothing measured yet", head = head, foot = foot, columns = cols,
		arrange = function(merged)
			for _, row in ipairs(merged) do -- with several comms, rows would look alike
				if row.comm ~= merged[1].comm then cols[1].wide = false end
			end
			host = hosts(read.ask(ctx, "sample tail") or {})
			for _, row in ipairs(merged) do add_host(row, host[row_id(row)]) end
			table.sort(merged, lists.by("comm", "coll", "bytes_from", "ran"))
			return merged
		end,
	})
	if not result then return nil, err end
	for _, row in ipairs(result.rows) do add_host(row, host[row_id(row)]) end
	return result
end

-- Measured times, which comm show prints beside decisions.

local function pair(name)
	return function(_, row)
		local a, b = us(row[name .. "_p50_ns"]), us(row[name .. "_p99_ns"])
		return a and b and a .. "/" .. b or nil
	end
end

-- Return the measured times of a communicator, { member = {list=} }, and whether there are any.
function M.measured(ctx, comm)
	local out, any = {}, false
	for _, r in ipairs(read.ask(ctx, "stats" .. reach.words(comm), { list = "rows" })
		or {}) do
		local rows = read.list(r.data, "rows")
		out[r.member] = { list = core.array(rows) }
		any = any or #rows > 0
	end
	return out, any
end

-- Merge two ranks of a process: keep the larger times and the smaller bandwidths.
local function slower(old, new)
	if not old then return new end
	for k, v in pairs(new) do
		if type(v) == "number" and type(old[k]) == "number" then
			old[k] = k:find "bw_gbs$" and math.min(old[k], v) or math.max(old[k], v)
		elseif type(old[k]) ~= "number" then
			old[k] = v
		end
	end
	return old
end

-- Add measured times to each decision. Rows without a current decision, and sends, which NCCL
-- does not ask about, follow as separate rows.
function M.join(rows, measured, comm)
	local by, order = {}, {}
	for _, t in ipairs(measured and measured.list or {}) do
		local row = flat(t)
		local key = ("%s %s %s"):format(row.coll, row.bytes_from, row.ran)
		if not by[key] then order[#order + 1] = key end
		by[key] = slower(by[key], row)
	end
	local function take(row, m)
		row.ran, row.measured, row.source = m.ran, m.count, m.source
		for _, field in ipairs(FIELDS) do row[field] = m[field] end
		row.algbw_gbs, row.busbw_gbs = m.algbw_gbs, m.busbw_gbs
		return row
	end
	for _, row in ipairs(rows) do
		local key = ("%s %s %s"):format(row.coll, row.bytes_from, collectives.choice(row))
		if by[key] then
			take(row, by[key])
			by[key] = nil
		end
	end
	for _, key in ipairs(order) do
		local m = by[key]
		if m then
			rows[#rows + 1] = take({ comm = comm, coll = m.coll,
				bytes_from = m.bytes_from, bytes_to = m.bytes_to,
				bytes_last = m.bytes_last,
				algo = m.algo, proto = m.proto, channels = m.channels,
					alone = true }, m)
		end
	end
	return rows
end

-- Return @columns, followed by columns of measured times if @any is true.
function M.measured_columns(any, c)
	if not any then return c end
	c[#c + 1] = { "ran", title = "RAN", people = true, merge = "first", drop = 2 }
	c[#c + 1] = { "measured", num = true, wide = true, merge = "range" }
	for _, name in ipairs { "enqueue", "gpu", "proxy" } do
		c[#c + 1] = { name .. "_p50_ns", title = ascii.upper(name)
			.. " us 50/99%", num = true, merge = "max", drop = name == "gpu" and 5 or 8,
			show = pair(name) }
	end
	c[#c + 1] = { "algbw_gbs", title = "ALG GB/s", num = true, merge = "min", drop = 7,
		show = gbs }
	c[#c + 1] = { "busbw_gbs", title = "BUS GB/s", num = true, merge = "min", show = gbs }
	c[#c + 1] = { "source", flat = true, merge = "first" }
	return add_fields(c, FIELDS, "max")
end

-- GPU times need profiler channels. NCCL connects them at the next collective, which has to
-- wait for this. -> may the command continue?
local function warned(ctx)
	local waiting = 0
	for _, r in ipairs(read.ask(ctx, "stats limit=1") or {}) do
		-- Processes that lack the room connect nothing.
		if not read.text(r.data.no_gpu_times) then
			waiting = waiting + read.number(r.data.unconnected)
		end
	end
	if waiting == 0 then return true end
	local text = units.count(waiting, "communicator") .. " without profiler channels: " ..
		"the next collective waits until NCCL has connected them, " ..
		"0.3 s to 14 s where measured; gpu=no avoids the wait"
	local app = ctx.app
	if app.tty and app.keeps and app.ask and not ctx.flags.yes then
		return app.ask(text .. ". Go on? [y/N] ")
	end
	app:complain("note: " .. text .. "\n")
	return true
end

function M.cmd_telemetry(ctx)
	local word = ctx.args[1]
	if word ~= "on" and word ~= "off" and word ~= "clear" then
		return errors.fail("usage", "telemetry %s must be on, off or clear", word)
	end
	local line = session.line { "telemetry", word }
	for _, k in ipairs { "gpu", "proxy" } do
		if ctx:yes(k) ~= nil then line = line .. (" %s=%s"):format(k, ctx.opt[k]) end
	end
	if word == "on" and ctx.opt.gpu ~= "no" and not warned(ctx) then
		return errors.fail("interrupted", "not confirmed, nothing done")
	end
	return read.command(ctx, {
		schema = "telemetry/1", line = line, id = "telemetry",
		foot = function(per) return foot(per, word == "off") end,
		columns = { { "telemetry" }, { "gpu", title = "GPU" }, { "proxy" }, { "events" } },
		rows = function(d)
			local function word_of(v) return v == true and "on" or "off" end
			return { { telemetry = word_of(d.telemetry),
				gpu = d.gpu == true and read.text(d.no_gpu_times) and "no room"
					or word_of(d.gpu),
				proxy = word_of(d.proxy),
				events = table.concat(type(d.events) == "table" and d.events or {},
					" ") } }
		end,
	})
end

-- Return the latest @count collectives of each communicator, oldest first. Ranks may be a few
-- collectives apart.
local function latest(count)
	return function(merged)
		local left, out = {}, {}
		table.sort(merged, lists.by("comm", "seq"))
		for i = #merged, 1, -1 do
			local row = merged[i]
			left[row.comm] = (left[row.comm] or count) - 1
			if left[row.comm] >= 0 then table.insert(out, 1, row) end
			row.on = nil
		end
		return out
	end
end

-- A collective takes as long as its slowest rank.
function M.cmd_samples(ctx)
	local count = ctx:whole("count", 1) or 20
	return read.command(ctx, {
		schema = "sample.tail/1", name = "seq", empty =
			"no samples yet (telemetry on starts measuring)",
		line = ("sample tail count=%d%s"):format(count, reach.words(ctx.opt.comm)),
		id = function(row) return ("%s %s %s"):format(row.comm, row.coll, row.seq) end,
		arrange = latest(count),
		rows = function(d)
			local rows = {}
			for _, c in ipairs(read.list(d, "comms")) do
				for _, x in ipairs(read.list(c, "samples")) do
					local row = lists.copy(x)
					row.comm, row.comm_rank = c.comm, c.comm_rank
					rows[#rows + 1] = row
				end
			end
			return rows
		end,
		columns = { { "comm" }, { "comm_rank", flat = true, merge = "first" },
			{ "seq", num = true }, { "coll" }, { "bytes_from", title = "SIZE",
				num = true, show = units.bytes }, { "algo" }, { "proto" },
			{ "exec_ns", title = "EXEC us", num = true, merge = "max", show = us } },
	})
end

M.hosts, M.add_host, M.row_id, M.line_of = hosts, add_host, row_id, line_of

return M
