-- SPDX-License-Identifier: MIT
-- What Lua's table library lacks: one list made of another, sorted keys, copies, order by fields.
local M = {}

-- Return the results of f(element, index), or the field @f of each element.
function M.map(list, f)
	local t = {}
	for i, x in ipairs(list) do
		if type(f) == "string" then t[i] = x[f] else t[i] = f(x, i) end
	end
	return t
end

-- Return the elements for which f(element) is true.
function M.select(list, f)
	local t = {}
	for _, x in ipairs(list) do
		if f(x) then t[#t + 1] = x end
	end
	return t
end

-- Return the keys of a table, sorted.
function M.keys(t)
	local keys = {}
	for k in pairs(t) do keys[#keys + 1] = k end
	table.sort(keys)
	return keys
end

-- Return a copy of a table, one level deep.
function M.copy(t)
	local copy = {}
	for k, v in pairs(t) do copy[k] = v end
	return copy
end

-- {element = true}
function M.set(list)
	local set = {}
	for _, x in ipairs(list) do set[x] = true end
	return set
end

-- Return the elements without repetitions.
function M.unique(list)
	local seen = {}
	return M.select(list, function(x)
		local new = not seen[x]
		seen[x] = true
		return new
	end)
end

function M.has(list, wanted)
	for _, x in ipairs(list) do
		if x == wanted then return true end
	end
	return false
end

-- Return words as text: "any, new or old".
function M.either(words)
	local n = #words
	return table.concat(words, ", ", 1, n - 1) .. (n > 1 and " or " or "") .. words[n]
end

-- Append @element to the list by[key], which may not exist yet.
function M.push(by, key, element)
	by[key] = by[key] or {}
	table.insert(by[key], element)
end

-- Append @new to @list and store it in @by under @key. -> @new
function M.add(list, by, key, new)
	list[#list + 1], by[key] = new, new
	return new
end

-- Return a comparison for table.sort by fields, in the order of their names. "-name": larger values
-- first. Values of several types are ordered by the names of their types.
function M.by(...)
	local fields = {}
	for i, name in ipairs { ... } do
		fields[i] = { name:match "^%-?(.*)$", name:sub(1, 1) == "-" }
	end
	return function(a, b)
		for _, f in ipairs(fields) do
			local x, y = a[f[1]], b[f[1]]
			if x ~= y then
				if f[2] then x, y = y, x end
				if type(x) ~= type(y) then return type(x) > type(y) end
				if type(x) ~= "number" then x, y = tostring(x), tostring(y) end
				return x < y
			end
		end
		return false
	end
end

return M
