-- SPDX-License-Identifier: MIT
-- report.lua REPORT.html: the first sections of a rollout's report as an SVG, for
-- docs/rollouts.md: what is judged, and bandwidth over size, in light and dark colours.
local f = assert(io.open(arg[1]))
local html = f:read "a"
f:close()
local W, H = 900, 1030 -- the browser's height of these sections, with room for other fonts

-- Return the text from @from up to @to, without @to.
local function between(from, to)
	local i = assert(html:find(from, 1, true), from)
	local j = assert(html:find(to, i, true), to)
	return html:sub(i, j - 1)
end

-- XML has quotes around each attribute, and no names for characters.
local function xml(s)
	return (s:gsub("<%a[^>]*>", function(tag)
		return (tag:gsub("( %a[%w-]*=)([^%s\"'>]+)", '%1"%2"'))
	end):gsub("&nbsp;", "&#160;"):gsub("<svg ", '%0xmlns="http://www.w3.org/2000/svg" '))
end

local style = html:match "<style>(.-)</style>":gsub("body{", ".page{")
local body = between("<p class=soft>ncclbpf rollout</p>", "<h2>What ran where</h2>")
	.. between("<h2>Bandwidth over size</h2>", "<h2>Times</h2>")
io.write(('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">\n'
	.. "<title>A rollout's report</title>\n<style>%s</style>\n"
	.. '<foreignObject width="%d" height="%d"><div xmlns="http://www.w3.org/1999/xhtml" '
	.. 'class="page">\n%s\n</div></foreignObject></svg>\n'):format(W, H, style, W, H,
		xml(body)))
