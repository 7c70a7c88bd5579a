# SPDX-License-Identifier: MIT
# awk -f lint/statics.awk lint/statics.txt FILES.c...: a static carries its noun, so that a search
# finds it. Refuses a static that two files have, unless both are in rooms that statics.txt lists.
FNR == NR {
	if (!/^#/ && NF) exempt[$1] = 1
	next
}
FNR == 1 {
	room = FILENAME
	do sub(/\/[^\/]*$/, "", room)
	while (!(room in exempt) && room ~ /\//)
	free = room in exempt
}
/^static / {
	s = $0
	gsub(/__attribute__\(\([^()]*(\([^()]*\))?[^()]*\)\) ?/, "", s)
	sub(/\(\*/, "", s) # a pointer to a function
	if (!match(s, /[(\[=;,]/)) next
	s = substr(s, 1, RSTART - 1)
	sub(/ +$/, "", s)
	if (!match(s, /[A-Za-z_][A-Za-z0-9_]*$/)) next
	name = substr(s, RSTART)
	if (!(name in at)) {
		at[name] = FILENAME
		first_free[name] = free
	} else if (at[name] != FILENAME && !(free && first_free[name])) {
		print FILENAME ":" FNR ": " at[name] " has a static " name " too: name its noun"
		bad = 1
	}
}
END { exit bad }
