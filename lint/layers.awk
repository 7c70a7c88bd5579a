# SPDX-License-Identifier: MIT
# awk -f lint/layers.awk lint/layers.txt FILES...: checks layers.txt and the files' includes.
# A row "room: rooms" lists what a room may include. A row "circle: rooms"
# tolerates arrows both ways among them. Errors, with exit status 1: an include
# outside the row or, from outside core/, of a header of core/ that no "public:"
# row lists, a listed header that nobody includes, a folder without a row, a row without a file or with an
# unknown room, a cycle of rooms, a circle that is none any more.
function fail(text) { print text; bad = 1 }

# Depth first from @node over graph[]; @path: the nodes so far, @quiet: count
# cycles in found, do not print them.
function visit(node, path, quiet,    i, n, to, list) {
	state[node] = 1
	n = split(graph[node], list, " ")
	for (i = 1; i <= n; i++) {
		to = list[i]
		if (state[to] == 1) {
			found++
			if (!quiet) fail("layers.txt: cycle: " substr(path, index(path, " " to " ") + 1) "-> " to)
		} else if (!state[to])
			visit(to, path "-> " to " ", quiet)
	}
	state[node] = 2
}

# A circle counts as one node, so that a cycle through it is seen.
function node_of(room) { return room in circle ? "circle" circle[room] : room }

function find_cycles(    i, k, n, list, from, to) {
	for (i = 1; i <= rows; i++) {
		from = node_of(order[i])
		n = split(dirs[order[i]], list, " ")
		for (k = 1; k <= n; k++)
			if ((to = node_of(list[k])) != from) graph[from] = graph[from] " " to
	}
	for (i = 1; i <= rows; i++)
		if (!state[from = node_of(order[i])]) visit(from, " " from " ", 0)
}

# Return whether the rooms of circle @c still include each other in a cycle.
function is_circle(c,    i, k, n, list) {
	split("", graph); split("", state)
	found = 0
	for (i = 1; i <= rows; i++) {
		if (node_of(order[i]) != "circle" c) continue
		n = split(dirs[order[i]], list, " ")
		for (k = 2; k <= n; k++)
			if (node_of(list[k]) == "circle" c) graph[order[i]] = graph[order[i]] " " list[k]
	}
	for (i = 1; i <= rows; i++)
		if (node_of(order[i]) == "circle" c && !state[order[i]]) visit(order[i], " " order[i] " ", 1)
	return found
}

function check_rows(    room, i, n, list, c) {
	for (i = 1; i <= rows; i++) {
		room = order[i]
		n = split(dirs[room], list, " ")
		for (c = 1; c <= n; c++)
			if (!(list[c] in dirs)) fail("layers.txt: " room ": there is no room " list[c])
		if (!(room in seen)) fail("layers.txt: " room ": no file is in it")
	}
	for (i in public)
		if (!(i in used)) fail("layers.txt: " i " is public, but nothing outside core includes it")
	find_cycles()
	for (c = 1; c <= circles; c++)
		if (!is_circle(c)) fail("layers.txt: circle " c " is none any more: delete its row")
}

FNR == NR {
	if (/^#/ || !NF) next
	split($0, kv, ":")
	if (kv[1] == "public") {
		for (i = split(kv[2], list, " "); i; i--) public[list[i]] = 1
		next
	}
	if (kv[1] == "circle") {
		circles++
		for (i = split(kv[2], list, " "); i; i--) circle[list[i]] = circles
		next
	}
	dirs[kv[1]] = " " kv[1] " " kv[2] " "; gsub(/ +/, " ", dirs[kv[1]])
	order[++rows] = kv[1]
	next
}
FNR == 1 {
	d = FILENAME; sub(/\/[^\/]*$/, "", d); seen[d] = 1
	if (!(d in dirs)) fail(FILENAME ": folder " d " has no row in layers.txt")
}
/^[ \t]*#[ \t]*include "/ {
	split($0, q, "\""); t = q[2]
	if (t !~ /\//) next
	sub(/\/[^\/]*$/, "", t)
	if (d !~ /^core(\/|$)/ && t ~ /^core(\/|$)/) {
		if (!(q[2] in public) && !((t "/") in public)) fail(FILENAME ":" FNR ": " q[2] " is not public")
		used[q[2]] = used[t "/"] = 1
	}
	if (!index(dirs[d], " " t " ")) fail(FILENAME ":" FNR ": " d " may not include " t)
}
END { check_rows(); exit bad }
