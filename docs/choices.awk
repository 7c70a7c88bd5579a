# SPDX-License-Identifier: MIT
# awk -f docs/choices.awk test/fakes/vgpu/b300.csv >docs/choices.svg: how much
# slower or faster than NCCL's default (NVLS) two ways of choosing
# are: NCCL_ALGO=Ring for every size, and policies/nvlink_ring_mid.bpf.c, which
# takes Ring from 4 to 192 MiB. Only the table's published rows count.
/^# published: NCCL/ { take = "nccl"; next }
/^# published: Ring/ { take = "ring"; next }
/^# assumed/ { take = "" }
/^[^#]/ && take {
	split($0, f, ",")
	if (take == "nccl") { at[++n] = f[5]; nccl[f[5]] = f[6] }
	else ring[f[5]] = f[6]
}

function name(b) { return b >= 2^30 ? b / 2^30 " GiB" : b / 2^20 " MiB" }
function x(i) { return 78 + (i - 0.5) * 540 / n }
function y(pct) { return 195 - pct * 5.2 }
function text(px, py, anchor, size, s) {
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n", px, py, anchor, size, s
}
# Times are inverse to bandwidths.
function pct(v, i) { return (nccl[at[i]] / v - 1) * 100 }

# A line through one way's points, with a mark at each, and its figure: above the
# line where the way is slower, else below. @worse: only the figures above
function draw(v, colour, worse,    i, points) {
	for (i = 1; i <= n; i++)
		points = points sprintf("%.1f,%.1f ", x(i), y(v[i]))
	printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", points, colour
	for (i = 1; i <= n; i++) {
		printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", x(i), y(v[i]), colour
		if (!worse || v[i] > 0.5)
			text(x(i) - (worse ? 4 : 0), y(v[i]) + (worse ? -10 : 19), worse ? "end" : "middle", 11,
				v[i] ? sprintf("%+.1f %%", v[i]) : "0")
	}
}

END {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 400\" font-family=\"sans-serif\">\n"
	print "<rect width=\"640\" height=\"400\" fill=\"white\"/>"
	text(320, 24, "middle", 15, "AllReduce on 8 x B300: time against NCCL's default, lower is faster")
	for (p = -20; p <= 20; p += 10) {
		printf "<line x1=\"78\" x2=\"618\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", y(p), y(p), p ? "#ddd" : "#555"
		text(70, y(p) + 4, "end", 11, p ? sprintf("%+d %%", p) : "0")
	}
	text(70, y(0) - 8, "end", 11, "NCCL")
	for (i = 1; i <= n; i++) {
		all[i] = pct(ring[at[i]], i)
		mid[i] = at[i] <= 192 * 2^20 ? all[i] : 0
		text(x(i), 345, "middle", 11, name(at[i]))
	}
	text(348, 364, "middle", 12, "size of the message")
	draw(all, "#c2410c", 1)
	draw(mid, "#1d4ed8", 0)
	print "<rect x=\"100\" y=\"378\" width=\"12\" height=\"12\" fill=\"#1d4ed8\"/>"
	text(118, 389, "start", 12, "policy nvlink_ring_mid")
	print "<rect x=\"300\" y=\"378\" width=\"12\" height=\"12\" fill=\"#c2410c\"/>"
	text(318, 389, "start", 12, "NCCL_ALGO=Ring for all sizes")
	print "</svg>"
}
