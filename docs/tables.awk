# SPDX-License-Identifier: MIT
# Prints docs/reference.md with its tables, made of the rows of core/defs/:
#
#	awk -f docs/tables.awk docs/reference.md
#
# A table stands for a line "Table: [core/defs/NAME.h](...)." Run from the top of
# the tree; `make docs` does.

# Arguments of a row "NAME(a, b, "c, d")" into arg[1..]; returns their number.
# Adjacent strings are one, as in C.
function arguments(row,    i, c, n, quoted, string, text) {
	sub(/^[A-Z]+\(/, "", row)
	sub(/\)[ \t]*$/, "", row)
	n = 0
	text = ""
	quoted = string = 0
	for (i = 1; i <= length(row) + 1; i++) {
		c = i > length(row) ? "," : substr(row, i, 1)
		if (c == "\\" && quoted) {
			i++
			text = text substr(row, i, 1)
		} else if (c == "\"") {
			quoted = !quoted
			string = 1
		} else if (c == "," && (!quoted || i > length(row))) {
			gsub(/^[ \t]+|[ \t]+$/, "", text)
			gsub(/\|/, "\\|", text)
			arg[++n] = text
			text = ""
			string = 0
		} else if (quoted || !string || c !~ /[ \t]/) {
			text = text c
		}
	}
	return n
}

function words(first, last,    i, s) {
	s = ""
	for (i = first; i <= last; i++)
		if (arg[i] != "NONE")
			s = s (s == "" ? "" : ", ") tolower(arg[i])
	return s == "" ? "–" : s
}

function head(a, b, c, d, e, f) {
	print "| " a " | " b " | " c (d == "" ? "" : " | " d) (e == "" ? "" : " | " e) (f == "" ? "" : " | " f) " |"
	print "|---|---|---" (d == "" ? "" : "|---") (e == "" ? "" : "|---") (f == "" ? "" : "|---") "|"
}

# What decides, besides the arguments, whether a helper succeeds.
BEGIN {
	success["ARGS"] = "nothing else"
	success["ELEMENTS"] = "elements of the map"
	success["CPUS"] = "CPUs of the host"
	success["PROCESS"] = "the process"
}

function flags(text) {
	if (text == "0")
		return "–"
	gsub(/NB_F_/, "BPF_F_", text)
	gsub(/ *\\\| */, ", ", text)
	return text
}

function heading(name) {
	if (name ~ /^hook_/)
		head("field", "type", "", "unit", "meaning")
	else if (name == "helpers")
		head("call", "arguments", "answer", "coherent", "success also depends on", "meaning")
	else if (name == "maps")
		head("type", "number", "word", "map_flags", "meaning")
	else if (name == "hooks")
		head("section", "context", "runs")
	else if (name == "rules")
		head("word", "what it means", "what to do")
}

function row(name) {
	if (name ~ /^hook_/)
		printf "| `%s` | %s | %s, %s | %s | %s |\n", arg[2], arg[3], arg[4] == "OUT" ? "**output**" : "input",
			tolower(arg[5]), arg[6] == "1" ? "" : arg[6], arg[7]
	else if (name == "helpers")
		printf "| `bpf_%s` (%s) | %s | %s | %s | %s | %s |\n", arg[2], arg[1], words(4, 8),
			arg[3] == "SCALAR" ? "number" : arg[3] == "VOID" ? "–" : "pointer or NULL",
			arg[10] == "COHERENT" ? "yes" : arg[10] == "MAP" ? "as the map" : "no", success[arg[11]], arg[15]
	else if (name == "maps")
		printf "| `BPF_MAP_TYPE_%s` | %s | %s | %s | %s |\n", arg[1], arg[2], arg[3], flags(arg[7]), arg[8]
	else if (name == "hooks")
		printf "| `SEC(\"%s\")` | `struct ncclbpf_%s` | %s |\n", arg[2], arg[3], arg[5]
	else if (name == "rules")
		printf "| `%s` | %s | %s |\n", arg[2], arg[3], arg[6]
}

# A row begins in the first column; its other lines are indented.
function table(name,    file, line, text) {
	file = "core/defs/" name ".h"
	heading(name)
	while ((getline line < file) > 0) {
		text = line ~ /^[A-Z]+\(/ && line !~ /^VARIANT/ ? line : line ~ /^\t/ ? text line : ""
		if (text ~ /^[A-Z].*\)$/ && arguments(text) > 2)
			row(name)
	}
	close(file)
}

/^Table: \[core\/defs\/[a-z0-9_]+\.h\]/ {
	name = $2
	gsub(/^\[core\/defs\/|\.h\].*/, "", name)
	table(name)
	next
}
{ print }
