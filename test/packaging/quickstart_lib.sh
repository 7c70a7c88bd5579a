# SPDX-License-Identifier: MIT
# Sourced by quickstart.t and torchrun.t: what docs/quickstart.md prints, and
# what is installed.

# The indented block of a section that has a line with TEXT.
block() { # section, text
	awk -v section="## $1" -v text="$2" '
		/^## / { on = $0 == section }
		on && /^    / { b = b substr($0, 5) "\n"; next }
		on && /^$/ && b { b = b "\n"; next }
		b { if (index(b, text)) { printf "%s", b; b = ""; exit } b = "" }
		END { if (b && index(b, text)) printf "%s", b }' "$TOP/docs/quickstart.md"
}

# What is installed where the loader and PATH find it.
install_here() {
	mkdir "$T/bin" "$T/lib"
	for f in libncclbpf.so libnccl-tuner-ncclbpf.so libnccl-profiler-ncclbpf.so; do
		ln -s "$B/libncclbpf.so" "$T/lib/$f"
	done
	ln -s "$S" "$T/bin/ncclbpf-shell"
	export LD_LIBRARY_PATH="$T/lib" PATH="$T/bin:$PATH"
}
