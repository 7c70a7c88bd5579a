-- SPDX-License-Identifier: MIT
-- Lines of CSV (RFC 4180, a field without line breaks) and of the shell's own TSV.
local M = {}

-- Split a line into fields: the text of each field, and the column (from 1) where it begins.
function M.fields(line)
	local texts, columns = {}, {}
	local at = 1
	while at <= #line + 1 do
		local n = #texts + 1
		columns[n] = at
		if line:sub(at, at) == '"' then
			local stop = at + 1
			while stop <= #line and line:sub(stop, stop) ~= '"'
				or line:sub(stop, stop + 1) == '""' do
				stop = stop + (line:sub(stop, stop) == '"' and 2 or 1)
			end
			texts[n] = line:sub(at + 1, stop - 1):gsub('""', '"')
			at = stop + 2
		else
			local text, stop = line:match("^([^,]*)()", at)
			texts[n], at = text, stop + 1
		end
	end
	return texts, columns
end

local ESCAPES = { t = "\t", n = "\n", r = "\r", ["\\"] = "\\" }

function M.tab_fields(line)
	local texts = {}
	for text in (line .. "\t"):gmatch "([^\t]*)\t" do
		texts[#texts + 1] = (text:gsub("\\(.)", ESCAPES))
	end
	return texts
end

return M
