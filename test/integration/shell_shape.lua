-- SPDX-License-Identifier: MIT
-- Paths and kinds of the JSON on standard input, each once, sorted.
local core = require "ncclbpf.core"
local seen, list = {}, {}
local function add(s)
	if not seen[s] then
		seen[s] = true
		list[#list + 1] = s
	end
end
local function walk(v, path)
	if type(v) ~= "table" then
		add(path .. ": " .. (math.type(v) or type(v)))
		return
	end
	local mt = getmetatable(v) or {}
	if #v > 0 then
		for _, x in ipairs(v) do walk(x, path .. "[]") end
		return
	end
	local any = false
	for k, x in pairs(v) do
		any = true
		-- counters are many and come with the plugin
		if path:match("%.counters$") then k = "*" end
		walk(x, path .. "." .. k)
	end
	for k in pairs(mt.nulls or {}) do
		any = true
		add(path .. "." .. k .. ": null")
	end
	if not any then add(path .. ": empty") end
end
for line in io.lines() do walk(assert(core.decode(line)), "") end
table.sort(list)
print(table.concat(list, "\n"))
