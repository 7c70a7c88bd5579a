# SPDX-License-Identifier: MIT
# awk -f docs/rooms.awk lint/layers.txt >docs/architecture.svg: the rooms by floors, in light and
# dark colours. Rooms of one folder are one box; a box is on the floor above all that its rooms may
# include. An arrow for each row would hide them all.
/^#/ || !NF || /^public:/ || /^circle:/ { next }
{
	split($0, kv, ":")
	v = box_of(kv[1])
	if (!(v in parts)) box[++boxes] = v
	parts[v]++
	n = split(kv[2], list, " ")
	for (i = 1; i <= n; i++)
		if ((u = box_of(list[i])) != v && index(to[v] " ", " " u " ") == 0) to[v] = to[v] " " u
}

# Two words of the path; below core/bpf, three.
function box_of(room,    part, n) {
	n = split(room, part, "/")
	if (n > 2 && part[2] == "bpf") return part[1] "/" part[2] "/" part[3]
	return n > 1 ? part[1] "/" part[2] : room
}

# Floor: one above the highest that it may include.
function floor_of(v,    i, n, list, most, one) {
	if (v in level) return level[v]
	if (v in open) {
		print "rooms.awk: " v " may include itself through other boxes" >"/dev/stderr"
		exit 1
	}
	open[v] = 1
	most = -1
	n = split(to[v], list, " ")
	for (i = 1; i <= n; i++)
		if ((one = floor_of(list[i])) > most) most = one
	return level[v] = most + 1
}

function area(v) {
	return v ~ /^core/ ? "core" : v ~ /^plugin/ ? "plugin" : v ~ /^lua/ ? "lua" : "other"
}

function rect(x, y, w, class) {
	printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" class=\"%s\"/>\n", x, y, w, H, class
}

function text(x, y, class, words) {
	printf "<text x=\"%d\" y=\"%d\" class=\"%s\">%s</text>\n", x, y, class, words
}

function draw(v,    p, x, name) {
	p = v ~ /^plugin/
	x = side[p] + placed[p, level[v]]++ * (wide[p] + GAP)
	rect(x, Y(level[v]), wide[p], area(v))
	name = v
	if (p) sub(/^plugin\//, "", name)
	text(x + wide[p] / 2, Y(level[v]) + 17, "room", name (parts[v] > 1 ? " (" parts[v] ")" : ""))
}

function Y(l) { return TOP + (highest - l) * STEP }

END {
	H = 26; STEP = 34; TOP = 66; GAP = 8
	wide[0] = 140; wide[1] = 86
	for (i = 1; i <= boxes; i++) {
		v = box[i]
		if (floor_of(v) > highest) highest = level[v]
		if (++across[v ~ /^plugin/, level[v]] > most[v ~ /^plugin/]) most[v ~ /^plugin/]++
	}
	side[0] = 52
	side[1] = side[0] + most[0] * (wide[0] + GAP) + 16
	width = side[1] + most[1] * (wide[1] + GAP) + 8
	height = Y(0) + H + 74
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">\n", width, height
	print "<title>Rooms of ncclbpf by floors: each may include rooms on lower floors only</title>"
	print "<style>:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5b6570;--line:#dde2e7;--back:#fff;"
	print "--core:#cfe3f8;--plugin:#d5edc8;--lua:#fbe0b5;--other:#e6e8ea}"
	print "@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa4af;--line:#323b45;--back:#14181c;"
	print "--core:#1d4468;--plugin:#2c5220;--lua:#654511;--other:#3a4149}}"
	print "svg{background:var(--back)}text{font:12px system-ui,\"DejaVu Sans\",sans-serif;fill:var(--soft)}"
	print ".room{text-anchor:middle;fill:var(--ink)}.head{font-size:15px;fill:var(--ink)}.floor{text-anchor:end}"
	print "line{stroke:var(--line)}.core{fill:var(--core)}.plugin{fill:var(--plugin)}.lua{fill:var(--lua)}.other{fill:var(--other)}</style>"
	text(16, 24, "head", "A room may include only rooms on lower floors")
	text(side[0], TOP - 12, "soft", "core, Lua, shell")
	text(side[1], TOP - 12, "soft", "plugin/")
	for (l = 0; l <= highest; l++) {
		printf "<line x1=\"16\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", width - 8, Y(l) + H + 4, Y(l) + H + 4
		text(side[0] - 12, Y(l) + 17, "floor", l)
	}
	for (i = 1; i <= boxes; i++) draw(box[i])
	n = split("core plugin lua other", key, " ")
	split("core/|plugin/|lua/|other folders", words, "|")
	for (i = 1; i <= n; i++) {
		rect(side[0] + (i - 1) * 130, Y(0) + H + 18, H, key[i])
		text(side[0] + (i - 1) * 130 + H + 8, Y(0) + H + 35, "soft", words[i])
	}
	text(side[0] + n * 130, Y(0) + H + 35, "soft", "(3): so many rooms in this folder")
	text(16, height - 6, "soft", "Source: lint/layers.txt, which lists what each room may include; docs/rooms.awk draws it.")
	print "</svg>"
}
