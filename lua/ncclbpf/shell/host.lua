-- SPDX-License-Identifier: MIT
-- Additions of the shell's binary: the prompt, and a sandbox without ways to start programs or
-- load machine code.
local cli = require "ncclbpf.shell.main"
local errors = require "ncclbpf.base.errors"

local M = {}

-- Chunks are text, never bytecode: Lua does not verify bytecode.
local function text_only()
	local load_, loadfile_ = load, loadfile
	function load(chunk, name, _, ...)
		return load_(chunk, name, "t", ...)
	end
	function loadfile(path, _, ...)
		return loadfile_(path, "t", ...)
	end
	function dofile(path)
		local f, why = loadfile_(path, "t")
		if not f then error(why, 2) end
		return f()
	end
end

-- A script may ask for the locale, not change it: what is read and written depends on it.
local function keep_locale()
	local setlocale = os.setlocale
	function os.setlocale(locale, category)
		if locale == nil then return setlocale(nil, category) end
	end
end

local function sandbox(unsafe)
	text_only()
	keep_locale()
	if unsafe then return end
	os.execute, io.popen, package.loadlib = nil, nil, nil
	-- the searchers of C modules
	package.searchers[4], package.searchers[3] = nil, nil
	debug.sethook = nil -- Ctrl-C needs it
end

function M.main(list, host)
	errors.deep = host.deep
	return cli.main(list, {
		sandbox = sandbox,
		binary = host,
		interactive = function(app)
			return require("ncclbpf.shell.prompt").run(app, host)
		end,
	})
end

return M
