-- SPDX-License-Identifier: MIT
-- Run Lua files that describe data, plans or policies. They cannot read, write, ask or wait, and
-- have a limit of processor time and memory.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"

local M = {}

local MEMORY = 32 << 20 -- largest number of bytes that a file may allocate

local function copy(t, but)
	local c = {}
	for k, v in pairs(t) do
		if not (but or {})[k] then c[k] = v end
	end
	return c
end

-- Copies of the pure library tables, so a script cannot change the originals.
function M.pure()
	local env = { math = copy(math), string = copy(string, { dump = true }),
		table = copy(table), utf8 = copy(utf8) }
	for _, name in ipairs { "assert", "error", "ipairs", "next", "pairs", "select", "tonumber",
		"tostring", "type", "_VERSION" } do
		env[name] = _G[name]
	end
	return env
end

-- M.call(f[, what, bytes, ...]) -> what f(...) returns | nil, err
-- f: a function of such a file; what, bytes: as below
function M.call(f, what, bytes, ...)
	bytes = bytes or MEMORY
	local r = table.pack(core.computed(clock.times.callback, bytes, f, ...))
	if not r[1] and r[3] then
		return errors.fail("script_failed",
			"%s %s (allowed: %g s of processor time and %d MiB)",
			what or "the file", r[2], clock.times.callback, bytes >> 20)
	end
	if not r[1] then return nil, errors.caught(r[2]) end
	return table.unpack(r, 2, r.n)
end

-- M.run(text, name, env[, what, bytes]) -> what the file returns | nil, err
-- what: the file in the error of a limit; bytes: limit of memory
function M.run(text, name, env, what, bytes)
	local f, why = load((text:gsub("^#[^\n]*", "")), name, "t", env)
	if not f then return nil, errors.new("lua_syntax", why) end
	return M.call(f, what, bytes)
end

return M
