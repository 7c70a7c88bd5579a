#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual pages and the Lua reference are those of the tables of now, say
# every command, option and status, and render without a word of complaint.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$TOP" || exit 1
"$S" -f lua/meta/make.lua lua/meta/ncclbpf.lua "$T/meta.lua" "$T/lua-reference.md" "$T/ncclbpf.3lua" 2>"$T/why" &&
	"$S" -f lua/meta/man.lua "$T" "$T/shell.md" 2>>"$T/why"
ok "the pages are made" $?
for page in shell.md lua-reference.md man/ncclbpf.3lua man/ncclbpf-shell.1 man/ncclbpf-rollout.5; do
	diff -u "docs/$page" "$T/$(basename $page)" >"$T/why"
	rc=$?
	[ $rc -eq 0 ] || echo "stale: make docs" >>"$T/why"
	ok "docs/$page is what make docs would make" $rc
done
for page in ncclbpf.3lua ncclbpf-shell.1 ncclbpf-rollout.5; do
	if command -v mandoc >/dev/null; then
		mandoc -T lint -W style "$T/$page" | grep -vE 'mandoc.db|referenced manual not found' >"$T/why"
		[ ! -s "$T/why" ]
		ok "$page: mandoc finds nothing" $?
	else
		ok "$page: mandoc # SKIP mandoc is not installed" 0
	fi
	if command -v groff >/dev/null; then
		groff -mdoc -Tutf8 -ww -P-c "$T/$page" 2>"$T/why" | sed 's/.\x08//g' >"$T/$page.txt"
		[ ! -s "$T/why" ] && [ "$(wc -l <"$T/$page.txt")" -gt 70 ]
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
"$S" --help >"$T/help"
miss=0
sed -n '/^commands/,$s/^  //p' "$T/help" | while IFS= read -r line; do
	words=$(echo "$line" | awk '{ print ($2 ~ /^[a-z]+$/ ? $1 " " $2 : $1) }')
	grep -q "^\.It Ic \"$words\"" docs/man/ncclbpf-shell.1 || echo "no command: $words"
done >"$T/why"
sed -n '/^options/,/^commands/s/.*--\([a-z-]*\).*/\1/p' "$T/help" | while IFS= read -r word; do
	grep -q "Fl Fl $word" docs/man/ncclbpf-shell.1 || echo "no option: $word"
done >>"$T/why"
lua_run -e 'local core, seen = require "ncclbpf.core", {}
	for _, e in pairs(core.errors()) do seen[e.status] = true end
	for s in pairs(seen) do print(s) end' | while IFS= read -r status; do
	grep -qx "\.It $status" docs/man/ncclbpf-shell.1 || echo "no status: $status"
done >>"$T/why"
lua_run -e 'local plan = require "ncclbpf.rollout.plan"
	local _, err = plan.check { [1] = 1 }
	for word in err.hint:match "^fields: (.*)$":gmatch "[%w_]+" do print(word) end' | while IFS= read -r word; do
	grep -q "^\.It Va .*\b$word\b" docs/man/ncclbpf-rollout.5 || echo "no field: $word"
done >>"$T/why"
[ ! -s "$T/why" ]
ok "every command, option, status and field of a plan has an entry" $?
