-- SPDX-License-Identifier: MIT
-- `explain`: why a decision was made: NCCL's cost table, the source line of the answer,
-- comparisons on the path and the row of a table. The job runs its policies and reports what it saw
-- (plugin/tuner/explain.c); table rows are found here.
local collectives = require "ncclbpf.job.collectives"
local context = require "ncclbpf.policy.context"
local core = require "ncclbpf.core"
local lists = require "ncclbpf.base.lists"
local read = require "ncclbpf.job.read"
local session = require "ncclbpf.job.session"
local tables = require "ncclbpf.policy.table_rows"
local tree = require "ncclbpf.policy.table_tree"
local units = require "ncclbpf.base.units"

local M = {}

local us = units.us

-- ---- NCCL's table ---------------------------------------------------------------

-- Return {{combination, us}, ...}, the cheapest first; nil: the costs are not known.
local function costs(d)
	if type(d.costs_us) ~= "table" then return nil end
	local t = {}
	for i = 0, 20 do
		local v = d.costs_us[i + 1]
		if type(v) == "number" and v >= 0 then
			t[#t + 1] = { ("%s/%s"):format(
				core.nccl("algo", i // 3), core.nccl("proto", i % 3)), v }
		end
	end
	table.sort(t, function(a, b) return a[2] < b[2] end)
	return t
end

local function cost_lines(t, d)
	local list = costs(d)
	if not list then
		t[#t + 1] = "NCCL's cost table is not known"
		return
	end
	local parts = lists.map(list, function(x) return ("%s %s"):format(x[1], us(x[2])) end)
	t[#t + 1] = "NCCL's cost table, predicted us: "
		.. (#parts > 0 and table.concat(parts, ", ") or "nothing is offered")
end

-- NCCL 2.31 and later offer less for a call with a configuration of its own.
local function offer_lines(t, d)
	local list, n = read.list(d, "offers"), 0
	if #list < 2 then return end
	for _, o in ipairs(list) do n = n + read.number(o.decisions) end
	t[#t + 1] = ("in %s of this size, NCCL has offered different choices:"):format(
		units.count(n, "recorded decision"))
	for _, o in ipairs(list) do
		local a = read.record(o.answer)
		t[#t + 1] = ("    %s %s: %s%s by %s%s"):format(
			units.count(read.number(o.decisions), "time"), collectives.offer(o.usable),
			collectives.choice(a), collectives.extras(a),
			read.text(o.by) or "NCCL",
			read.text(o.refused) and " (" .. o.refused .. ")" or "")
	end
end

-- Formats for values, as people write them.

local WORDS = { coll = "coll", nccl_algo = "algo", nccl_proto = "proto" }

local function value(field, v)
	if WORDS[field] then return core.nccl(WORDS[field], v) or tostring(v) end
	if context.FACTS[field] then return context.fact_text(v) end
	if field == "bytes" then
		local text = units.bytes(v)
		-- Show exact numbers if rounding would make two different values look
		-- equal.
		return text:find(".", 1, true) and tostring(v) or text
	end
	return tostring(v)
end

-- Where a value comes from that no field of the context holds. The job does not tell them apart.
local ELSEWHERE <const> = "a map, a parameter or a helper"

-- Return the text of one side of a comparison, with its value: "bytes (16M)", "4M", "bytes - 4M
-- (12M)".
local function operand(o, other)
	local field, v = read.text(o.field), read.number(o.value)
	if not field then
		local of = lists.map(type(o.of) == "table" and o.of or {}, function(name)
			return tostring(name)
		end)
		if #of > 0 then
			return ("a value from %s%s (%s)"):format(table.concat(of, ", "),
				o.memory and (" and " .. ELSEWHERE) or "",
				other.field == "bytes" and value("bytes", v) or v)
		end
		local text = value(read.text(other.field), v)
		return o.memory and ("%s, from %s"):format(text, ELSEWHERE) or text
	end
	local plus = math.tointeger(o.plus) or 0
	local name = plus == 0 and field or ("%s %s %s"):format(
		field, plus < 0 and "-" or "+", value(field, math.abs(plus)))
	return ("%s (%s)"):format(name, value(field, v))
end

-- Return the bit of the field usable that means the answer, if NCCL offers it; else 0.
local function answered(d)
	local answer, usable = read.record(d.answer), read.record(d.context).usable
	local algo = core.nccl("algo", tostring(answer.algo))
	local proto = core.nccl("proto", tostring(answer.proto))
	if not algo or not proto or algo < 0 or proto < 0 then return 0 end
	return read.number(usable) & 1 << algo * 3 + proto
end

-- Return the lowest and the highest value for which field + @plus @op @than holds, unsigned, and
-- true; or for which it does not hold, and false. nil: it is no range. Compilers subtract the lower
-- end ("bytes - 4M <= 28M"), or one more than the upper end, and compare with a negative number.
local function range(plus, op, than)
	local first, last, inside = -plus, -plus + than, op == "<" or op == "<="
	if not inside and op ~= ">" and op ~= ">=" then return end
	local whole = op == "<=" or op == ">" -- @than itself is at the end of the range
	if than < 0 then
		-- holds for the numbers from 2^64 + than on, below the wrap
		first, last, inside = last + (whole and 1 or 0), first - 1, not inside
	elseif not whole then
		last = last - 1
	end
	if first >= 0 and first <= last then return first, last, inside end
end

-- Return the text of a comparison. For a range of sizes, compilers subtract and compare once; the
-- text shows the range. One bit of the field usable means one algorithm
-- and protocol, but it may have been shifted. @own: the bit of the answer, which alone is
-- named, since NCCL offers it; 0: none
local function comparison(b, own)
	local l, r = read.record(b.left), read.record(b.right)
	local of, bit = type(l.of) == "table" and l.of or {}, math.tointeger(l.value) or 0
	if #of == 1 and of[1] == "usable" and b.op == "!=" and r.value == 0 and bit > 0
		and bit == own then
		return "NCCL offers " .. collectives.offer(bit)
	end
	local plus, op = math.tointeger(l.plus), tostring(b.op)
	if read.text(l.field) and plus and plus < 0 and not read.text(r.field)
		and math.type(r.value) == "integer" then
		local low, high, inside = range(plus, op, r.value)
		if low then
			return ("%s (%s) %s %s to %s"):format(
				l.field, value(l.field, l.value - plus), inside and "in"
				or "not in", value(l.field, low), value(l.field, high))
		end
	end
	return ("%s %s %s"):format(operand(l, r), op, operand(r, l))
end

local function place(at)
	at = read.record(at)
	if not read.text(at.file) then
		return ("instruction %s of %s"):format(tostring(at.pc), tostring(at.program))
	end
	return ("%s:%s"):format(at.file:gsub("^%./", ""), tostring(at.line))
end

local function source(at)
	local text = read.text(read.record(at).text)
	return text and text ~= "" and "  " .. text:match "^%s*(.-)%s*$" or ""
end

-- ---- rows of tables ----------------------------------------------------------------------

-- Return the number of the row that answers @bytes; nil: none. skipped: earlier rows whose answer
-- NCCL does not offer
local function match(rows, d, bytes)
	local x = { coll = core.nccl("coll", tostring(d.coll)), bytes = bytes }
	for _, k in ipairs { "nodes", "ranks", "pipe_ops", "reg_buff", "usable" } do
		x[k] = read.number(read.record(d.context)[k])
	end
	return tables.match(rows, x)
end

-- Return the sizes nearest below and above at which the answer comes from another row.
local function edges(rows, d, now)
	local below, above
	local coll = core.nccl("coll", tostring(d.coll))
	local function try(bytes)
		if bytes < 0 or match(rows, d, bytes) == now then return end
		if bytes < d.bytes and (not below or bytes > below) then below = bytes end
		if bytes > d.bytes and (not above or bytes < above) then above = bytes end
	end
	for _, r in ipairs(rows) do
		if r.coll < 0 or r.coll == coll then
			local lo, hi = tables.sizes(r, read.number(read.record(d.context).ranks))
			try(lo - 1)
			try(lo)
			try(hi)
			try(hi + 1)
		end
	end
	return below, above
end

local function row_word(rows, i)
	return i and ("row %d (%s%s)"):format(i, tables.line(rows[i]), rows[i].left
		and "; NCCL decides, because reg_buff may differ between ranks" or "") or "no row"
end

-- Has policy @p answered as row @r says (nil: no row)? Its program may be another than the table's.
local function agrees(p, r)
	if not r or r.left then return p.changed ~= true end
	return (r.algo < 0 or core.nccl("algo", r.algo) == p.algo)
		and (r.proto < 0 or core.nccl("proto", r.proto) == p.proto)
end

-- Find the matching row of each policy in use that was made from a table. -> list for JSON
local function table_rows(ctx, d)
	local out = core.array {}
	for _, p in ipairs(read.list(d, "policies")) do
		local data, object = read.one(ctx,
			"policy export " .. session.quote(tostring(p.name)), { want_object = true })
		local rows = data and tree.of_image(object)
		local i, skipped
		if rows then i, skipped = match(rows, d, d.bytes) end
		if rows and agrees(p, rows[i]) then
			local below, above = edges(rows, d, i)
			local function edge(bytes)
				return bytes and { bytes = bytes, row = match(rows, d, bytes) }
			end
			out[#out + 1] = { policy = p.name, row = i, rows = #rows, list = rows,
				text = i and tables.line(rows[i]),
				not_offered = core.array(skipped), below = edge(below),
				above = edge(above) }
		end
	end
	return out
end

local function table_lines(t, x)
	t[#t + 1] = ("table %s: %s of %d"):format(tostring(x.policy), row_word(x.list, x.row),
		x.rows)
	for _, i in ipairs(x.not_offered) do
		t[#t + 1] = ("    before it, not offered by NCCL: %s"):format(row_word(x.list, i))
	end
	if x.below then
		t[#t + 1] = ("    bytes %d or less: %s"):format(
			x.below.bytes, row_word(x.list, x.below.row))
	end
	if x.above then
		t[#t + 1] = ("    bytes %d or more: %s"):format(
			x.above.bytes, row_word(x.list, x.above.row))
	end
end

-- ---- the text ------------------------------------------------------------------------------

-- Return lines about the policy that made the answer and its path through the code. @quiet: no
-- lines, because the table's row already explains the answer
local function policy_lines(t, d, p, quiet)
	local writes, branches = read.list(p, "writes"), read.list(p, "branches")
	if #writes == 0 and #branches == 0 or quiet then return end
	local seen = {}
	if #writes == 0 then
		t[#t + 1] = ("%s wrote no answer; the policy tested:"):format(tostring(p.name))
	end
	for _, w in ipairs(writes) do
		local where = place(w.at)
		if not seen[where] then
			seen[where] = true
			t[#t + 1] = ("%s %s %s:%s"):format(
				tostring(p.name), p.name == d.by and "made the answer at"
				or "wrote at", where, source(w.at))
		end
	end
	local lines, wide = {}, 0
	for _, b in ipairs(branches) do
		local text = comparison(b, answered(d))
		lines[#lines + 1] = { text, place(b.at) }
		wide = math.max(wide, #text)
	end
	if #lines > 0 and #writes > 0 then t[#t + 1] = "  after these comparisons of fields:" end
	for _, l in ipairs(lines) do
		t[#t + 1] = ("    %-" .. math.min(wide, 60) .. "s  %s"):format(l[1], l[2])
	end
	if read.number(p.left_out) > 0 then
		t[#t + 1] = ("    and %d more comparisons"):format(p.left_out)
	end
end

-- Return lines for people, and additions to the job's JSON.
function M.why(ctx, d)
	local t = {}
	if type(d.why) ~= "table" then return t end
	offer_lines(t, d)
	cost_lines(t, d)
	local rows = table_rows(ctx, d)
	local is_table = {}
	for _, x in ipairs(rows) do
		is_table[x.policy] = true
		table_lines(t, x)
		x.list = nil
	end
	for _, p in ipairs(read.list(d, "why")) do policy_lines(t, d, p, is_table[p.name]) end
	return t, rows
end

return M
