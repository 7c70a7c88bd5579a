# SPDX-License-Identifier: MIT
# awk -f docs/rooms.awk lint/layers.txt >docs/architecture.svg: the rooms as boxes,
# each above all rooms it may include. An arrow that follows from others is
# left out. The rooms of a "circle" row are one box.
/^#/ || !NF { next }
{
	split($0, kv, ":")
	n = split(kv[2], list, " ")
	if (kv[1] == "public") next
	if (kv[1] == "circle") {
		for (i = 1; i <= n; i++) circle[list[i]] = list[1]
		next
	}
	room[++rooms] = kv[1]
	uses[kv[1]] = kv[2]
}

function node_of(r) { return r in circle ? circle[r] : r }

# Level: one above the highest that it uses.
function level_of(v,    i, n, list, most, one) {
	if (v in level) return level[v]
	level[v] = 0 # not met again: make layers finds cycles
	most = -1
	n = split(to[v], list, " ")
	for (i = 1; i <= n; i++)
		if ((one = level_of(list[i])) > most) most = one
	return level[v] = most + 1
}

function reaches(a, b,    i, n, list) {
	if (a == b) return 1
	if ((a, b) in known) return known[a, b]
	n = split(to[a], list, " ")
	for (i = 1; i <= n; i++)
		if (reaches(list[i], b)) return known[a, b] = 1
	return known[a, b] = 0
}

# Does @a use @b only through another room?
function follows(a, b,    i, n, list) {
	n = split(to[a], list, " ")
	for (i = 1; i <= n; i++)
		if (list[i] != b && reaches(list[i], b)) return 1
	return 0
}

function side(v) { return v ~ /^plugin/ ? 1 : 0 }

function colour(v) {
	return v ~ /^core/ ? "#dbe9f6" : v ~ /^plugin/ ? "#e3f1da" : v ~ /^lua/ ? "#f9e8cf" : "#eeeeee"
}

function box(v,    y, name) {
	y = Y(v)
	printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"%s\" stroke=\"#666\"/>\n", x[v], y, W, H, colour(v)
	name = v == "plugin/control/commands" ? "control/commands" : v
	printf "<text x=\"%d\" y=\"%d\">%s%s</text>\n", x[v] + W / 2, y + 17, name, v in parts ? " *" : ""
}

function Y(v) { return TOP + (highest - level[v]) * STEP }

function arrow(a, b,    x1, y1, x2, y2) {
	x1 = x[a] + W / 2; y1 = Y(a) + H; x2 = x[b] + W / 2; y2 = Y(b)
	printf "<path d=\"M%d %dC%d %d %d %d %d %d\" marker-end=\"url(#a)\"/>\n", x1, y1, x1, y1 + STEP / 2, x2, y2 - STEP / 2, x2, y2
}

END {
	W = 128; H = 26; STEP = 52; TOP = 16; GAP = 14
	for (i = 1; i <= rooms; i++) {
		v = node_of(room[i])
		if (!(v in met)) { met[v] = 1; node[++nodes] = v }
		if (room[i] in circle) parts[v] = 1
		n = split(uses[room[i]], list, " ")
		for (k = 1; k <= n; k++)
			if ((u = node_of(list[k])) != v && index(to[v] " ", " " u " ") == 0) to[v] = to[v] " " u
	}
	for (i = 1; i <= nodes; i++)
		if (level_of(node[i]) > highest) highest = level[node[i]]
	# rooms of the plugin to the right, all others to the left
	for (i = 1; i <= nodes; i++) across[side(node[i]), level[node[i]]]++
	for (l = 0; l <= highest; l++)
		for (p = 0; p < 2; p++)
			if (across[p, l] > widest[p]) widest[p] = across[p, l]
	for (i = 1; i <= nodes; i++) {
		v = node[i]; l = level[v]; p = side(v)
		free = (widest[p] - across[p, l]) * (W + GAP) / 2
		x[v] = int(GAP + p * (widest[0] * (W + GAP) + 3 * GAP) + free + placed[p, l]++ * (W + GAP))
	}
	width = (widest[0] + widest[1]) * (W + GAP) + 5 * GAP
	height = TOP * 2 + highest * STEP + H + 22
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n", width, height
	print "<title>Rooms of ncclbpf: each may include those that its arrows lead to</title>"
	print "<defs><marker id=\"a\" markerWidth=\"7\" markerHeight=\"6\" refX=\"6\" refY=\"3\" orient=\"auto\"><path d=\"M0 0L7 3L0 6z\" fill=\"#888\"/></marker></defs>"
	printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n<g fill=\"none\" stroke=\"#888\">\n", width, height
	for (i = 1; i <= nodes; i++) {
		n = split(to[node[i]], list, " ")
		for (k = 1; k <= n; k++)
			if (!follows(node[i], list[k])) arrow(node[i], list[k])
	}
	print "</g>"
	for (i = 1; i <= nodes; i++) box(node[i])
	printf "<text x=\"%d\" y=\"%d\" fill=\"#555\">* and the rooms inside it</text>\n</svg>\n", width / 2, height - 10
}
