-- SPDX-License-Identifier: MIT
-- The module `ncclbpf`, the same in the shell and in a plain lua5.4 (docs/lua.md): job objects, a
-- function for each command of the shell, and what scripts need beside them. Expected failures
-- return nil, err (err.code, err.message, err.hint); misuse raises.
local core = require "ncclbpf.core"
local clock = require "ncclbpf.base.clock"
local errors = require "ncclbpf.base.errors"
local jobs = require "ncclbpf.api.job"
local shell = require "ncclbpf.cli.app"
local units = require "ncclbpf.base.units"

-- string.format, tostring and tonumber follow the locale of the process. Ours may not.
if ("%.1f"):format(0.5) ~= "0.5" then
	error(("ncclbpf: the process's locale writes 0.5 as %.1f; ncclbpf reads and writes numbers "
		.. "with a point. Call os.setlocale(\"C\", \"numeric\") before require \"ncclbpf\"")
		:format(0.5), 2)
end

local current -- the running shell, or a shell that commands of nb made

local function app_of()
	if not current then
		current = shell.new {}
		current.keeps = true
	end
	return current
end

-- nb.policy_verify{...}, nb.status{...}, ...: the commands as the shell runs them
local nb = jobs.functions(app_of)

nb.version, nb.null = core.version, core.null

-- nb.attach(name) or nb.attach{job=|pid=|socket=, fleet=URLs, ranks={...}, timeout=}
-- -> job | nil, err
nb.attach = errors.catch(function(opts)
	return jobs.attach(opts, current and current.flags.role)
end)

-- nb.judge{a=, b=, block=, ...} -> verdict on two lists of samples
nb.judge = require("ncclbpf.rollout.judge").judge
nb.size, nb.sleep, nb.mono = units.size, clock.sleep, clock.now
nb.json = { encode = core.encode, decode = core.decode, array = core.array }

-- Connect the functions to the running shell.
function nb._app(app) current = app end

return nb
