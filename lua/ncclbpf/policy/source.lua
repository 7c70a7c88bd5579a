-- SPDX-License-Identifier: MIT
-- Policies in C: clang compiles a file to an object in memory, with the flags of the folder's
-- compile_flags.txt, which editors read too (clangd).
local core = require "ncclbpf.core"
local env = require("ncclbpf.base.process").env
local errors = require "ncclbpf.base.errors"

local M = {}

local HEADER = "ncclbpf_policy.h"

-- The flags that every policy needs, in addition to the folder's flags.
M.flags = { "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-Wall", "-Wno-unknown-attributes" }

function M.is_c(path) return path:find "%.c$" ~= nil end

local function folder_of(path) return path:match "^(.*)/[^/]*$" or "." end
local function is_file(path) return (core.stat(path) or {}).kind == "file" end

-- Return the folders above @path that may be a source tree with a folder named policies.
local function checkout(path)
	while path and path ~= "" do
		path = path:match "^(.*)/[^/]*$"
		if path and is_file(path .. "/policies/" .. HEADER) then
			return { path .. "/policies", path }
		end
	end
end

-- Return the folders that -I must name so that clang finds ncclbpf_policy.h; {}: not found.
function M.include_folders()
	local set = env "NCCLBPF_INCLUDE"
	if set then return { set } end
	local program = core.readlink "/proc/self/exe" or ""
	local prefix = program:match "^(.*)/bin/[^/]*$"
	local module = debug.getinfo(1, "S").source:match "^@(/.*)$"
	for _, root in ipairs { prefix or "/usr/local", "/usr/local", "/usr" } do
		if is_file(root .. "/include/ncclbpf/" .. HEADER) then
			return { root .. "/include/ncclbpf" }
		end
	end
	return checkout(program) or checkout(module) or {}
end

-- Read the flags of the nearest compile_flags.txt above @path, which has one flag on each line. A
-- relative folder of -I is relative to the flags' file, as for clangd. The search may leave the
-- user's own folders (/tmp), so files of other users are refused. -> flags, the file (nil: none) |
-- nil, err
local function folder_flags(path)
	local dir, t = folder_of(path), {}
	local owner = (core.stat(path) or {}).uid
	local file, text, err
	while true do
		file = dir .. "/compile_flags.txt"
		text, err = core.read(file, 1 << 16, owner or 0)
		local up = dir:match "^(/?.-)/[^/]*$"
		if not text and err.code == "not_permitted" then
			err.hint = "remove the file, or give the file to the policy's owner " ..
				"and let nobody else write to it"
			return nil, err
		end
		if text or not up or up == "" or dir:find "^%.%.?$" then break end
		dir = up
	end
	for line in (text or ""):gmatch "[^\r\n]+" do
		local relative = line:match "^%-I%s*([^/%s].*)$"
		t[#t + 1] = relative and "-I" .. dir .. "/" .. relative or line
	end
	return t, text and file
end

-- Return what to do instead of that for which BPF has nothing; nil: clang's messages say all.
local function substitute(messages)
	local call = messages:match "built%-in function '__([%w_]+)' is not supported"
	if call and (call:find "^float" or call:find "^fix" or call:find "[sdt]f%d?$") then
		return "policies have no floating point: multiply by whole numbers, "
			.. "or use ncclbpf_fixed_mul"
	end
	local header = messages:match "'([^'\n]+)' file not found"
	if header and (header:find "^bits/" or header:find "^gnu/"
		or messages:find("#include <" .. header, 1, true)) then
		return "policies cannot include libc headers: ncclbpf_policy.h has the types, "
			.. "NULL and UINT64_MAX"
	end
end

-- Make one error of clang's messages, with its first message as text and all of them as the
-- detail.
local function refused(path, status, messages)
	local file, line, col, text = messages:match "([^\n:]+):(%d+):(%d+): [%a ]*error: ([^\n]*)"
	local err = errors.new("malformed", text and "clang: " .. text
		or ("clang failed with status %d"):format(status), { detail = messages })
	if file then
		err.where = { file = file, line = math.tointeger(line),
			col = math.tointeger(col) }
	else
		err.object = path
	end
	if messages:find(HEADER .. "' file not found", 1, true) then
		err.hint = "install ncclbpf-dev, or set NCCLBPF_INCLUDE to the folder of "
			.. HEADER
	else
		err.hint = substitute(messages)
	end
	return err
end

-- Compile a file. @flag: one more flag, or nil. -> bytes of the object, clang's warnings ("":
-- none) | nil, err
function M.compile(path, flag)
	if not is_file(path) then
		local _, err = core.read(path, 1)
		return nil, err and errors.from_reply(err)
			or errors.new("no_input", path .. ": not a file")
	end
	local folder, file = folder_flags(path)
	if not folder then return nil, errors.from_reply(file) end
	local flags = { "-ferror-limit=5" }
	for _, f in ipairs(M.flags) do flags[#flags + 1] = f end
	for _, f in ipairs(folder) do flags[#flags + 1] = f end
	flags[#flags + 1] = flag
	for _, dir in ipairs(M.include_folders()) do flags[#flags + 1] = "-I" .. dir end
	local status, object, messages = core.clang(path, flags)
	if not status then
		local err = errors.from_reply(object)
		if err.code == "no_input" then
			err.hint = "install clang, or set NCCLBPF_CLANG to the program"
		elseif err.code == "not_permitted" and file then
			err.hint = "remove it from " .. file
				.. ", or compile the policy yourself and take the object"
		end
		return nil, err
	end
	if status ~= 0 then return nil, refused(path, status, messages) end
	return object, messages
end

-- Return clang's errors about the undeclared functions of a source file, or nil. clang suggests
-- similar names only in errors, so this function makes clang report undeclared functions as errors.
function M.undeclared(path)
	local object, err = M.compile(path, "-Werror=implicit-function-declaration")
	return not object and err.detail or nil
end

return M
