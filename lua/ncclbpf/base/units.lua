-- SPDX-License-Identifier: MIT
-- Sizes, durations and sets of ranks, as text and back.
local ascii = require "ncclbpf.base.ascii"

local M = {}

local factors = { [""] = 1, k = 1 << 10, m = 1 << 20, g = 1 << 30, t = 1 << 40 }

-- Parse a size such as "4M", "1.5GiB" or "512". -> bytes; nil if the text is no size
function M.size(text)
	local number, unit = tostring(text):match("^(%d+%.?%d*)([kKmMgGtT]?)")
	if not number then return nil end
	local rest = tostring(text):sub(#number + #unit + 1)
	if rest ~= "" and rest ~= "iB" and rest ~= "ib" and rest ~= "B" and rest ~= "b" then
		return nil
	end
	if rest:sub(1, 1) == "i" and unit == "" then return nil end
	local factor = factors[ascii.lower(unit)]
	local whole = math.tointeger(tonumber(number))
	if whole and not number:find(".", 1, true) then
		if whole > math.maxinteger // factor then return nil end
		return whole * factor
	end
	return math.tointeger(tonumber(number) * factor)
end

-- Format bytes: 4194304 -> "4M". If the bytes are not a whole number of a unit: "4.1M".
function M.bytes(n)
	if math.type(n) ~= "integer" then return tostring(n) end
	local names = { "", "K", "M", "G", "T" }
	local i, x = 1, n
	while x >= 1024 and x % 1024 == 0 and i < #names do x, i = x // 1024, i + 1 end
	if x < 10240 then return x .. names[i] end
	local f = n
	i = 1
	while f >= 1024 and i < #names do f, i = f / 1024, i + 1 end
	return ("%.1f%s"):format(f, names[i])
end

-- Return the size class of bytes: the largest power of two that is not above them; 0 for 0 and 1.
function M.class(bytes)
	local from = 1
	while from <= bytes // 2 do from = from * 2 end
	return bytes >= 2 and from or 0
end

-- Format a count: 1 -> "1 node", 2 -> "2 nodes"
function M.count(n, noun)
	return ("%s %s%s"):format(tostring(n), noun, n == 1 and "" or noun:find "s$" and "es"
		or "s")
end

local times = { ms = 0.001, s = 1, m = 60, h = 3600, [""] = 1 }

-- Parse a duration such as "200ms", "2" or "1.5m". -> seconds; nil if the text is no duration
function M.duration(text)
	local number, unit = tostring(text):match("^(%d+%.?%d*)(%a*)$")
	if not number or not times[unit] then return nil end
	return tonumber(number) * times[unit]
end

function M.seconds(s)
	if type(s) ~= "number" then return tostring(s) end
	if s > 0 and s < 1 then return ("%gms"):format(s * 1000) end
	if s < 120 then return ("%.0fs"):format(s) end
	if s < 7200 then return ("%.0fm"):format(s / 60) end
	return ("%.1fh"):format(s / 3600)
end

-- Format microseconds, GB/s and a change in per cent for a column; nil: not known.
function M.us(v)
	if type(v) ~= "number" or v < 0 then return nil end
	return (v < 100 and "%.1f" or "%.0f"):format(v)
end

-- Format nanoseconds as microseconds for a column; nil: not known.
function M.ns_us(v)
	if type(v) ~= "number" then return nil end
	return (v < 100000 and "%.1f" or "%.0f"):format(v / 1000)
end

function M.gbs(v)
	return type(v) == "number" and (v < 10 and "%.2f" or "%.1f"):format(v) or nil
end

function M.signed(v) return type(v) == "number" and ("%+.1f"):format(v) or nil end

-- Parse a set of numbers: "0-3,7" -> {0,1,2,3,7}; nil if the text is no such set.
function M.ranks(text)
	local set = {}
	for part in (tostring(text) .. ","):gmatch("([^,]*),") do
		local a, b = part:match("^(%d+)%-(%d+)$")
		if not a then a = part:match("^%d+$") b = a end
		a, b = math.tointeger(tonumber(a)), math.tointeger(tonumber(b))
		if not a or not b or a > b or b - a > 65535 then return nil end
		for r = a, b do set[#set + 1] = r end
	end
	return set
end

-- {0,1,2,3,7} -> "0-3,7"
function M.ranges(list)
	table.sort(list)
	local out, i = {}, 1
	while i <= #list do
		local j = i
		while list[j + 1] and list[j + 1] <= list[j] + 1 do j = j + 1 end
		out[#out + 1] = list[i] == list[j] and tostring(list[i])
			or list[i] .. "-" .. list[j]
		i = j + 1
	end
	return table.concat(out, ",")
end

-- Return a share ("34%", 0.34) or number @v of @n things, at least one.
function M.share_of(v, n)
	if math.type(v) == "integer" then return v end
	local pct = type(v) == "string" and tonumber(v:match "^([%d.]+)%%$") or v * 100
	-- Round up, so 50 % of 3 are 2.
	return math.max(1, math.ceil(n * pct / 100 - 1e-9))
end

return M
