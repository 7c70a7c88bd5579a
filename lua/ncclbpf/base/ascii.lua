-- SPDX-License-Identifier: MIT
-- Upper and lower case as in the C locale. string.upper and string.lower follow the locale of the
-- process: under tr_TR the upper case of "ring" is "RiNG".
local M = {}

local upper, lower = {}, {}
for c in ("abcdefghijklmnopqrstuvwxyz"):gmatch "." do
	local u = string.char(c:byte() - 32)
	upper[c], lower[u] = u, c
end

function M.upper(s) return (s:gsub("[a-z]", upper)) end

function M.lower(s) return (s:gsub("[A-Z]", lower)) end

return M
