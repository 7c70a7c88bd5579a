# SPDX-License-Identifier: MIT
# What verify_bench prints of programs made for it, as a table: milliseconds. Of its shapes three
# have rows.
BEGIN {
	print "| program | slots | walked | memory | verdict | with labels | with machine code | the kernel's load | ratio | |"
	print "|---|---|---|---|---|---|---|---|---|---|"
}

function ms(us) { return sprintf("%.1f ms", us / 1000) }

# The name has 18 columns, and ends in its size.
substr($0, 1, 18) ~ / k *$/ {
	name = substr($0, 1, 18)
	sub(/ +$/, "", name)
	if (name !~ /^(branches|loops|subprograms) /)
		next
	split(substr($0, 19), v, " ")
	if (v[8] == "-")
		printf "| %s | %s | %s | %s KiB | %s | %s | %s | - | - | %s |\n", name,
			v[1], v[2], v[4], ms(v[5]), ms(v[6]), ms(v[7]),
			substr($0, index($0, "kernel:"))
	else
		printf "| %s | %s | %s | %s KiB | %s | %s | %s | %s | %s x | %s |\n",
			name, v[1], v[2], v[4], ms(v[5]), ms(v[6]), ms(v[7]),
			ms(v[8]), v[10], v[11]
}
