#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: lint  load: wait  limit: 600
# The manual pages and the Lua reference can be made, say every command, option
# and status, and render without a word of complaint.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1
"$S" -f lua/meta/make.lua lua/meta/ncclbpf.lua "$T/meta.lua" "$T/lua-reference.md" \
	"$T/ncclbpf.3lua" 2>"$T/why" &&
	"$S" -f lua/meta/man.lua "$T" "$T/shell.md" 2>>"$T/why"
ok "the pages are made" $?
lua_run -e 'for _, row in ipairs(require("ncclbpf.commands.rows").all()) do
	print("| `" .. row.words)
end' | while IFS= read -r row; do
	grep -qF "$row" "$T/shell.md" || echo "no row: $row"
done >"$T/why" 2>&1
[ ! -s "$T/why" ]
ok "the table of docs/shell.md has every command" $?
for page in ncclbpf.3lua ncclbpf-shell.1 ncclbpf-agent.1 ncclbpf-rollout.5; do
	if command -v mandoc >/dev/null; then
		mandoc -T lint -W style "$T/$page" |
			grep -vE 'mandoc.db|referenced manual not found' >"$T/why"
		[ ! -s "$T/why" ]
		ok "$page: mandoc finds nothing" $?
	else
		ok "$page: mandoc # SKIP mandoc is not installed" 0
	fi
	if command -v groff >/dev/null; then
		groff -mdoc -Tutf8 -ww -P-c "$T/$page" 2>"$T/why" | sed 's/.\x08//g' >"$T/$page.txt"
		[ ! -s "$T/why" ] && [ "$(wc -l <"$T/$page.txt")" -gt 40 ]
		ok "$page: groff renders it without a warning" $?
	else
		ok "$page: groff # SKIP groff is not installed" 0
	fi
done
lua_run -e 'local bad = false
for _, row in ipairs(require("ncclbpf.commands.rows").all()) do
	for name, help in pairs(row.options) do
		if help == "" then bad = true print(row.words, name) end
	end
end
os.exit(not bad)' >"$T/why" 2>&1
ok "every option of a command says what it is for" $?
# docs/shell.md, as far as the tables can break it
cat >"$T/grammar.lua" <<'L'
local rows, words = require "ncclbpf.commands.rows", require "ncclbpf.cli.words"
local described = require "ncclbpf.commands.table"
local bad, used, group = 0, {}, {}
local function wrong(...) bad = bad + 1 print(...) end
for _, g in ipairs(rows.groups) do
	for _, noun in ipairs(g.nouns) do
		if group[noun] then wrong("a noun in two groups of help", noun) end
		group[noun] = g.name
	end
end
for _, row in ipairs(rows.all()) do
	if not group[row.words:match "^%S+"] then
		wrong("a command in no group of help", row.words)
	end
	for name in pairs(row.options) do
		used[name] = true
		if words.options[name] then
			wrong("an option with dashes and without", row.words, name)
		end
	end
	for _, old in ipairs { "COUNT", "INTERVAL", "%f[%w]TO%f[%W]", "%-%w" } do
		if row.syntax:find(old) then
			wrong("a spelling of before", row.words, row.syntax)
		end
	end
	for value in row.syntax:gmatch "=(%l+)%]" do
		if not ("yes no keep off old new first last all others"):find(value, 1, true)
			and not row.syntax:find("|" .. value, 1, true) then
			wrong("a switch that is neither yes nor no", row.words, value)
		end
	end
end
for name in pairs(described.options) do
	if not used[name] then wrong("an option of no command", name) end
end
-- The page has each verb, each command of one word, and each option that several commands share.
local file <close> = assert(io.open(arg[1]))
local page, count = file:read "a", {}
for _, row in ipairs(rows.all()) do
	local noun, verb = row.words:match "^(%S+) ?(%S*)$"
	local word = verb ~= "" and verb or noun
	if not page:find("`" .. word .. "`", 1, true) then wrong("not in shell.md", row.words) end
	for name in pairs(row.options) do count[name] = (count[name] or 0) + 1 end
end
for name, n in pairs(count) do
	if n > 1 and not page:find("`" .. name .. "=", 1, true) then
		wrong("not in shell.md", name .. "=")
	end
end
for verb in page:match("| verb |.-\n\n"):gmatch "`(%l+)`" do
	local known = ("on off clear"):find(verb, 1, true) or verb:find "^policy"
		or rows.is_noun(verb)
	for _, row in ipairs(rows.all()) do known = known or row.words:match " (%l+)$" == verb end
	if not known then wrong("shell.md: a verb of no command", verb) end
end
os.exit(bad == 0)
L
lua_run "$T/grammar.lua" "$TOP/docs/shell.md" >"$T/why" 2>&1
ok "the tables keep the grammar" $?
"$S" --help >"$T/help"
miss=0
sed -n '/^commands/,$s/^  //p' "$T/help" | while IFS= read -r line; do
	words=$(echo "$line" | awk '{ print ($2 ~ /^[a-z]+$/ ? $1 " " $2 : $1) }')
	grep -q "^\.It Ic \"$words\"" "$T/ncclbpf-shell.1" || echo "no command: $words"
done >"$T/why"
sed -n '/^options/,/^commands/s/.*--\([a-z-]*\).*/\1/p' "$T/help" | while IFS= read -r word; do
	grep -q "Fl Fl $word" "$T/ncclbpf-shell.1" || echo "no option: $word"
done >>"$T/why"
lua_run -e 'local core, seen = require "ncclbpf.core", {}
	for _, e in pairs(core.errors()) do seen[e.status] = true end
	for s in pairs(seen) do print(s) end' | while IFS= read -r status; do
	grep -qx "\.It $status" "$T/ncclbpf-shell.1" || echo "no status: $status"
done >>"$T/why"
lua_run -e 'local plan = require "ncclbpf.rollout.plan"
	local _, err = plan.check { [1] = 1 }
	for word in err.hint:match "^fields: (.*)$":gmatch "[%w_]+" do print(word) end
' | while IFS= read -r word; do
	grep -q "^\.It Va .*\b$word\b" "$T/ncclbpf-rollout.5" || echo "no field: $word"
done >>"$T/why"
[ ! -s "$T/why" ]
ok "every command, option, status and field of a plan has an entry" $?
