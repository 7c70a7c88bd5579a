-- SPDX-License-Identifier: MIT
-- Objects of the Lua interface. A script holds an empty table with a locked metatable, so fields
-- are read-only and methods cannot be replaced. The state is stored here, where scripts cannot
-- reach it.
local M = {}

-- Constructors by kind of object. Modules of higher layers register them here.
M.makers = {}

-- The state of each object of these classes: {kind = its class, ...}
local state = setmetatable({}, { __mode = "k" })
M.state = state

-- Make a class. Its objects are empty tables, and its methods are read-only. -> new(state)
function M.new(name, methods, meta)
	meta = meta or {}
	meta.__name = name
	meta.__metatable = name
	meta.__index = meta.__index or methods
	meta.methods = methods -- for completion
	meta.__newindex = meta.__newindex or function(_, k)
		error(("%s: field %s cannot be set"):format(name, tostring(k)), 2)
	end
	return function(s)
		s.kind = name
		local o = setmetatable({}, meta)
		state[o] = s
		return o
	end
end

return M
